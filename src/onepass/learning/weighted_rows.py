"""Rows of a chunk as the algorithms see them: weighted, and centred as they come."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass import _core
from onepass.moments.mean import Mean

# Share of the energy of rows and mean that their difference has at least: a product is a sum of
# products with the mean, and loses as many digits as this share has zeros.
ENERGY_LEFT = 1e-4


def weigh(rows: Any, weights: NDArray[np.float64], mean: Mean, center: bool) -> Any:
    """Return the rows that algorithms learn from, and move the mean past them.

    A row of weight w counts as sqrt(w) x. Centred, it counts as sqrt(w W / (W + w)) (x - mean),
    with the mean and the weight W of the rows before it: the second moment of these rows is the
    scatter of the rows about their mean, exactly.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (r, d)
    weights : ndarray of shape (r,)
    mean : Mean
        Of the rows before; afterwards that of these as well.
    center : bool

    Returns
    -------
    ndarray of shape (r, d), or SparseRows
    """
    if center and not sparse.issparse(rows):
        contiguous = np.ascontiguousarray(rows)
        origin = mean.origin(contiguous)
        start = mean.vector if mean.weight > 0.0 else origin
        centred, vector, weight = _core.centre(contiguous, weights, start, mean.weight)
        mean.vector, mean.weight = vector, weight
        return centred
    if center:
        return _centred_sparse(rows, weights, mean)
    mean.weight += float(weights.sum())
    if (weights == 1.0).all():
        return SparseRows(rows) if sparse.issparse(rows) else np.ascontiguousarray(rows)
    root = np.sqrt(weights).astype(rows.dtype)
    if sparse.issparse(rows):
        return SparseRows(sparse.csr_array(sparse.diags_array(root) @ rows))
    return root[:, None] * rows


def _centred_sparse(rows: Any, weights: NDArray[np.float64], mean: Mean) -> SparseRows:
    """Return centred sparse rows without making them dense: as mixtures of mean and rows."""
    after = mean.weight + np.cumsum(weights)
    before = after - weights
    before[0] = mean.weight
    scale = np.sqrt(weights * before / after)
    # The mean before row t is (W mean + sum_{s < t} w_s x_s) / W_t, with W_t the weight before it.
    inverse = np.divide(1.0, before, out=np.zeros_like(before), where=before > 0.0)
    mixing = np.empty((len(weights), len(weights) + 1))
    mixing[:, 0] = -mean.weight * inverse
    mixing[:, 1:] = -np.tril(np.outer(inverse, weights), -1)
    mixing[:, 1:].flat[:: len(weights) + 1] = 1.0
    mixing *= scale[:, None]
    old = mean.vector
    mean.add(weights @ rows - weights.sum() * old, float(weights.sum()), old)
    return SparseRows(rows, mixing, old)


def sparse_energies(rows: Any) -> NDArray[np.float64]:
    """Return the squared norms (r,) of the rows of a CSR array."""
    wide = rows.astype(np.float64, copy=False)
    return np.asarray(wide.multiply(wide).sum(axis=1)).ravel()


class SparseRows:
    """The rows ``mixing @ [mean; rows]``, or ``rows`` themselves, without a dense copy.

    Parameters
    ----------
    rows : csr_array of shape (s, d)
    mixing : ndarray of shape (r, s + 1), optional
    mean : ndarray of shape (d,), optional
    """

    def __init__(
        self,
        rows: Any,
        mixing: NDArray[np.float64] | None = None,
        mean: NDArray[np.float64] | None = None,
    ) -> None:
        self._rows, self._mixing, self._mean = rows, mixing, mean

    def __len__(self) -> int:
        return self._rows.shape[0] if self._mixing is None else len(self._mixing)

    def __getitem__(self, part: slice) -> SparseRows:
        """Return some of the rows."""
        if self._mixing is None:
            return SparseRows(self._rows[part])
        return SparseRows(self._rows, self._mixing[part], self._mean)

    def inner(self, directions: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the products (r, m) with directions (m, d)."""
        products = np.asarray(self._rows @ directions.T, dtype=np.float64)
        if self._mixing is None:
            return products
        assert self._mean is not None
        return self._mixing @ np.vstack([directions @ self._mean, products])

    def count_accurate(self, energies: NDArray[np.float64]) -> int:
        """Return how many rows there are before one whose products lose digits to the mean.

        `energies` are the squared norms (r,) of the rows, as found from these products.
        """
        if self._mixing is None:
            return len(self)
        assert self._mean is not None
        squares = np.append(self._mean @ self._mean, sparse_energies(self._rows))
        left = energies >= ENERGY_LEFT * (self._mixing**2 @ squares)
        return len(self) if left.all() else int(np.argmin(left))

    def gram(self) -> NDArray[np.float64]:
        """Return the products (r, r) of the rows with each other."""
        rows = self._rows.astype(np.float64, copy=False)
        products = (rows @ rows.T).toarray()
        if self._mixing is None:
            return products
        assert self._mean is not None
        across = rows @ self._mean
        whole = np.block([[np.array([[self._mean @ self._mean]]), across[None]],
                          [across[:, None], products]])  # fmt: skip
        return self._mixing @ whole @ self._mixing.T

    def combine(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows ``coefficients @ self`` of shape (m, d), coefficients (m, r)."""
        if self._mixing is None:
            return np.asarray((self._rows.T @ coefficients.T).T)
        assert self._mean is not None
        mixed = coefficients @ self._mixing
        return np.outer(mixed[:, 0], self._mean) + (self._rows.T @ mixed[:, 1:].T).T

    def toarray(self) -> NDArray[np.floating]:
        """Return the rows (r, d) as a dense array."""
        if self._mixing is None:
            return self._rows.toarray()
        return self.combine(np.eye(len(self))).astype(self._rows.dtype)
