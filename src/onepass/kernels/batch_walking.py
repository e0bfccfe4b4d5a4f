"""Many gradient steps with batches of rows, compiled as a whole: what a rule does in `batch`.

In the space of the rows, for rows that are known by their Gram matrix, until a batch comes whose
rows keep too little of their energy outside of those before them. Or in all d dimensions, where
these are few.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.block_eigen import block_eigen
from onepass.kernels.compiling import jit
from onepass.kernels.orthonormal import cholesky, solve_right


@jit
def _norm(matrix: NDArray[np.float64]) -> float:
    """Return the Frobenius norm, whose square may be out of range."""
    size = np.abs(matrix).max()
    if size == 0.0:
        return 0.0
    squares = 0.0
    for i in range(len(matrix)):
        for j in range(len(matrix)):
            squares += (matrix[i, j] / size) ** 2
    return size * math.sqrt(squares)


def batch_walker(project: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compiled loop over batches for the projection of a rule.

    Parameters
    ----------
    project : compiled function
        ``project(size, values, rest, parameters)`` projects descending values[:size] in place, with
        one place more for the complement, and returns the new rank and rest.
    """

    @jit
    def walk(
        gram: NDArray[np.float64],
        batch_rows: int,
        d: int,
        over: float,
        seen: float,
        limits: tuple[float, float, float, float],
        parameters: tuple[Any, ...],
        bases: NDArray[np.float64],
        weights: NDArray[np.float64],
        ranks: NDArray[np.int64],
        rests: NDArray[np.float64],
    ) -> tuple[int, float]:
        """Take steps with batches of rows.

        Parameters
        ----------
        gram : ndarray of shape (n, n)
            Of the m directions of the state and the rows after them.
        batch_rows : int
            Rows of a batch; the last one may have fewer.
        d : int
            The dimension of the space.
        over, seen : float
            A step is the first over the root of the sum of squared norms of all gradients; that is
            the second at the beginning.
        limits : tuple of float
            Of energies, the least and the largest; of the share of its energy that a row must have
            outside of those before it; and of the share from which on the next basis is
            orthonormal.
        parameters : tuple
            Of the rule.
        bases : ndarray of shape (s + 1, most, n)
            Coefficients of the bases before each of the s steps and after the last: the first one
            is given, zeros are filled in.
        weights : ndarray of shape (s + 1, most)
        ranks : ndarray of shape (s + 1,)
        rests : ndarray of shape (s + 1,)

        Returns
        -------
        steps : int
            How many were taken.
        seen : float
        """
        m, n = ranks[0], len(gram)
        smallest, largest, enough, sound = limits
        known = 0  # how many directions of the basis are orthonormal
        for step in range(len(ranks) - 1):
            begin = m + step * batch_rows
            end = min(begin + batch_rows, n)
            rank, rows = ranks[step], end - begin
            if rank + batch_rows >= d:  # all dimensions are taken then, which is not done here
                return step, seen
            basis = bases[step, :rank, :begin].copy()
            small = np.empty((rank + rows, rank + rows))
            if known == 0 and rank > 0:
                small[:rank, :rank] = np.dot(np.dot(basis, gram[:begin, :begin].copy()), basis.T)
            small[rank:, :rank] = np.dot(gram[begin:end, :begin].copy(), basis.T)
            gradient = gram[begin:end, begin:end].copy()
            small[rank:, rank:] = gradient
            coordinates, energy = np.empty((rows, rank + rows)), np.empty(rows)
            share, good = cholesky(small, known, smallest, largest, enough, coordinates, energy)
            if good < rank + rows:
                return step, seen
            seen = math.hypot(seen, _norm(gradient) / rows)
            gain = over / seen / rows if seen > 0.0 else 0.0
            lifted = weights[step, :rank] - rests[step]
            found, vectors = block_eigen(
                np.eye(rank, rank + rows), lifted, coordinates, gain, bases.shape[1]
            )
            values = np.zeros(len(found) + 1)
            values[: len(found)] = found + rests[step]
            kept, rests[step + 1] = project(len(found), values, rests[step], parameters)
            turn = solve_right(vectors[:kept], small, known)
            known = kept if share >= sound else 0
            ranks[step + 1] = kept
            weights[step + 1, :kept] = values[:kept]
            bases[step + 1, :kept, :begin] = np.dot(turn[:, :rank].copy(), basis)
            bases[step + 1, :kept, begin:end] = turn[:, rank:]
        return len(ranks) - 1, seen

    return walk


def whole_walker(project: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compiled loop over batches in all d dimensions; `project` as above."""

    @jit
    def walk(
        rows: NDArray[np.float64],
        batch_rows: int,
        over: float,
        seen: float,
        parameters: tuple[Any, ...],
        most: int,
        basis: NDArray[np.float64],
        weights: NDArray[np.float64],
        rest: float,
    ) -> tuple[Any, ...]:
        """Take steps with batches of rows.

        Parameters
        ----------
        rows : ndarray of shape (b, d)
        batch_rows, over, seen, parameters
            As above.
        most : int
            The largest rank that is kept.
        basis, weights, rest
            The iterate before the rows.

        Returns
        -------
        basis, weights, rest
            The iterate after them.
        total : ndarray of shape (d, d)
        total_rest : float
            The sum of the iterates held before each step is the first plus that times the identity.
        seen : float
        """
        total, total_rest = np.zeros((rows.shape[1], rows.shape[1])), 0.0
        for start in range(0, len(rows), batch_rows):
            batch = rows[start : start + batch_rows]
            count = len(batch)
            lifted = weights - rest
            if len(basis):
                total += np.dot((basis.T * lifted), basis)
            total_rest += rest
            seen = math.hypot(seen, _norm(np.dot(batch, batch.T)) / count)
            gain = over / seen / count if seen > 0.0 else 0.0
            found, vectors = block_eigen(basis, lifted, batch, gain, most)
            values = np.zeros(len(found) + 1)
            values[: len(found)] = found + rest
            kept, rest = project(len(found), values, rest, parameters)
            basis, weights = vectors[:kept].copy(), values[:kept].copy()
        return basis, weights, rest, total, total_rest, seen

    return walk
