"""The way of a rule through many dense rows, compiled as a whole.

What `onepass.engine` does block by block, for rows that are well behaved: where every row of a
block keeps enough of its energy outside of the rows before it. Other blocks are left to the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit
from onepass.kernels.orthonormal import cholesky, solve_right
from onepass.kernels.small_space import follow

Motion = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


@jit
def _underflow(rows: NDArray[np.floating], energy: NDArray[np.float64]) -> bool:
    """Whether a row that is not zero has an energy of zero."""
    found = False
    for t in range(len(rows)):
        found = found or (energy[t] == 0.0 and bool(np.any(rows[t])))
    return found


def walker(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compiled loop over blocks for the kernel of a rule, see `rules.rule`."""

    @jit
    def walk(
        rows: NDArray[np.floating],
        size: int,
        basis: NDArray[np.floating],
        spare: NDArray[np.floating],
        weights: NDArray[np.float64],
        rank: int,
        rest: float,
        most: int,
        sure: bool,
        steps: NDArray[np.float64],
        limits: tuple[float, float, float],
        captured: NDArray[np.float64],
        motion: Motion,
        parameters: tuple[Any, ...],
    ) -> tuple[int, int, float, Motion, bool]:
        """Take rows until a block is not well behaved.

        Parameters
        ----------
        rows : ndarray of shape (r, d)
            Finite or not.
        size : int
            How many of them are a block.
        basis, spare : ndarray of shape (most + size, d)
            The first `rank` rows of `basis` are that of the state; both are overwritten.
        weights : ndarray of shape (most,)
            The weights of the state; overwritten.
        rank, rest : int, float
            Of the state.
        most : int
            The largest rank that can be reached.
        sure : bool
            Whether the basis is known to be orthonormal.
        steps : ndarray of shape (r,)
        limits : tuple of float
            The range of energies, and the share of it that a row must keep.
        captured : ndarray of shape (r,)
            Receives the energies in the k leading directions, before each row was learned from.
        motion : tuple of three ndarray
            How the basis moved so far, see `engine.Motion`; empty arrays if not wanted.
        parameters : tuple
            Of the rule.

        Returns
        -------
        taken, rank, rest, motion
            The number of rows taken, and what became of the state.
        swapped : bool
            Whether the basis is in `spare`.
        """
        r, d = rows.shape
        turn, sums, energies = motion
        smallest, largest, share = limits
        nothing = np.empty((0, 0))
        taken, swapped = 0, False
        while taken < r:
            block = rows[taken : taken + size]
            b = len(block)
            n = rank + b
            if rank == 0 or n >= d:
                break
            stack = basis[:n]
            stack[rank:] = block
            gram = np.zeros((n, n))
            if not sure:
                gram[:rank, :rank] = np.dot(stack[:rank], stack[:rank].T)
            gram[rank:] = np.dot(block, stack.T)
            known = rank if sure else 0
            coordinates, energy = np.empty((b, n)), np.empty(b)
            kept = cholesky(gram, known, smallest, largest, coordinates, energy)
            if not kept >= share or _underflow(block, energy):
                break
            V = np.zeros((min(most, n) + 1, n))
            for i in range(rank):
                V[i, i] = 1.0
            ends = taken + b
            after, rest, _ = kernel(
                V, weights, rank, rest, coordinates, rank, steps[taken:ends],
                captured[taken:ends], nothing, parameters,
            )  # fmt: skip
            V = V[:after]
            if len(turn):
                turn, sums, energies = follow(V, coordinates, energy, turn, sums, energies)
            np.dot(solve_right(V, gram, known).astype(rows.dtype), stack, spare[:after])
            basis, spare = spare, basis
            rank, taken, sure, swapped = after, ends, True, not swapped
        return taken, rank, rest, (turn, sums, energies), swapped

    return walk
