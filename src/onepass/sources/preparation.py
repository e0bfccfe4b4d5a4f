"""Row-wise preparation of counts: each row divided by its sum, then logarithms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from onepass.sources.base import Block, EntryError, first_entry


@dataclass(frozen=True)
class Preparation:
    """What is done with each row, by itself, before it is learned from.

    Parameters
    ----------
    normalize : float, optional
        Divide each row by its sum, and multiply it by this number. A row of zeros stays as it is;
        missing entries do not count.
    log1p : bool
        Then replace each entry x by log(1 + x).

    Examples
    --------
    >>> import numpy as np
    >>> from onepass.sources.preparation import Preparation
    >>> Preparation(normalize=100).apply(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[25., 75.],
           [ 0.,  0.]])
    """

    normalize: float | None = None
    log1p: bool = False

    def __post_init__(self) -> None:
        """Refuse a sum that rows cannot have."""
        if self.normalize is not None and not 0 < self.normalize < np.inf:
            raise ValueError(f"normalize={self.normalize!r} must be a number above 0")

    def __bool__(self) -> bool:
        """Return whether it changes anything."""
        return self.normalize is not None or self.log1p

    def apply(self, block: Any) -> Block:
        """Return prepared rows, array (b, d) or CSR, as a new block of the same shape and type.

        A negative entry raises an `EntryError`; NaN is a missing entry.
        """
        if not self:
            return block
        is_sparse = scipy.sparse.issparse(block)
        values = block.data if is_sparse else block
        negative = values < 0
        if negative.any():
            row, column, value = first_entry(block, negative)
            what = f"{value:g} is below zero, and normalize and log1p are for counts"
            raise EntryError(f"row {row}, column [{column}]: {what}", what, row, column)
        if self.normalize is not None:
            present = np.where(np.isnan(values), 0, values)
            if is_sparse:
                rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
                sums = np.bincount(rows, present, minlength=block.shape[0])[rows]
            else:
                sums = present.sum(axis=1, dtype=np.float64, keepdims=True)
            factors = self.normalize / np.where(sums == 0, self.normalize, sums)
            values = values * factors.astype(block.dtype)
        if self.log1p:
            values = np.log1p(values)
        if not is_sparse:
            return values
        return scipy.sparse.csr_array((values, block.indices, block.indptr), shape=block.shape)
