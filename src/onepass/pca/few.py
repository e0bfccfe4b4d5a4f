"""Rows that are kept as they are while they are few, and principal directions of few rows.

The second moment of n rows of d columns has d^2 entries and the rank n. While there are fewer rows
than columns, the rows themselves take less memory than it, and their Gram matrix (n, n) has the
same eigenvalues; so neither a matrix (d, d) nor an approximation is needed.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse

from onepass.moments.chunk import Chunk, Scale, SparseChunk
from onepass.moments.krylov import Eigenpairs, Krylov, decomposed, improved, iterated, iterates
from onepass.moments.moment import ColumnSums
from onepass.moments.sketch import GRAM_ROWS
from onepass.pca.passes import BESIDE, SINGLE_RANGE, Block, CentredRows, Sums
from onepass.persistence.fields import Field, Parts
from onepass.precision import TINY, Doubles
from onepass.stream import RowBuffer, Stream

KEPT_BYTES = 2**27  # of rows that are kept, as much as the largest matrix of dense rows takes
MOST_PIECES = 2**20  # in a checkpoint: no stream keeps as many chunks of rows
EXACT = 1e-10  # of the captured variance, which directions of few rows may lack
LEAST_PRODUCTS = 4  # with the rows, before it is known how fast these directions converge
TILE_BYTES = 2**24  # of columns of all rows whose products are added to the Gram matrix at a time


class FewRows(CentredRows):
    """Rows in memory, in blocks of rows (r, d) and their weights (r,)."""

    def __init__(self, blocks: Sequence[Block], sums: Sums, scale: Scale = None) -> None:
        super().__init__(lambda: blocks, sums, scale)
        self.blocks, self.mean = blocks, sums.mean
        self.energy = sums.energy(scale)
        self.roots = np.sqrt(np.concatenate([weights for _, weights in blocks]))

    def __len__(self) -> int:
        return len(self.roots)

    def combine(self, coefficients: Doubles) -> Doubles:
        """Return combinations (m, d) of the rows times the roots of their weights."""
        combined, start = np.zeros((len(coefficients), self.d)), 0
        shares = coefficients * self.roots
        for rows in self.parts():
            combined += rows.combine(shares[:, start : start + len(rows)])
            start += len(rows)
        combined -= np.outer(shares.sum(axis=1), self.step)
        return combined if self.scale is None else combined / self.scale

    def inner(self, directions: Doubles) -> Doubles:
        """Return the products (n, m) of the rows times these roots with directions (m, d)."""
        raw = directions if self.scale is None else directions / self.scale
        inner = np.vstack([rows.inner(raw) for rows in self.parts()])
        return self.roots[:, None] * (inner - raw @ self.step)

    def gram(self) -> Doubles:
        """Return the products (n, n) of the rows times these roots with each other."""
        values = [values for values, _ in self.blocks]
        if sparse.issparse(values[0]):
            together = sparse.csr_array(sparse.vstack(values, format="csr")).astype(np.float64)
            chunk = SparseChunk(together, self.roots, self.mean, self.scale)
            return self.roots[:, None] * chunk.gram * self.roots
        gram = np.zeros((len(self), len(self)))
        dtype = np.float64 if self.is_double else values[0].dtype
        width = max(16, TILE_BYTES // (8 * len(self)))
        for first in range(0, self.d, width):
            tile = slice(first, first + width)
            part = np.vstack([rows[:, tile] for rows in values]).astype(dtype, copy=False)
            part -= self.mean[tile].astype(dtype)
            if self.scale is not None:
                part /= self.scale[tile].astype(dtype)
            part *= self.roots[:, None].astype(dtype)
            gram += part @ part.T
        return gram

    def leading(self, k: int, start: Doubles | None = None, more: int = 0) -> Eigenpairs:
        """Return leading directions (m, d) and sums of squares along them (m,), largest first.

        The first k are as exact as can be; `more` are returned if they are found besides. They
        come from passes over the rows if these take less time than the Gram matrix. `start` (m, d)
        are directions near them, if some are known.
        """
        k = min(k, len(self), self.d)
        found = self.iterated(k, start, more) if len(self) > GRAM_ROWS else None
        return found or self._decomposed(k, more)

    def iterated(self, k: int, start: Doubles | None, more: int) -> Eigenpairs | None:
        """Return directions and sums by passes over the rows; None if they would take too long."""
        width = min(k + BESIDE, len(self), self.d)
        # A product with the rows and their transpose takes 4 n d operations for each direction, at
        # half the speed of the n d for each row that a half of the Gram matrix takes.
        most = len(self) // (8 * width)
        unit = self.energy
        if most < LEAST_PRODUCTS or not TINY < unit < np.inf:
            return None
        known = np.zeros((0, self.d)) if start is None else start[:k]
        mixed = self.combine(np.random.default_rng(0).normal(size=(width - len(known), len(self))))
        krylov, lost = Krylov(np.vstack([known, mixed])), np.inf
        for done in range(1, most + 1):
            krylov.add(self.times(krylov.block) / unit)
            before, lost = lost, krylov.lost(k) / max(krylov.captured(k), TINY)
            if lost <= EXACT or not krylov.block.shape[1]:
                m = min(k + more, len(krylov.values))
                return krylov.directions(m), krylov.values[:m].clip(min=0.0) * unit
            # What is lost falls by about the same factor in each pass.
            slowest = (EXACT / lost) ** (1.0 / (most - done)) if done < most else 0.0
            if done >= LEAST_PRODUCTS and lost > slowest * before:
                return None
        return None

    def _decomposed(self, k: int, more: int) -> Eigenpairs:
        """Return directions and sums from the Gram matrix of the rows."""
        single = not self.is_double
        gram, found = self.gram(), None
        unit = float(gram.trace()) or 1.0
        if iterates(len(gram), k) and TINY < unit < np.inf:
            none = np.zeros((0, len(gram)))
            found = iterated(lambda columns: gram @ columns / unit, none, k, more)
        vectors, values = found or decomposed(gram / unit, min(k + more, len(gram), self.d))
        if single and values[k - 1] < SINGLE_RANGE * values[0]:
            self.is_double = True
            return self._decomposed(k, more)
        return np.linalg.qr(self.combine(vectors).T)[0].T, values * unit


class KeptRows(ColumnSums):
    """All rows of a stream, of which there are fewer than columns.

    Attributes
    ----------
    pieces : list of RowBuffer
        The rows of each chunk. Neither the list nor the rows change: copies share them.
    """

    is_additive = True

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream.d, stream.center)
        self.stream = stream
        self.pieces: list[RowBuffer] = []

    def fields(self) -> dict[str, Field]:
        pieces = Parts(lambda: RowBuffer(self.stream), 0, MOST_PIECES)
        return {**super().fields(), "pieces": pieces}

    def copy(self, shared: tuple[str, ...] = ()) -> Self:
        """Return a copy that goes on by itself."""
        return copy.copy(self)

    def __len__(self) -> int:
        return sum(piece.count for piece in self.pieces)

    def blocks(self) -> list[Block]:
        """Return the rows of each chunk, and their weights."""
        return [piece.content() for piece in self.pieces]

    def values(self) -> list[Any]:
        """Return the rows of each chunk."""
        return [values for values, _ in self.blocks()]

    def together(self) -> Block:
        """Return all rows and their weights."""
        weights = np.concatenate([weights for _, weights in self.blocks()])
        if self.stream.is_sparse:
            return sparse.csr_array(sparse.vstack(self.values(), format="csr")), weights
        return np.concatenate(self.values()), weights

    def fits(self, *blocks: Any) -> bool:
        """Return whether rows (r, d) of some blocks can be kept besides."""
        held = [*self.values(), *blocks]
        rows = sum(values.shape[0] for values in held)
        return rows < self.d and sum(map(_bytes, held)) <= KEPT_BYTES

    def add(self, rows: Chunk, weights: Doubles) -> None:
        self.add_columns(rows, weights)
        piece = RowBuffer(self.stream)
        piece.add(self.stream.convert(rows.values), weights, len(weights))
        self.pieces = [*self.pieces, piece]

    def merge(self, other: Self, scale: Scale = None) -> None:
        self.merge_columns(other)
        self.pieces = [*self.pieces, *other.pieces]

    def _rows(self, scale: Scale) -> FewRows:
        """Return the rows about their mean, divided by a scale (d,) if there is one."""
        return FewRows(self.blocks(), Sums(self.weight, self.mean, self.columns), scale)

    def energy(self, scale: Scale = None) -> float:
        return self._rows(scale).energy

    def leading(self, k: int, scale: Scale = None, start: Doubles | None = None) -> Eigenpairs:
        return self._rows(scale).leading(k, start)

    def improved(self, directions: Doubles, scale: Scale = None) -> Eigenpairs:
        return improved(self._rows(scale).times, directions)

    def times(self, columns: Doubles, scale: Scale = None) -> Doubles:
        return self._rows(scale).times(columns)

    def spectrum(self, scale: Scale = None) -> Doubles:
        return np.linalg.eigvalsh(self._rows(scale).gram())[::-1].clip(min=0.0)

    def compress(self, directions: Doubles, scale: Scale = None) -> Doubles:
        inner = self._rows(scale).inner(directions)
        return inner.T @ inner


def _bytes(rows: Any) -> int:
    """Return the memory that rows (r, d) take, with four bytes for each index."""
    if sparse.issparse(rows):
        return int(rows.nnz * (rows.dtype.itemsize + 4))
    return int(rows.nbytes)
