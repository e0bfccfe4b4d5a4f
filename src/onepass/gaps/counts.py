"""How much of a stream is missing where."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass.gaps.factor_model import rows_with_gaps
from onepass.persistence.fields import Array, Field, Size, State, weight, whole
from onepass.precision import Doubles

RANK_FACTOR, RANK_MORE = 2, 8  # of the model: 2 k + 8 directions, twice what is asked for
ROWS_PER_DIRECTION = 8  # observed rows that a direction of the model is based on at least
TOGETHER_COLUMNS = 2048  # up to which it is known which columns were observed together


class MissingCounts(State):
    """How much of a stream is missing where.

    Parameters
    ----------
    d : int
        The number of columns.
    rows : float
        Complete rows that came before the first one with gaps.

    Attributes
    ----------
    rows, incomplete, empty : float, int and int
        Rows so far with an entry, those of them with gaps, and those without any entry, which are
        left out.
    observed : ndarray of shape (d,)
        How many of the rows have an entry in each column.
    together : ndarray of shape (d, d) or (0, 0)
        Which columns were observed in the same row; not known beyond 2,048 columns, nor in a model.
    apart : ndarray of shape (2,) or (0,)
        Two columns that were never observed in the same row, if there are such.
    """

    def __init__(self, d: int, rows: float = 0.0) -> None:
        self.d, self.rows = d, rows
        self.incomplete = self.empty = 0
        self.observed: Doubles = np.full(d, rows)
        known = d if d <= TOGETHER_COLUMNS else 0
        self.together: NDArray[np.bool_] = np.full((known, known), rows > 0.0)
        self.apart = self._find_apart()

    def fields(self) -> dict[str, Field]:
        known = Size("columns counted together", self.d)
        return {
            "rows": weight(0),
            "incomplete": whole(),
            "empty": whole(),
            "observed": Array((self.d,), least=0.0),
            "together": Array((known, known), ("bool",), 0, 1),
            "apart": Array((Size("columns apart", 2),), ("int64",), 0, self.d - 1),
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

    def rank(self, k: int) -> int:
        """Return the rank of the model that completes rows, for k components."""
        most = min(RANK_FACTOR * k + RANK_MORE, self.d - 1)
        return int(max(1, min(most, self.rows * self.share / ROWS_PER_DIRECTION)))

    def count(self, values: Any) -> None:
        """Include rows (r, d), dense or CSR, none of which is empty."""
        self.rows += values.shape[0]
        self.incomplete += int(np.count_nonzero(rows_with_gaps(values)))
        if sparse.issparse(values):
            missing = values.indices[np.isnan(values.data)]
            self.observed = self.observed + values.shape[0] - np.bincount(missing, minlength=self.d)
            self.together = np.ones_like(self.together)  # zeros are observed
            self.apart = self._find_apart()
            return
        seen = ~np.isnan(values)
        self.observed = self.observed + seen.sum(axis=0)
        if self.together.size and not self.together.all():
            counts = seen.astype(np.float32)
            self.together = self.together | (counts.T @ counts > 0.0)
            self.apart = self._find_apart()

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
