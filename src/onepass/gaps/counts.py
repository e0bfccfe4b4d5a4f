"""How much of a stream is missing where, and rows with gaps: entries that are NaN."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass.moments.chunk import TILE_BYTES
from onepass.persistence.fields import MOST_ENTRY, Array, Field, Size, State, weight, whole
from onepass.precision import Doubles

RANK_FACTOR, RANK_MORE = 2, 8  # of the model: 2 k + 8 directions, twice what is asked for
ROWS_PER_DIRECTION = 8  # observed rows that a direction of the model is based on at least
TOGETHER_COLUMNS = 2048  # up to which it is known which columns were observed together
# Entries of complete rows before the first gap count as if they were within so many deviations of
# their mean: only their mean and variance are known.
DEVIATIONS = 3.0


def any_gap(values: Any) -> bool:
    """Return whether an entry of rows (r, d), dense or CSR, is missing."""
    entries = values.data if sparse.issparse(values) else values
    return bool(np.isnan(entries).any())


def rows_with_gaps(values: Any) -> NDArray[np.bool_]:
    """Return which rows (r,) of rows (r, d), dense or CSR, have missing entries."""
    if not sparse.issparse(values):
        return np.isnan(values).any(axis=1)
    found = np.zeros(values.shape[0], dtype=bool)
    missing = np.flatnonzero(np.isnan(values.data))
    found[np.searchsorted(values.indptr, missing, "right") - 1] = True
    return found


def tiles_with_gaps(values: Any) -> Iterator[tuple[NDArray[np.intp], NDArray[np.floating]]]:
    """Yield which rows of rows (r, d), dense or CSR, have gaps, and these as arrays, in tiles."""
    holes, length = np.flatnonzero(rows_with_gaps(values)), TILE_BYTES // (8 * values.shape[1])
    length = max(1, length)
    for start in range(0, len(holes), length):
        rows = holes[start : start + length]
        yield rows, values[rows].toarray() if sparse.issparse(values) else values[rows]


def fill_gaps(values: Any, rows: NDArray[np.intp], given: Any, filled: Any) -> None:
    """Write entries of filled rows (m, d) into the gaps of a tile of `tiles_with_gaps`."""
    if not sparse.issparse(values):
        values[rows] = filled
        return
    stored = values.data[values.indptr[rows[0]] : values.indptr[rows[-1] + 1]]
    stored[np.isnan(stored)] = filled[np.isnan(given)]  # columns ascend in both


class MissingCounts(State):
    """How much of a stream is missing where, after `rows` without gaps.

    Attributes
    ----------
    rows, incomplete, empty : float, int and int
        Rows with an entry, those of them with gaps, and those left out, without any entry.
    observed : ndarray of shape (d,)
        How many of the rows have an entry in each column.
    together : ndarray of shape (d, d) or (0, 0)
        Which columns were observed in the same row; not beyond 2,048 columns, nor in a model.
    apart : ndarray of shape (2,) or (0,)
        Two columns that were never observed in the same row, if there are such.
    least, most : ndarray of shape (d,)
        The range of the entries of each column; NaN if it has none.
    """

    def __init__(self, d: int, rows: float = 0.0) -> None:
        self.d, self.rows = d, rows
        self.incomplete = self.empty = 0
        self.observed: Doubles = np.full(d, rows)
        known = d if d <= TOGETHER_COLUMNS else 0
        self.together: NDArray[np.bool_] = np.full((known, known), rows > 0.0)
        self.apart = self._find_apart()
        self.least: Doubles = np.full(d, np.nan)
        self.most: Doubles = np.full(d, np.nan)

    def fields(self) -> dict[str, Field]:
        known = Size("columns counted together", self.d)
        return {
            "rows": weight(0),
            "incomplete": whole(),
            "empty": whole(),
            "observed": Array((self.d,), least=0.0),
            "together": Array((known, known), ("bool",), 0, 1),
            "apart": Array((Size("columns apart", 2),), ("int64",), 0, self.d - 1),
            "least": Array((self.d,), least=-MOST_ENTRY, most=MOST_ENTRY, gaps=True),
            "most": Array((self.d,), least=-MOST_ENTRY, most=MOST_ENTRY, gaps=True),
        }

    def take(self, content: dict[str, Any]) -> None:
        if len(content["apart"]) == 1:
            raise ValueError("a pair of columns has one column")
        super().take(content)

    @property
    def share(self) -> float:
        """The share of the entries that were observed."""
        return float(self.observed.sum()) / max(self.rows * self.d, 1.0)

    @property
    def rows_together(self) -> float:
        """How many rows observe two columns both, if they are missing independently: n q^2."""
        return self.rows * self.share**2

    def rank(self, k: int, varying: int) -> int:
        """Return the rank of the model for k components, if so many columns are not constant."""
        most = min(RANK_FACTOR * k + RANK_MORE, varying - 1)
        return int(max(1, min(most, self.rows * self.share / ROWS_PER_DIRECTION)))

    def count(self, values: Any) -> None:
        """Include rows (r, d), dense or CSR, none of which is empty."""
        self.rows += values.shape[0]
        self.incomplete += int(np.count_nonzero(rows_with_gaps(values)))
        if sparse.issparse(values):
            self._widen(values.nanmin(axis=0).toarray(), values.nanmax(axis=0).toarray())
            missing = values.indices[np.isnan(values.data)]
            self.observed = self.observed + values.shape[0] - np.bincount(missing, minlength=self.d)
            self.together = np.ones_like(self.together)  # zeros are observed
            self.apart = self._find_apart()
            return
        least = np.fmin.reduce(values, axis=0, initial=np.nan)
        self._widen(least, np.fmax.reduce(values, axis=0, initial=np.nan))
        seen = ~np.isnan(values)
        self.observed = self.observed + seen.sum(axis=0)
        if self.together.size and not self.together.all():
            counts = seen.astype(np.float32)
            self.together = self.together | (counts.T @ counts > 0.0)
            self.apart = self._find_apart()

    def count_before(self, mean: Doubles, variances: Doubles | None) -> None:
        """Include the range of complete rows, of which means and variances (d,) may be known."""
        reach = np.inf if variances is None else DEVIATIONS * np.sqrt(variances)
        self._widen(mean - reach, mean + reach)

    def _widen(self, least: NDArray[np.floating], most: NDArray[np.floating]) -> None:
        """Include ends (d,) of the ranges of columns; NaN where there is none."""
        self.least = np.fmin(self.least, least).astype(np.float64)
        self.most = np.fmax(self.most, most).astype(np.float64)

    @property
    def is_constant(self) -> NDArray[np.bool_]:
        """Which columns (d,) have the same entry in all rows."""
        return np.asarray(self.least == self.most)

    def largest_variances(self, mean: Doubles) -> Doubles:
        """Return the largest variances about a point (d,) that the ranges of columns allow."""
        reach = np.fmax(self.most - mean, mean - self.least)
        return np.where(np.isnan(reach), np.inf, reach**2)

    def far(self, filled: Any) -> NDArray[np.intp]:
        """Return how many entries of columns (d,) are beyond the range by more than its width."""
        width = self.most - self.least
        is_far = (filled < self.least - width) | (filled > self.most + width)
        return np.asarray(np.count_nonzero(is_far, axis=0))

    def _find_apart(self) -> NDArray[np.int64]:
        """Return two columns that were never observed in the same row, (2,), or (0,)."""
        if self.together.all():
            return np.zeros(0, np.int64)
        return np.argwhere(np.tril(~self.together, -1))[:1].ravel().astype(np.int64)

    def summary(self) -> MissingCounts:
        """Return a copy for a model, which does not know what was observed together."""
        twin = copy.copy(self)
        twin.together = np.zeros((0, 0), dtype=bool)
        return twin

    @property
    def missing_share(self) -> Doubles:
        """The share of the rows that lack an entry in each column, shape (d,)."""
        return 1.0 - self.observed / max(self.rows, 1.0)

    def merge(self, other: Self) -> None:
        """Include what is known of another stream."""
        self.rows += other.rows
        self.incomplete, self.empty = self.incomplete + other.incomplete, self.empty + other.empty
        self.observed = self.observed + other.observed
        self.together = self.together | other.together
        self.apart = self._find_apart()
        self._widen(other.least, other.most)
