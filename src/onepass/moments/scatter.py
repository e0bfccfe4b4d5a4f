"""Mean and second moment of weighted rows, exact: sums about a point near all rows."""

from __future__ import annotations

import itertools
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onepass.moments.accumulator import Accumulator
from onepass.moments.chunk import Chunk
from onepass.moments.eigen import leading_pairs

ROUNDING = 8 * np.finfo(np.float64).eps
POWER = 0.25  # of the power mean of the parts
Scale = NDArray[np.float64] | None


class ExactScatter(Accumulator):
    """Sums over rows x of weight w about a reference point o: N = sum w (x-o)(x-o)', t, W.

    The mean is o + t / W and the scatter about it N - t t' / W. Sums about the same point add up,
    whatever rows they are from. About another point they are moved exactly; that is done where the
    mean has walked so far from the point that the difference would lose digits.

    The sums may be kept in several parts: every chunk is cut into as many pieces as there are
    parts, and each piece adds to its part.

    Parameters
    ----------
    d : int
        The number of columns.
    center : bool
        Whether the second moment is about the mean or about zero, which then is the point.
    """

    fading = changed = ("weights", "totals", "parts")

    def __init__(self, d: int, center: bool) -> None:
        self.d, self.center = d, center
        self.origin: NDArray[np.float64] = np.zeros(d)
        self.weights: NDArray[np.float64] = np.zeros(1)
        self.totals: NDArray[np.float64] = np.zeros((1, d))
        self.parts: NDArray[np.float64] = np.zeros((1, d, d))
        self._squares: NDArray[np.float64] | None = None  # their sum, where it is known

    @property
    def weight(self) -> float:
        """W, the sum of the weights."""
        return float(self.weights.sum())

    @property
    def total(self) -> NDArray[np.float64]:
        """t, shape (d,)."""
        return self.totals.sum(axis=0)

    @property
    def squares(self) -> NDArray[np.float64]:
        """N, shape (d, d)."""
        if len(self.parts) == 1:
            return self.parts[0]
        if self._squares is None:
            self._squares = self.parts.sum(axis=0)
        return self._squares

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean of the rows, shape (d,); zeros where the moment is about zero."""
        weight = self.weight
        return self.origin + self.total / weight if weight > 0.0 else self.origin

    def near(self) -> NDArray[np.float64]:
        """Return a point (d,) that sums may be taken about: the present one if it is good enough.

        Where most of the squares about it are those of the mean, sums would lose digits.
        """
        mean, weight = self.mean, self.weight
        away = mean - self.origin
        squares = float(np.einsum("pii->", self.parts))
        return mean if 2.0 * weight * float(away @ away) > squares else self.origin

    def add(self, chunk: Chunk, weights: NDArray[np.float64]) -> None:
        """Include the rows of a chunk with weights (r,); its origin becomes the point."""
        self._squares = None
        self.move(chunk.origin)
        pieces = [chunk]
        if len(self.parts) > 1:
            edges = np.linspace(0, len(chunk), len(self.parts) + 1).astype(int)
            pieces = [chunk.part(*ends) for ends in itertools.pairwise(edges)]
        stop = 0
        for number, piece in enumerate(pieces):
            start, stop = stop, stop + len(piece)
            total, squares = piece.sums(weights[start:stop])
            self.parts[number] += squares
            if self.center:
                self.totals[number] += total
            self.weights[number] += weights[start:stop].sum()

    def split(self, count: int) -> None:
        """Keep the sums of further rows in so many parts, the first of which has all so far."""
        new = max(count - len(self.parts), 0)
        for name in self.changed:
            sums = getattr(self, name)
            setattr(self, name, np.concatenate([sums, np.zeros((new, *sums.shape[1:]))]))

    def joined(self) -> Self:
        """Return a copy with the sums in one part."""
        twin = self.copy()
        for name in self.changed:
            setattr(twin, name, getattr(self, name).sum(axis=0, keepdims=True))
        return twin

    def move(self, origin: NDArray[np.float64]) -> None:
        """Take another reference point (d,)."""
        step = self.origin - origin
        if self.center and step.any() and self.weight > 0.0:
            self._squares = None
            for number, weight in enumerate(self.weights):
                half = self.totals[number] + 0.5 * weight * step
                self.parts[number] += np.outer(step, half) + np.outer(half, step)
            self.totals += np.outer(self.weights, step)
        self.origin = origin

    def merge(self, other: ExactScatter, scale: Scale = None) -> None:
        """Include the rows of another one: its largest parts in the smallest of these."""
        theirs = other.copy()
        if self.weight > 0.0:
            theirs.move(self.origin)
        self.origin, self._squares = theirs.origin, None
        self.split(len(theirs.parts))
        ours = np.argsort(self.weights, kind="stable")
        for mine, its in zip(ours, np.argsort(-theirs.weights, kind="stable"), strict=False):
            for name in self.changed:
                getattr(self, name)[mine] += getattr(theirs, name)[its]

    def fade(self, factor: float) -> None:
        super().fade(factor)
        self._squares = None

    def variances(self) -> NDArray[np.float64]:
        """Return the weighted sums of squares of the columns about their means, shape (d,)."""
        return spread(np.einsum("pii->i", self.parts), self.total, self.weight)

    def matrix(self, scale: Scale = None) -> NDArray[np.float64]:
        """Return the scatter (d, d), of columns divided by a scale (d,) if there is one."""
        if not self.weight > 0.0:
            return self.squares.copy()
        total = self.total
        matrix = self.squares - np.outer(total, total / self.weight)
        if scale is not None:
            matrix /= scale
            matrix /= scale[:, None]
        return matrix

    def energy(self, scale: Scale = None) -> float:
        """Return the trace of the scatter."""
        columns = self.variances()
        return float(columns.sum() if scale is None else (columns / scale**2).sum())

    def leading(
        self, k: int, scale: Scale = None, *, prove: bool = True
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the k leading directions (k, d) of the scatter and the sums along them (k,)."""
        return leading_pairs(self.matrix(scale), k, prove=prove)

    def spectrum(self, scale: Scale = None) -> NDArray[np.float64]:
        """Return the sums along all principal directions, shape (d,), largest first."""
        return np.linalg.eigvalsh(self.matrix(scale))[::-1].clip(min=0.0)

    def compress(self, directions: NDArray[np.float64], scale: Scale = None) -> NDArray[np.float64]:
        """Return ``directions @ scatter @ directions.T`` for directions (k, d)."""
        raw = directions if scale is None else directions / scale
        return _compressed(raw, self.squares, self.total, self.weight)

    def consensus(
        self, k: int, span: NDArray[np.float64], scale: Scale = None
    ) -> NDArray[np.float64]:
        """Return the k leading directions (k, d) of the power mean of the parts, within a span."""
        raw = span if scale is None else span / scale
        power = np.zeros((len(span), len(span)))
        for squares, total, weight in zip(self.parts, self.totals, self.weights, strict=True):
            if weight > 0.0:
                second = _compressed(raw, squares, total, weight) / weight
                values, vectors = np.linalg.eigh(second)
                root = (vectors * values.clip(min=0.0) ** POWER) @ vectors.T
                power += weight / self.weight * root
        return np.linalg.eigh(power)[1].T[::-1][:k] @ span

    def saved(self) -> dict[str, Any]:
        """Return what a model file keeps: of the parts, the upper triangles."""
        rows, columns = np.triu_indices(self.d)
        held = {name: getattr(self, name) for name in ("origin", "weights", "totals")}
        return {**held, "triangles": self.parts[:, rows, columns]}

    def restore(self, state: dict[str, Any]) -> None:
        rows, columns = np.triu_indices(self.d)
        self.origin, self._squares = state["origin"], None
        self.weights, self.totals = state["weights"].copy(), state["totals"].copy()
        self.parts = np.zeros((len(self.weights), self.d, self.d))
        self.parts[:, rows, columns] = self.parts[:, columns, rows] = state["triangles"]


def spread(
    squares: NDArray[np.float64], total: NDArray[np.float64], weight: float
) -> NDArray[np.float64]:
    """Return sums of squares about the mean from those about a point; 0 where all is rounding."""
    sums = squares - total**2 / weight if weight > 0.0 else squares
    return np.where(sums > ROUNDING * squares, sums, 0.0)


def _compressed(
    raw: NDArray[np.float64],
    squares: NDArray[np.float64],
    total: NDArray[np.float64],
    weight: float,
) -> NDArray[np.float64]:
    """Return ``raw @ scatter @ raw.T`` of sums about a point, for directions (k, d)."""
    along = raw @ total
    inner = raw @ squares @ raw.T
    return inner - np.outer(along, along) / weight if weight > 0.0 else inner
