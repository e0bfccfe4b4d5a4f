"""Rows before they are learned from: what they have in common, where they wait, how they count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass import _core
from onepass.moments.accumulator import Mean
from onepass.moments.chunk import sparse_gram

# Tests set this to force chunks of a few rows, so that a short stream crosses many of them.
FORCED_CHUNK_ROWS: int | None = None

# A centred row is the difference of a row and the mean, and its products come from theirs. They
# lose too many digits where the difference has less than this share of the energy of both.
ENERGY_LEFT = 1e-4


@dataclass(frozen=True)
class Stream:
    """What all rows of a stream have in common.

    Attributes
    ----------
    d : int
        The number of columns.
    dtype : dtype
        float64 or float32.
    is_sparse : bool
        Whether rows are kept as CSR arrays.
    center : bool
        Whether the mean is subtracted.
    half_life : float or None
        The number of rows after which what was seen counts half.
    """

    d: int
    dtype: np.dtype
    is_sparse: bool
    center: bool
    half_life: float | None = None

    def convert(self, rows: Any) -> Any:
        """Return rows in the type and kind of the stream."""
        if self.is_sparse and not sparse.issparse(rows):
            rows = sparse.csr_array(rows)
        elif not self.is_sparse and sparse.issparse(rows):
            rows = rows.toarray()
        with np.errstate(over="ignore"):  # the check that follows refuses what overflows
            return rows.astype(self.dtype, copy=False)


class RowBuffer:
    """Rows that wait for a chunk to fill, with their weights, in the order in which they came.

    Parameters
    ----------
    stream : Stream
        The rows' dimension, type and kind.
    """

    def __init__(self, stream: Stream) -> None:
        self.stream, self.count = stream, 0
        self._room = np.empty((0, stream.d), stream.dtype)  # of dense rows, for chunk after chunk
        self._pieces: list[Any] = []  # of sparse rows; none is changed in place
        self._weights: list[float] = []

    def add(self, rows: Any, weights: NDArray[np.float64] | None, room: int) -> None:
        """Append a copy of rows (r, d), and their weights (r,); None where all are one.

        `room` is how many rows the chunk is going to have.
        """
        stop = self.count + rows.shape[0]
        if self.stream.is_sparse:
            self._pieces.append(rows.copy())
        else:
            if len(self._room) < stop:
                length = max(stop, min(room, 2 * stop))
                larger = np.empty((length, self.stream.d), self.stream.dtype)
                larger[: self.count] = self._room[: self.count]
                self._room = larger
            self._room[self.count : stop] = rows
        self._weights += [1.0] * rows.shape[0] if weights is None else weights.tolist()
        self.count = stop

    def content(self) -> tuple[Any, NDArray[np.float64]]:
        """Return all rows (count, d) and their weights (count,); adding rows may overwrite them."""
        if not self.stream.is_sparse:
            return self._room[: self.count], np.array(self._weights)
        if len(self._pieces) != 1:
            pieces = [self.stream.convert(np.empty((0, self.stream.d))), *self._pieces]
            self._pieces = [sparse.csr_array(sparse.vstack(pieces, format="csr"))]
        return self._pieces[0], np.array(self._weights)

    def clear(self) -> None:
        """Let no row wait any more."""
        self.count, self._pieces, self._weights = 0, [], []

    def copy(self) -> RowBuffer:
        """Return a copy that goes on by itself."""
        twin = RowBuffer(self.stream)
        twin._room = self._room[: self.count].copy()
        twin.count, twin._pieces, twin._weights = self.count, [*self._pieces], [*self._weights]
        return twin

    def saved(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        rows, weights = self.content()
        if self.stream.is_sparse:
            held = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
            return {**held, "weights": weights}
        return {"rows": rows.copy(), "weights": weights}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a checked state."""
        weights = state["weights"]
        if self.stream.is_sparse:
            parts = (state["data"], state["indices"], state["indptr"])
            rows = sparse.csr_array(parts, shape=(len(weights), self.stream.d))
            rows.check_format(full_check=True)
            self._pieces = [rows]
        else:
            self._room = state["rows"]
        self.count, self._weights = len(weights), weights.tolist()


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
        # At first the first row stands for the mean: then identical rows have it to the last bit.
        start = mean.vector if mean.weight > 0.0 else rows[0].astype(np.float64)
        contiguous = np.ascontiguousarray(rows)
        centred, mean.vector, mean.weight = _core.centre(contiguous, weights, start, mean.weight)
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
    old, added = mean.vector, float(weights.sum())
    mean.weight += added
    mean.vector = old + (weights @ rows - added * old) / mean.weight
    return SparseRows(rows, mixing, old)


class SparseRows:
    """The rows ``mixing @ [mean; rows]``, or ``rows`` themselves, without a dense copy.

    They are multiplied with arrays as an array (r, d) is.

    Parameters
    ----------
    rows : csr_array of shape (s, d)
    mixing : ndarray of shape (r, s + 1), optional
    mean : ndarray of shape (d,), optional
    """

    __array_ufunc__ = None  # so that products with arrays come here

    def __init__(
        self,
        rows: Any,
        mixing: NDArray[np.float64] | None = None,
        mean: NDArray[np.float64] | None = None,
    ) -> None:
        self._rows, self._mixing = rows, mixing
        self._mean = np.zeros(rows.shape[1]) if mean is None else mean

    def __len__(self) -> int:
        return self._rows.shape[0] if self._mixing is None else len(self._mixing)

    def __getitem__(self, part: slice) -> SparseRows:
        """Return some of the rows."""
        if self._mixing is None:
            return SparseRows(self._rows[part])
        # A row is mixed from those up to it; there may be others before the first one.
        last = self._rows.shape[0] - len(self) + range(len(self))[part].stop
        return SparseRows(self._rows[:last], self._mixing[part, : last + 1], self._mean)

    def __matmul__(self, columns: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the products (r, m) with columns (d, m)."""
        products = np.asarray(self._rows @ columns, dtype=np.float64)
        if self._mixing is None:
            return products
        return self._mixing @ np.vstack([self._mean @ columns, products])

    def __rmatmul__(self, left: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return combinations (m, d) of the rows, with coefficients (m, r)."""
        if self._mixing is None:
            return np.asarray((self._rows.T @ left.T).T)
        mixed = left @ self._mixing
        return np.outer(mixed[:, 0], self._mean) + (self._rows.T @ mixed[:, 1:].T).T

    def gram(self) -> NDArray[np.float64]:
        """Return the products (r, r) of the rows with each other."""
        products = sparse_gram(self._rows)
        if self._mixing is None:
            return products
        across = self._rows.astype(np.float64, copy=False) @ self._mean
        whole = np.block([[np.array([[self._mean @ self._mean]]), across[None]],
                          [across[:, None], products]])  # fmt: skip
        return self._mixing @ whole @ self._mixing.T

    def count_accurate(self, energies: NDArray[np.float64]) -> int:
        """Return how many rows there are before one whose products lose digits to the mean.

        `energies` are the squared norms (r,) of the rows, as found from these products.
        """
        if self._mixing is None:
            return len(self)
        wide = self._rows.astype(np.float64, copy=False)
        squares = np.asarray(wide.multiply(wide).sum(axis=1)).ravel()
        squares = np.append(self._mean @ self._mean, squares)
        left = energies >= ENERGY_LEFT * (self._mixing**2 @ squares)
        return len(self) if left.all() else int(np.argmin(left))

    def toarray(self) -> NDArray[np.floating]:
        """Return the rows (r, d) as a dense array."""
        if self._mixing is None:
            return self._rows.toarray()
        return (np.eye(len(self)) @ self).astype(self._rows.dtype)
