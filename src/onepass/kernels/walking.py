"""The way of a rule through many rows, compiled as a whole.

What `onepass.engine` does block by block, for rows that are well behaved: where every row of a
block keeps enough of its energy outside of the rows before it. Other blocks are left to the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit
from onepass.kernels.orthonormal import cholesky, solve_right
from onepass.kernels.tiles import add_gram, combine
from onepass.kernels.vectors import whole_vectors


@jit
def _underflow(rows: NDArray[np.floating], energy: NDArray[np.float64]) -> bool:
    """Whether a row that is not zero has an energy of zero."""
    found = False
    for t in range(len(rows)):
        found = found or (energy[t] == 0.0 and bool(np.any(rows[t])))
    return found


@jit
def _pace(
    steps: NDArray[np.float64], over: float, seen: float, energy: NDArray[np.float64]
) -> float:
    """Write steps where they are `over` the norms seen; return these."""
    for t in range(len(energy)):
        seen = math.hypot(seen, energy[t])
        if over > 0.0:
            steps[t] = over / seen if seen > 0.0 else 0.0
    return seen


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
        over: float,
        seen: float,
        limits: tuple[float, float, float],
        energies: NDArray[np.float64],
        captured: NDArray[np.float64],
        parameters: tuple[Any, ...],
    ) -> tuple[int, int, float, float, bool]:
        """Take rows until a block is not well behaved.

        Parameters
        ----------
        rows : ndarray of shape (r, d)
            Finite or not.
        size : int
            How many of them are a block.
        basis, spare : ndarray of shape (most, d)
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
        over : float
            If positive, the steps are this over `seen`, and are written to `steps`.
        seen : float
            The root of the sum of the squared norms of all gradients so far.
        limits : tuple of float
            The range of energies, and the share of it that a row must keep.
        energies : ndarray of shape (r,)
            Receives the squared norms of the rows.
        captured : ndarray of shape (r,)
            Receives the energies in the k leading directions, before each row was learned from.
        parameters : tuple
            Of the rule.

        Returns
        -------
        taken, rank, rest, seen
            The number of rows taken, and what became of the state.
        swapped : bool
            Whether the basis is in `spare`.
        """
        r, d = rows.shape
        smallest, largest, share = limits
        nothing = np.empty((0, 0))
        taken, swapped, b = 0, False, size
        while taken < r:
            block = rows[taken : taken + b]
            b = len(block)
            n = rank + b
            if rank == 0 or n >= d:
                break
            gram = np.zeros((n, n))
            if not sure:
                gram[:rank, :rank] = np.dot(basis[:rank], basis[:rank].T)
            add_gram(basis, rank, block, gram)
            known = rank if sure else 0
            ends = taken + b
            coordinates, energy = np.zeros((b, whole_vectors(n))), energies[taken:ends]
            _, good = cholesky(gram, known, smallest, largest, share, coordinates, energy)
            if good < n:  # the rows before that are fine, and it may be fine itself after these
                if good <= rank:
                    break
                b = good - rank
                continue
            if _underflow(block, energy):
                break
            seen = _pace(steps[taken:ends], over, seen, energy)
            V = np.zeros((min(most, n) + 1, whole_vectors(n)))
            for i in range(rank):
                V[i, i] = 1.0
            after, rest, _ = kernel(
                V, weights, rank, rest, coordinates, rank, steps[taken:ends],
                captured[taken:ends], nothing, parameters,
            )  # fmt: skip
            V = np.ascontiguousarray(V[:after, :n])
            combine(solve_right(V, gram, known).astype(rows.dtype), basis, rank, block, spare)
            basis, spare = spare, basis
            rank, taken, sure, swapped, b = after, ends, True, not swapped, size
        return taken, rank, rest, seen, swapped

    return walk


def gram_walker(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same loop for rows of which only the Gram matrix is known.

    Sparse rows are cheap, and a basis of d dense columns is not: it is left as it is for many
    blocks, and what becomes of it is kept as a combination of the old basis and the rows.
    """

    @jit
    def walk(
        gram: NDArray[np.float64],
        size: int,
        weights: NDArray[np.float64],
        rank: int,
        rest: float,
        most: int,
        steps: NDArray[np.float64],
        over: float,
        seen: float,
        limits: tuple[float, float, float],
        energies: NDArray[np.float64],
        captured: NDArray[np.float64],
        parameters: tuple[Any, ...],
    ) -> tuple[int, NDArray[np.float64], float, float]:
        """Take rows until a block is not well behaved.

        Parameters
        ----------
        gram : ndarray of shape (m + r, m + r)
            The lower triangle of the Gram matrix of the basis, which is taken for orthonormal, and
            the rows.
        size : int
            How many rows are a block.
        weights, rank, rest, most, steps, over, seen, limits, energies, captured, parameters
            As for `walker`.

        Returns
        -------
        taken, combination, rest, seen
            The number of rows taken; the new basis, whose coefficients for the old one and the
            rows are the rows of `combination`, of shape (m', m + taken); the new rest and norms.
        """
        smallest, largest, share = limits
        nothing = np.empty((0, 0))
        combination, taken, front, b = np.eye(rank), 0, rank, size
        while rank > 0 and front + taken < len(gram):
            reached = front + taken
            b = min(b, len(gram) - reached)
            ends, n = taken + b, rank + b
            across = np.ascontiguousarray(gram[reached : reached + b, :reached])
            small = np.zeros((n, n))
            small[rank:, :rank] = np.dot(across, combination.T)
            small[rank:, rank:] = gram[reached : reached + b, reached : reached + b]
            coordinates, energy = np.zeros((b, whole_vectors(n))), energies[taken:ends]
            _, good = cholesky(small, rank, smallest, largest, share, coordinates, energy)
            if good < n:
                if good <= rank:
                    break
                b = good - rank
                continue
            seen = _pace(steps[taken:ends], over, seen, energy)
            V = np.zeros((min(most, n) + 1, whole_vectors(n)))
            for i in range(rank):
                V[i, i] = 1.0
            after, rest, _ = kernel(
                V, weights, rank, rest, coordinates, rank, steps[taken:ends],
                captured[taken:ends], nothing, parameters,
            )  # fmt: skip
            V = np.ascontiguousarray(V[:after, :n])
            solved = solve_right(V, small, rank)
            longer = np.empty((after, reached + b))
            longer[:, :reached] = np.dot(np.ascontiguousarray(solved[:, :rank]), combination)
            longer[:, reached:] = solved[:, rank:]
            combination, rank, taken, b = longer, after, ends, size
        return taken, combination, rest, seen

    return walk
