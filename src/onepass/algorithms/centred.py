"""Rows for algorithms that take them one by one: each weighted, and about the mean before it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass import _core
from onepass.moments.chunk import sparse_gram
from onepass.persistence.fields import Field, State, point, weight
from onepass.precision import Doubles

# A centred row is the difference of a row and the mean, and its products come from theirs. They
# lose too many digits where the difference has less than this share of the energy of both.
ENERGY_LEFT = 1e-4


class Mean(State):
    """The weighted mean of the rows so far."""

    def __init__(self, d: int) -> None:
        self.weight = 0.0  # the sum of the weights; the number of rows where these have none
        self.vector: Doubles = np.zeros(d)

    def fields(self) -> dict[str, Field]:
        return {"weight": weight(), "vector": point(len(self.vector))}

    def row_between(self, other: Mean) -> Doubles:
        """Return the row (d,) whose square is the scatter of two groups' means about the joint."""
        together = self.weight + other.weight
        share = np.sqrt(self.weight) * np.sqrt(other.weight / together) if together > 0.0 else 0.0
        return share * (other.vector - self.vector)

    def merge(self, other: Mean) -> None:
        """Include the rows of another mean."""
        together = self.weight + other.weight
        if together > 0.0:
            self.vector = self.vector + other.weight / together * (other.vector - self.vector)
        self.weight = together


def centred(rows: Any, weights: Doubles, mean: Mean, center: bool) -> Any:
    """Return the rows that algorithms learn from, and move the mean past them.

    A row of weight w counts as sqrt(w) x. Centred, it counts as sqrt(w W / (W + w)) (x - mean),
    with the mean and the weight W of the rows before it: the second moment of these rows is the
    scatter of the rows about their mean, exactly. The rows (r, d) are an array, or CSR, which
    becomes `MixedRows`.
    """
    if center and not sparse.issparse(rows):
        # At first the first row stands for the mean: then identical rows have it to the last bit.
        start = mean.vector if mean.weight > 0.0 else rows[0].astype(np.float64)
        contiguous = np.ascontiguousarray(rows)
        centred, mean.vector, mean.weight = _core.centre(contiguous, weights, start, mean.weight)
        return centred
    if center:
        return _centred_sparse(rows, weights, mean)
    mean.weight += float(weights.sum())
    if (weights == 1.0).all():
        return MixedRows(rows) if sparse.issparse(rows) else np.ascontiguousarray(rows)
    root = np.sqrt(weights).astype(rows.dtype)
    if sparse.issparse(rows):
        return MixedRows(sparse.csr_array(sparse.diags_array(root) @ rows))
    return root[:, None] * rows


def _centred_sparse(rows: Any, weights: Doubles, mean: Mean) -> MixedRows:
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
    old, added = mean.vector, float(weights.sum())
    mean.weight += added
    mean.vector = old + (weights @ rows - added * old) / mean.weight
    return MixedRows(rows, mixing, old[None])


class MixedRows:
    """The rows ``mixing @ [dense; rows]``, or ``rows`` themselves, without a dense copy.

    They are multiplied with arrays as an array (r, d) is, and products have the `dtype`. `rows`
    (s, d) are CSR or other mixed rows, `dense` (m, d) a few rows such as the mean or a basis, and
    `mixing` is (r, m + s).
    """

    __array_ufunc__ = None  # so that products with arrays come here

    def __init__(
        self,
        rows: Any,
        mixing: Doubles | None = None,
        dense: NDArray[np.floating] | None = None,
        dtype: np.dtype | type = np.float64,
    ) -> None:
        self._rows, self._mixing, self._dtype = rows, mixing, dtype
        self.dtype = rows.dtype
        self._dense = np.zeros((0, rows.shape[1])) if dense is None else dense

    def __len__(self) -> int:
        return self._rows.shape[0] if self._mixing is None else len(self._mixing)

    def __getitem__(self, part: slice) -> MixedRows:
        """Return some of the rows."""
        if self._mixing is None:
            return MixedRows(self._rows[part])
        # A row is mixed from those up to it; there may be others before the first one.
        last = self._rows.shape[0] - len(self) + range(len(self))[part].stop
        mixing = self._mixing[part, : len(self._dense) + last]
        return MixedRows(self._rows[:last], mixing, self._dense)

    def __matmul__(self, columns: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the products (r, m) with columns (d, m)."""
        products = np.asarray(self._rows @ columns, dtype=np.float64)
        if self._mixing is not None:
            products = self._mixing @ np.vstack([self._dense @ columns, products])
        return products.astype(self._dtype, copy=False)

    def __rmatmul__(self, left: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return combinations (m, d) of the rows, with coefficients (m, r)."""
        m, mixed = len(self._dense), left if self._mixing is None else left @ self._mixing
        combined = mixed[:, :m] @ self._dense + mixed[:, m:] @ self._rows
        return np.ascontiguousarray(combined, self._dtype)

    def gram(self) -> Doubles:
        """Return the products (r, r) of the rows with each other."""
        products = sparse_gram(self._rows)
        if self._mixing is None:
            return products
        across = self._rows.astype(np.float64, copy=False) @ self._dense.T
        whole = np.block([[self._dense @ self._dense.T, across.T], [across, products]])
        return self._mixing @ whole @ self._mixing.T

    def count_accurate(self, energies: Doubles) -> int:
        """Return how many rows there are before one whose products lose digits to the mean.

        `energies` are the squared norms (r,) of the rows, as found from these products.
        """
        if self._mixing is None:
            return len(self)
        wide = self._rows.astype(np.float64, copy=False)
        squares = np.asarray(wide.multiply(wide).sum(axis=1)).ravel()
        squares = np.append(np.einsum("ij,ij->i", self._dense, self._dense), squares)
        left = energies >= ENERGY_LEFT * (self._mixing**2 @ squares)
        return len(self) if left.all() else int(np.argmin(left))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.floating]:
        """Return the rows (r, d) as a dense array."""
        if self._mixing is None:
            return self._rows.toarray()
        return (np.eye(len(self)) @ self).astype(self.dtype, copy=False)
