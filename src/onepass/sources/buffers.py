"""Memory of blocks, used again when nobody holds the block any more."""

from __future__ import annotations

import math
import weakref

import numpy as np
from numpy.typing import NDArray


class Buffers:
    """Arrays of one type whose memory is recycled.

    New memory costs as much as reading a file that is cached. A block's memory is taken back when
    the block, and every view of it, is gone; a block that is kept is never overwritten.

    Parameters
    ----------
    dtype : dtype
        The type of all arrays.
    """

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        self._free: list[bytearray] = []

    def take(self, shape: tuple[int, int]) -> NDArray[np.floating]:
        """Return an uninitialised C-contiguous array of a shape."""
        count = math.prod(shape)
        size = count * self.dtype.itemsize
        memory = self._free.pop() if self._free else bytearray(size)
        if len(memory) < size:
            memory = bytearray(size)
        # All views have this array as their base, because its own base is not an array.
        owner = np.frombuffer(memory, dtype=self.dtype, count=count)
        weakref.finalize(owner, self._free.append, memory).atexit = False
        return owner.reshape(shape)
