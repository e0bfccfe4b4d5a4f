"""The checks that every number is there and in range, which know where the number came from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from onepass.sources.base import SourceError

# The largest entries: sums of the squares of any number of rows stay finite, in each precision.
LARGEST, LARGEST_SINGLE = 1e100, 1e18


def check_finite(
    block: Any, row: int, name: Callable[[int], str | int], file: str | None = None
) -> None:
    """Refuse NaN, infinities, and numbers that are too large to be learned from.

    Parameters
    ----------
    block : ndarray of shape (b, d) or scipy CSR
        The numbers.
    row : int
        How many rows of the file came before.
    name : callable
        The name of a column of the block, for the message.
    file : str, optional
        The file, for the message.
    """
    sparse = scipy.sparse.issparse(block)
    values: Any = block.data if sparse else block
    flat = values.reshape(-1)
    limit = LARGEST if values.dtype == np.float64 else LARGEST_SINGLE
    with np.errstate(over="ignore", invalid="ignore"):
        # Much quicker than looking at each number, and in range only if all are.
        if float(flat @ flat) <= limit**2:
            return
        bad = ~(np.abs(values) <= limit)
    if not bad.any():
        return
    at = int(bad.argmax())
    value = flat[at]
    if sparse:
        i, j = int(np.searchsorted(block.indptr, at, side="right")) - 1, int(block.indices[at])
    else:
        i, j = divmod(at, block.shape[1])
    what = f"{value:g}, and entries must be at most {limit:g}, so that their squares add up"
    if not np.isfinite(value):
        what = "a missing value or NaN" if np.isnan(value) else f"{value}, which is not finite"
    raise SourceError.at(what, file=file, row=row + i + 1, column=name(j))


def first_masked(array: Any) -> tuple[int, int] | None:
    """Return row and column, from 0, of the first masked entry of a masked array of shape (n, d).

    None if nothing is masked, or if it is something else.
    """
    if not isinstance(array, np.ma.MaskedArray) or array.ndim != 2 or not np.ma.is_masked(array):
        return None
    row, column = np.argwhere(np.ma.getmaskarray(array))[0]
    return int(row), int(column)


def check_unmasked(array: Any, row: int) -> None:
    """Refuse a masked array of shape (n, d) in which something is masked, `row` rows in."""
    where = first_masked(array)
    if where is not None:
        raise SourceError.at("a masked value", row=row + where[0] + 1, column=where[1])
