"""What second moments have in common, whether they are exact or a sketch."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

from onepass.moments.chunk import Chunk, Scale
from onepass.moments.krylov import Eigenpairs
from onepass.persistence.fields import State
from onepass.precision import Doubles


class Moment(State):
    """Weight, mean and scatter of rows of d columns, about the mean or about zero.

    A `scale` (d,) is what columns are divided by when they are read; None where they are not.

    Attributes
    ----------
    is_additive : bool
        Whether the sum of two of them is the second moment of the rows of both.
    d : int
    center : bool
        Whether it is about the mean.
    weight : float
    """

    is_additive: ClassVar[bool]
    d: int
    center: bool
    weight: float

    @property
    @abstractmethod
    def mean(self) -> Doubles:
        """The mean of the rows, shape (d,)."""

    @abstractmethod
    def nearer_origin(self) -> Doubles:
        """Return the point (d,) that the next rows should be taken about, to lose no digits."""

    @abstractmethod
    def add(self, rows: Chunk, weights: Doubles) -> None:
        """Include rows with weights (r,)."""

    @abstractmethod
    def merge(self, other: Self, scale: Scale = None) -> None:
        """Include the rows of another one."""

    @abstractmethod
    def column_sums(self) -> Doubles:
        """Return the weighted sums of squares of the columns about their means, shape (d,)."""

    @abstractmethod
    def energy(self, scale: Scale = None) -> float:
        """Return the trace of the scatter."""

    @abstractmethod
    def leading(self, k: int, scale: Scale = None, start: Doubles | None = None) -> Eigenpairs:
        """Return at most k leading directions (k, d) of the scatter and the sums along them (k,).

        `start` (m, d) are directions near these, if some are known.
        """

    @abstractmethod
    def improved(self, directions: Doubles, scale: Scale = None) -> Eigenpairs:
        """Return about the leading directions (k, d) and sums (k,), from previous directions."""

    @abstractmethod
    def spectrum(self, scale: Scale = None) -> Doubles:
        """Return the sums along all directions that are known, largest first."""

    @abstractmethod
    def times(self, columns: Doubles, scale: Scale = None) -> Doubles:
        """Return ``scatter @ columns``, for columns (d, m)."""

    @abstractmethod
    def compress(self, directions: Doubles, scale: Scale = None) -> Doubles:
        """Return ``directions @ scatter @ directions.T`` for orthonormal directions (k, d)."""
