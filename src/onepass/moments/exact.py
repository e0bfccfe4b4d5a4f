"""The second moment of the rows as a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.blas import dsymm, dsyr
from scipy.sparse import issparse

from onepass.kernels.squares import add_squares, dsyrk
from onepass.moments.lanczos import leading_pairs
from onepass.moments.mean import Mean
from onepass.moments.moment import Shifted, WholeMoment
from onepass.moments.nystroem import nystroem

QUICK = 64  # up to so many columns all eigenvectors cost nothing
FEW = 24  # columns for each direction from which on these are found by iteration
MOST_PRODUCTS = 96  # of it, which take half as long as a decomposition of 784 columns


class ExactMoment(WholeMoment):
    """The d x d matrix itself, of which only the upper triangle is kept up to date.

    Parameters
    ----------
    d : int
        The dimension of the rows.
    center : bool
        Whether it is about the mean or about zero.
    dtype : dtype
        Of the rows, and of the directions that are found; the matrix is in double precision.
    """

    def __init__(self, d: int, center: bool, dtype: np.dtype) -> None:
        super().__init__(center)
        self.dtype = dtype
        self._matrix = np.zeros((d, d), order="F")

    @property
    def energy(self) -> float:
        """The sum of the squared norms of the rows."""
        return float(self._matrix.trace())

    @property
    def squares(self) -> NDArray[np.float64]:
        return self._matrix.T

    def copy(self) -> ExactMoment:
        twin = ExactMoment.__new__(ExactMoment)
        twin.__dict__.update(self.__dict__)
        twin._matrix = self._matrix.copy(order="F")
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Only one triangle, and as many bytes as it needs."""
        state = self.__dict__.copy()
        d = len(self._matrix)
        state["_matrix"] = self._matrix[np.triu_indices(d)]
        state["_columns"] = d
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        d = state.pop("_columns")
        self.__dict__.update(state)
        self._matrix = np.zeros((d, d), order="F")
        self._matrix[np.triu_indices(d)] = state["_matrix"]

    def fade(self, factor: float) -> None:
        self._matrix *= factor

    def update(
        self,
        rows: Any,
        weights: NDArray[np.float64],
        before: Mean,
        after: Mean,
        held: NDArray[np.floating] | None = None,
        shifted: Shifted | None = None,
    ) -> None:
        if shifted is not None and shifted.rows is None:  # their squares are here already
            total = shifted.total
        else:
            near = (rows.toarray() if issparse(rows) else rows).astype(np.float64, copy=False)
            if self.center:
                near = near - (before.vector if before.weight > 0.0 else near[0])
            squared = np.ascontiguousarray(np.sqrt(weights)[:, None] * near)
            add_squares(squared, self.squares, dsyrk())
            total = weights @ near
        if self.center:  # about the mean after the rows it is less than about the one before
            dsyr(-1.0, total / np.sqrt(after.weight), a=self._matrix, overwrite_a=True)

    def merge(
        self,
        other: ExactMoment,
        between: NDArray[np.float64],
        held: NDArray[np.floating] | None = None,
    ) -> None:
        self._matrix += other._matrix
        if self.center:
            self._add(between)

    def compress(self, directions: NDArray[np.floating], mean: Mean | None) -> NDArray[np.float64]:
        return directions @ self._times(directions.astype(np.float64, copy=False)).T

    def leading(
        self, k: int, start: NDArray[np.floating] | None = None
    ) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
        d = len(self._matrix)
        if d <= QUICK or (start is None and 4 * k > d):
            values, vectors = np.linalg.eigh(self._matrix, UPLO="U")
        elif start is None:
            found = leading_pairs(self._matrix, k, MOST_PRODUCTS) if FEW * k <= d else None
            if found is not None:
                return found[1].astype(self.dtype, copy=False), found[0]
            few = (d - k, d - 1)
            values, vectors = eigh(
                self._matrix, lower=False, subset_by_index=few, check_finite=False
            )
        else:
            held = start.astype(np.float64)
            product = self._times(held)
            better = nystroem(product, product @ held.T, k)
            return better.basis.astype(self.dtype, copy=False), better.weights
        leading = np.ascontiguousarray(vectors.T[::-1][:k], dtype=self.dtype)
        return leading, values[::-1][:k].clip(min=0.0)

    def _times(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``directions @ matrix`` for rows (j, d)."""
        return dsymm(1.0, self._matrix, directions.T, lower=False).T

    def _add(self, row: NDArray[np.float64]) -> None:
        """Add x x' of a row of shape (d,), or nothing for one of shape (0,)."""
        if row.size:
            dsyr(1.0, row, a=self._matrix, overwrite_a=True)
