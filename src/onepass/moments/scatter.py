"""Mean and second moment of weighted rows, exact: sums about a point near all rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.moments.chunk import Chunk
from onepass.moments.eigen import leading_pairs

ROUNDING = 8 * np.finfo(np.float64).eps


class ExactScatter:
    """Sums over rows x of weight w about a reference point o: N = sum w (x-o)(x-o)', t, W.

    The mean is o + t / W and the scatter about it N - t t' / W. Sums about the same point add up,
    whatever rows they are from. About another point they are moved exactly; that is done where the
    mean has walked so far from the point that the difference would lose digits.

    Parameters
    ----------
    d : int
        The number of columns.
    center : bool
        Whether the second moment is about the mean or about zero, which then is the point.
    """

    def __init__(self, d: int, center: bool) -> None:
        self.center = center
        self.origin: NDArray[np.float64] = np.zeros(d)
        self.weight = 0.0
        self.total: NDArray[np.float64] = np.zeros(d)
        self.squares: NDArray[np.float64] = np.zeros((d, d))

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean of the rows, shape (d,); zeros where the moment is about zero."""
        if not self.center or not self.weight > 0.0:
            return np.zeros(len(self.total)) if not self.center else self.origin
        return self.origin + self.total / self.weight

    def add(self, chunk: Chunk, weights: NDArray[np.float64]) -> None:
        """Include the rows of a chunk about the reference point, with weights (r,)."""
        self.squares += chunk.second(weights)
        if self.center:
            self.total = self.total + chunk.combine(weights[None])[0]
        self.weight += float(weights.sum())

    def empty(self) -> ExactScatter:
        """Return a scatter of no rows about the same reference point."""
        twin = ExactScatter(len(self.total), self.center)
        twin.origin = self.origin
        return twin

    def move(self, origin: NDArray[np.float64]) -> None:
        """Take another reference point (d,)."""
        step = self.origin - origin
        if self.center and step.any() and self.weight > 0.0:
            half = self.total + 0.5 * self.weight * step
            self.squares += np.outer(step, half) + np.outer(half, step)
            self.total = self.total + self.weight * step
        self.origin = origin

    def merge(self, other: ExactScatter) -> None:
        """Include the rows of another one."""
        theirs = other.copy()
        theirs.move(self.origin)
        self.weight += theirs.weight
        self.total = self.total + theirs.total
        self.squares += theirs.squares

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.weight *= factor
        self.total = factor * self.total
        self.squares *= factor

    def variances(self) -> NDArray[np.float64]:
        """Return the weighted sums of squares of the columns about their means, shape (d,)."""
        return spread(self.squares.diagonal(), self.total, self.weight)

    def matrix(self, scale: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the scatter (d, d), of columns divided by a scale (d,) if there is one."""
        if not self.weight > 0.0:
            return self.squares.copy()
        matrix = self.squares - np.outer(self.total, self.total / self.weight)
        if scale is not None:
            matrix /= scale
            matrix /= scale[:, None]
        return matrix

    def energy(self, scale: NDArray[np.float64] | None = None) -> float:
        """Return the trace of the scatter."""
        columns = self.variances()
        return float(columns.sum() if scale is None else (columns / scale**2).sum())

    def leading(
        self, k: int, scale: NDArray[np.float64] | None = None, *, prove: bool = True
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the k leading directions (k, d) of the scatter and the sums along them (k,)."""
        return leading_pairs(self.matrix(scale), k, prove=prove)

    def compress(
        self, directions: NDArray[np.float64], scale: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return ``directions @ scatter @ directions.T`` for directions (k, d)."""
        raw = directions if scale is None else directions / scale
        along = raw @ self.total
        inner = raw @ self.squares @ raw.T
        return inner - np.outer(along, along) / self.weight if self.weight > 0.0 else inner

    def copy(self) -> ExactScatter:
        """Return a copy."""
        twin = ExactScatter(0, self.center)
        twin.__dict__.update(self.__dict__)
        twin.squares = self.squares.copy()
        return twin


def spread(
    squares: NDArray[np.float64], total: NDArray[np.float64], weight: float
) -> NDArray[np.float64]:
    """Return sums of squares about the mean from those about a point; 0 where all is rounding."""
    sums = squares - total**2 / weight if weight > 0.0 else squares
    return np.where(sums > ROUNDING * squares, sums, 0.0)
