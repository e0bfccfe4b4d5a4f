"""Mean and second moment of weighted rows with many columns: the leading part of the scatter.

After each chunk, [sketch; chunk] is truncated to its leading directions. All others start again
from zero, although each of them has received something from the rows. The kept directions would
gain on them with every chunk, and stop turning towards new evidence. So the average that a
discarded direction has received is subtracted from the kept ones too. It is added again wherever
variances are reported.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from onepass.moments.chunk import Chunk, DenseChunk, Scale
from onepass.moments.krylov import Eigenpairs, decomposed
from onepass.moments.moment import ColumnSums
from onepass.persistence.fields import Array, Field, Number, Size
from onepass.precision import ZERO_OF_SKETCH, Doubles

TAKEN_OFF = 1.25  # times what a discarded direction received; measured, see docs/benchmarks.md
GRAM_ROWS = 768  # up to which [sketch; chunk] is decomposed by its Gram matrix, exactly
BESIDE = 8  # beyond: directions beside those wanted; steps of the iteration for them are below
# On 20 newsgroups (tf-idf, natural order, k = 50, rank 124) one, two and three steps lose 3.9%,
# 1.2% and 0.8% of what exact PCA captures; one step at rank 300 loses 1.8% and takes longer.
POWER_STEPS, FIRST_POWER_STEPS = 3, 4
SKEW = 1e-6  # ratio of eigenvalues below which directions are no longer orthonormal enough
# Smallest pivot of the Gram matrix of unit rows, above which one Cholesky factor makes them
# orthonormal, and above which two do; below, QR does.
ONE_FACTOR, TWO_FACTORS = 1e-2, 1e-7


class Sketch(ColumnSums):
    """``basis' diag(values) basis + level I``, of a fixed rank.

    Columns were divided by a scale before they came, so that the `scale` of its methods has no
    effect.

    Attributes
    ----------
    level : float
        What was taken off all values, and is added again where variances are read.
    trace : float
        The sum of all squares, of scaled columns.
    basis, values : ndarray of shape (m, d) and (m,)
    """

    is_additive = False

    def __init__(self, d: int, rank: int, center: bool = True) -> None:
        super().__init__(d, center)
        self.rank = rank
        self.level, self.trace = 0.0, 0.0
        self.basis: Doubles = np.zeros((0, d))
        self.values: Doubles = np.zeros(0)

    def fields(self) -> dict[str, Field]:
        kept = Size("rank of a sketch", self.rank)
        return {
            **super().fields(),
            "level": Number(fades=1),
            "trace": Number(fades=1),
            "basis": Array((kept, self.d), least=-2.0, most=2.0, orthonormal=True),
            "values": Array((kept,), least=0.0, descending=True, fades=1),
        }

    def add(self, rows: Chunk, weights: Doubles) -> None:
        if weights.any():
            shares, apart = self.add_columns(rows, weights)
            self._truncate(_Stack(self._factor(), rows, np.sqrt(weights), shares, apart))

    def merge(self, other: Self, scale: Scale = None) -> None:
        # `scale` is what the columns of their rows were divided by.
        apart = self.merge_columns(other) / (1.0 if scale is None else scale)
        rows = np.vstack([other._factor(), apart])
        self.level += other.level
        self.trace += other.trace - float(other.values.sum())
        ones, zeros = np.ones(len(rows)), np.zeros(len(rows))
        added = DenseChunk(rows, ones, np.zeros(self.d))
        self._truncate(_Stack(self._factor(), added, ones, zeros, np.zeros((0, self.d))))

    def _factor(self) -> Doubles:
        """Return the rows (m, d) whose second moment the sketch is."""
        return np.sqrt(self.values)[:, None] * self.basis

    def _truncate(self, stack: _Stack) -> None:
        """Keep the leading directions of [sketch; rows]; take off what the others received."""
        basis, values, energy = _leading(stack, min(self.rank, len(stack)))
        self.trace = max(self.trace + energy - float(self.values.sum()), 0.0)
        discarded = max(energy - float(values.sum()), 0.0)
        taken = TAKEN_OFF * discarded / max(self.d - len(values), 1)
        self.basis, self.values = basis, np.maximum(values - taken, 0.0)
        self.level += taken

    def become(self, directions: Doubles, values: Doubles, energy: float, least: int) -> None:
        """Take over orthonormal directions (m, d), and descending sums of squares along them (m,).

        `energy` is the sum of all squares. Beyond the `least` leading ones, those are left out
        along which rows vary less than in what is not spanned.
        """
        count = min(len(values), self.rank)
        rest = (energy - float(values[:count].sum())) / max(self.d - count, 1)
        count = max(int((values[:count] > rest).sum()), min(least, count))
        rest = (energy - float(values[:count].sum())) / max(self.d - count, 1)
        self.level = float(np.clip(rest, 0.0, values[count - 1]))
        self.basis, self.values = directions[:count], values[:count] - self.level
        self.trace = energy

    def energy(self, scale: Scale = None) -> float:
        return self.trace

    def leading(self, k: int, scale: Scale = None, start: Doubles | None = None) -> Eigenpairs:
        return self.basis[:k], self.values[:k] + self.level

    def improved(self, directions: Doubles, scale: Scale = None) -> Eigenpairs:
        return self.leading(len(directions))

    def spectrum(self, scale: Scale = None) -> Doubles:
        return self.values + self.level

    def times(self, columns: Doubles, scale: Scale = None) -> Doubles:
        return self.basis.T @ (self.values[:, None] * (self.basis @ columns)) + self.level * columns

    def compress(self, directions: Doubles, scale: Scale = None) -> Doubles:
        inner = directions @ self.basis.T
        return (inner * self.values) @ inner.T + self.level * np.eye(len(directions))


class _Stack:
    """The rows [factor; extra; roots * (chunk - its mean)], of which nothing is formed.

    The mean of the chunk is ``shares @ rows``, with shares (r,) that are zero where it is not
    subtracted.
    """

    def __init__(
        self, factor: Doubles, chunk: Chunk, roots: Doubles, shares: Doubles, extra: Doubles
    ) -> None:
        rows = np.vstack([factor, extra]) if len(extra) else factor
        self.dense = DenseChunk(rows, np.ones(len(rows)), np.zeros(chunk.d))
        self.chunk, self.roots, self.shares = chunk, roots, shares

    def __len__(self) -> int:
        return len(self.dense) + len(self.chunk)

    def inner(self, directions: Doubles) -> Doubles:
        """Return the products (rows, m) with directions (m, d)."""
        inner = self.chunk.inner(directions)
        inner = self.roots[:, None] * (inner - self.shares @ inner)
        return np.vstack([self.dense.inner(directions), inner])

    def combine(self, coefficients: Doubles) -> Doubles:
        """Return ``coefficients @ rows`` of shape (m, d), from coefficients (m, rows)."""
        dense, chunk = np.split(coefficients, [len(self.dense)], axis=1)
        chunk = chunk * self.roots
        combined = self.chunk.combine(chunk - np.outer(chunk.sum(axis=1), self.shares))
        if len(self.dense):
            combined += self.dense.combine(dense)
        return combined

    def gram(self) -> Doubles:
        """Return the products (rows, rows) of the rows with each other."""
        gram = self.chunk.gram
        across = gram @ self.shares
        gram = gram - across[:, None] - across + self.shares @ across
        gram = self.roots[:, None] * gram * self.roots
        if not len(self.dense):
            return gram
        corner = self.inner(self.dense.values)
        m = len(self.dense)
        return np.block([[corner[:m], corner[m:].T], [corner[m:], gram]])

    def energy(self) -> float:
        """Return the sum of the squared norms of the rows."""
        rows = self.chunk.energies
        if self.shares.any():
            rows, _ = self.chunk.measure(self.chunk.combine(self.shares[None])[0])
        return float(self.dense.energies.sum() + self.roots**2 @ rows)


def _leading(stack: _Stack, k: int) -> tuple[Doubles, Doubles, float]:
    """Return the k leading right singular vectors (k, d) of a stack, and squared singular values.

    These are the leading ones (k,), and the sum of all. They come from the Gram matrix where there
    are not too many rows; otherwise from subspace iteration, which starts from the directions of
    the sketch and some random ones.
    """
    if len(stack) <= GRAM_ROWS:
        gram = stack.gram()
        vectors, values = decomposed(gram, k)
        kept = values > ZERO_OF_SKETCH * values[0]
        vectors, values = vectors[kept], values[kept]
        basis = stack.combine(vectors / np.sqrt(values)[:, None])
        if len(values) and values[-1] < SKEW * values[0]:
            rows, whitening = _whitened(basis)
            basis = whitening @ rows
        return basis, values, float(gram.trace())
    known = _unit(stack.dense.values[:k])
    mixing = np.random.default_rng(0).normal(size=(k + BESIDE - len(known), len(stack)))
    mixed = stack.combine(mixing)
    basis = np.hstack([known.T, _unit(mixed - (mixed @ known.T) @ known).T]).T
    steps = POWER_STEPS if len(known) else FIRST_POWER_STEPS
    for step in range(steps):
        basis, whitening = _whitened(stack.combine(stack.inner(basis).T))
        if step < steps - 1:
            basis = _turned(whitening, basis)
    inner = stack.inner(basis) @ whitening.T
    vectors, values = decomposed(inner.T @ inner, k)
    kept = values > ZERO_OF_SKETCH * values[0]
    return _turned(vectors[kept] @ whitening, basis), values[kept], stack.energy()


def _whitened(rows: Doubles) -> tuple[Doubles, Doubles]:
    """Return rows (m, d) of the same span, and W (m, m) with ``W @ rows`` orthonormal.

    W comes from a Cholesky factor of the Gram matrix of unit rows. Rows that are close to each
    other are made orthonormal by another one first, or by QR. Deviations are at most 1e-11.
    """
    for _ in range(2):
        gram = rows @ rows.T
        norms = np.sqrt(gram.diagonal()).clip(min=1e-300)
        try:
            factor = np.linalg.cholesky(gram / norms / norms[:, None])
        except np.linalg.LinAlgError:
            break
        least, whitening = factor.diagonal().min(), np.linalg.inv(factor) / norms
        if least > ONE_FACTOR:
            return rows, whitening
        if not least > TWO_FACTORS:
            break
        rows = _turned(whitening, rows)
    return np.linalg.qr(rows.T)[0].T, np.eye(len(rows))


def _unit(rows: Doubles) -> Doubles:
    """Return rows (m, d) divided by their norms."""
    squares = np.einsum("ij,ij->i", rows, rows)
    return (rows.T / np.sqrt(squares).clip(min=1e-300)).T


def _turned(turn: Doubles, rows: Doubles) -> Doubles:
    """Return ``turn @ rows`` in Fortran order, in which products with sparse rows are fast."""
    return (rows.T @ turn.T).T
