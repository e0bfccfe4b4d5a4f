"""The running average of iterates (the paper's Section 3.1), truncated to a low rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.persistence.fields import MOST_WEIGHT, Array, Field, Number, Size, State
from onepass.precision import ZERO_EIGENVALUE
from onepass.subspace import Subspace, orthonormal, truncate

# Rows for each direction kept that wait to be added together: most of what is truncated is new.
PENDING = 4
OVERSAMPLED = 8  # directions beside those kept; Halko, Martinsson and Tropp advise 5 to 10
# Passes over new rows where these are a large part of all rows: directions still turn then.
FIRST_PASSES, LARGE_PART = 3, 1 / 8


class Average(State):
    """The average of all iterates added.

    It is kept as `max_rank` rows F with ``F.T @ F`` the sum of the iterates, without their rests.
    Further rows wait until there are enough for a truncation. The sum is exact where d is at most
    `max_rank`.
    """

    def __init__(self, d: int, max_rank: int, dtype: np.dtype) -> None:
        self.max_rank = max_rank
        self.count = 0.0  # iterates
        self.rest = 0.0  # the sum of their rests
        self.factor: NDArray[np.floating] = np.zeros((0, d), dtype)  # orthogonal, largest first
        self.pending: NDArray[np.floating] = np.zeros((0, d), dtype)  # rows not truncated yet

    def fields(self) -> dict[str, Field]:
        d, dtype = self.factor.shape[1], (self.factor.dtype.name,)
        waiting = PENDING * self.max_rank + 2 * d  # and the rows of one more call of the core
        return {
            "count": Number(float, 0.0, MOST_WEIGHT),
            "rest": Number(),
            "factor": Array((Size("rank of the average", self.max_rank), d), dtype),
            "pending": Array((Size("rows of the average", waiting), d), dtype),
        }

    def take(self, content: dict[str, Any]) -> None:
        """Take over checked values, by the names of their fields."""
        if not np.linalg.norm(content["factor"], axis=1).all():
            raise ValueError("factor has a direction of length zero")
        super().take(content)

    def add(self, rows: Any, rests: float, count: float) -> None:
        """Add `count` iterates: rows (s, d) whose ``rows.T @ rows`` is their sum less `rests` I.

        The rows are an array, or what can be multiplied with arrays from both sides and made one.
        """
        self.count += count
        self.rest += rests
        # The first rows do not wait, so that there are leading directions from then on.
        enough = PENDING * self.max_rank if len(self.factor) else 1
        if len(self.pending) or len(rows) < enough:
            rows = np.vstack([self.pending, np.asarray(rows)])
        if len(rows) < enough:
            self.pending = rows
        else:
            passes = FIRST_PASSES if count > LARGE_PART * self.count else 1
            self.factor, self.pending = self._truncated(rows, passes), self.pending[:0]

    def value(self) -> Subspace:
        """Return the average."""
        factor, count = self._truncated(self.pending, FIRST_PASSES), self.count or 1.0
        weights = np.einsum("ij,ij->i", factor, factor, dtype=np.float64) + self.rest
        return Subspace(orthonormal(factor), weights / count, self.rest / count)

    def merge(self, other: Average) -> None:
        """Include the iterates of another average."""
        rows = np.vstack([self.pending, other.factor, other.pending])
        self.factor, self.pending = self._truncated(rows, FIRST_PASSES), self.pending[:0]
        self.count, self.rest = self.count + other.count, self.rest + other.rest

    def _truncated(self, rows: Any, passes: int) -> NDArray[np.floating]:
        """Return the rows F of the sum with further rows (s, d), orthogonal, largest first."""
        F, width = self.factor, self.max_rank + OVERSAMPLED
        if not len(rows):
            return F
        if len(F) + len(rows) <= width:
            basis, values = truncate(np.vstack([F, np.asarray(rows)]), self.max_rank)
            return np.sqrt(values).astype(F.dtype)[:, None] * basis
        if F.shape[1] <= 2 * width:  # exact, and no slower than below
            dense = np.asarray(rows)
            values, vectors = np.linalg.eigh((F.T @ F + dense.T @ dense).astype(np.float64))
            values, vectors = values[::-1][: self.max_rank], vectors.T[::-1][: self.max_rank]
            kept = values > ZERO_EIGENVALUE * max(values[0], 0.0)
            return (np.sqrt(values[kept])[:, None] * vectors[kept]).astype(F.dtype)
        # Nystrom's approximation A W' (W A W')^-1 W A of the sum A, from directions W: exact on W,
        # and never above A. After all passes but the last, W becomes W A.
        signs = np.random.default_rng(0).integers(0, 2, (width - len(F), len(rows)))
        W = np.vstack([F, (2 * signs - 1).astype(F.dtype) @ rows])
        W /= np.maximum(np.linalg.norm(W, axis=1), np.finfo(F.dtype).tiny)[:, None]
        for left in reversed(range(passes)):
            inner, inner_rows = W @ F.T, (rows @ W.T).T
            WA = inner @ F + inner_rows @ rows
            W = orthonormal(WA) if left else W
        core = (inner @ inner.T + inner_rows @ inner_rows.T).astype(np.float64)
        values, vectors = np.linalg.eigh(core)
        kept = values > 4 * width * np.finfo(F.dtype).eps * values[-1]
        root = (vectors[:, kept] / np.sqrt(values[kept])).T
        gram = root @ (WA @ WA.T).astype(np.float64) @ root.T
        combination = np.linalg.eigh(gram)[1].T[::-1][: self.max_rank] @ root
        return combination.astype(F.dtype) @ WA
