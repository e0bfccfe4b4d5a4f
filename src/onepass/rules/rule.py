"""What an algorithm is to the engine: a few moves of a `Subspace` in the small space."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.vectors import whole_vectors
from onepass.subspace import Subspace, add_up


class Rule(ABC):
    """An algorithm for k directions in d dimensions.

    A rule is asked to start, then to take rows one by one or a batch at a time. The state that it
    gets and gives back is a `Subspace` whose basis is written in the frame of the block.
    """

    k: int
    d: int
    # Changes V (m', n) and weights in place by every row; gets V, weights, rank, rest, then the
    # last four parameters of `rows`, `captured` before `total`, and the rule's own parameters.
    # V, rows and `total` are filled up with columns of zeros to whole vectors.
    # Returns rank, rest and the sum of the rests.
    kernel: ClassVar[Callable[..., tuple[int, float, float]]]
    # The kernel's way through many rows, and that by their Gram matrix: `kernels.walking`.
    walk: ClassVar[Callable[..., Any]]
    gram_walk: ClassVar[Callable[..., Any]]

    def copy(self) -> Self:
        """Return a rule that goes on by itself."""
        return copy.deepcopy(self)

    def start(self, dtype: np.dtype) -> Subspace:
        """Return the state before the first row, in all d dimensions: the paper starts at 0."""
        return Subspace.empty(self.d, dtype=dtype)

    def primal(self, state: Subspace) -> Subspace:
        """Return the iterate M that a state stands for: itself, but for mirror descent."""
        return state

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        """Return one state for several streams: the average of the iterates, which is feasible."""
        parts = [self.primal(s).scaled(share) for s, share in zip(states, shares, strict=True)]
        return add_up(parts, self.room(self.d, 0))

    def adopt(self, other: Self) -> None:
        """Take over what the rule of another stream has learned about itself: usually nothing."""
        return

    @abstractmethod
    def diameter(self) -> float:
        """Return the diameter of the feasible set in the Frobenius norm, for scale-free steps."""

    @abstractmethod
    def room(self, rank: int, rows: int) -> int:
        """Return the largest rank that can be reached from `rank` with so many rows."""

    @property
    @abstractmethod
    def parameters(self) -> tuple[Any, ...]:
        """What the kernel has to know."""

    @abstractmethod
    def batch(self, state: Subspace, rows: NDArray[np.float64], step: float) -> Subspace:
        """Take one step with the gradient rows' rows."""

    def rows(
        self,
        state: Subspace,
        rows: NDArray[np.float64],
        width: int,
        steps: NDArray[np.float64],
        total: NDArray[np.float64],
    ) -> tuple[Subspace, NDArray[np.float64], float]:
        """Take rows one by one.

        Parameters
        ----------
        state : Subspace
            Its basis has shape (m, n), n the dimension of the small space.
        rows : ndarray of shape (b, n)
            Coordinates of the rows. Row t is zero from column width + t + 1 on.
        width : int
            How many coordinates can be non-zero before the first row.
        steps : ndarray of shape (b,)
            The step of every row.
        total : ndarray of shape (n, n) or (0, 0)
            The sum of the low-rank parts of the iterates held before each step is added to its
            upper triangle, unless it is empty.

        Returns
        -------
        state : Subspace
        captured : ndarray of shape (b,)
            The energy of every row in the k leading directions, before it was learned from.
        rests : float
            The sum of the `rest` of the iterates, where `total` is not empty.
        """
        room, n = self.room(state.rank, len(rows)) + 1, rows.shape[1]
        columns = whole_vectors(n)
        V, padded = np.zeros((room, columns)), np.zeros((len(rows), columns))
        V[: state.rank, :n], padded[:, :n] = state.basis, rows
        iterates = np.zeros((columns, columns) if total.size else (0, 0))
        weights = np.zeros(room)
        weights[: state.rank] = state.weights
        captured = np.empty(len(rows))
        rank, rest, rests = self.kernel(
            V, weights, state.rank, float(state.rest), padded, width, steps, captured, iterates,
            self.parameters,
        )  # fmt: skip
        total += iterates[: len(total), : len(total)]
        basis = np.ascontiguousarray(V[:rank, :n])
        return Subspace(basis, weights[:rank], rest), captured, rests
