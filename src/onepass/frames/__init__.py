"""An orthonormal frame of a state's basis and a block of rows: the small space.

There are three ways to one, and each gives the coordinates of basis and rows and a way to carry
coordinates back into d dimensions:

- from the Gram matrix of [U; rows] (`GramFrame`), the fast one: the frame is never formed, and
  factoring the Gram matrix anew for every block also keeps U orthonormal;
- by Householder reflections (`FormedFrame`), where rows are nearly dependent and the Gram matrix
  has lost their residuals;
- all d dimensions (`WholeSpace`), where the block is no smaller than that.
"""

from onepass.frames.block import Block
from onepass.frames.frame import (
    LARGEST,
    RANGE,
    FormedFrame,
    Frame,
    GramFrame,
    WholeSpace,
    carry_sparse,
    dense_rows,
    find_frame,
    left_of,
    underflow,
)
from onepass.frames.gram import mix, products_of_sparse, sparse_gram
from onepass.frames.room import Room

__all__ = [
    "LARGEST",
    "RANGE",
    "Block",
    "FormedFrame",
    "Frame",
    "GramFrame",
    "Room",
    "WholeSpace",
    "carry_sparse",
    "dense_rows",
    "find_frame",
    "left_of",
    "mix",
    "products_of_sparse",
    "sparse_gram",
    "underflow",
]
