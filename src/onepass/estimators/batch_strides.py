"""All gradient steps of a chunk in the space of its rows: many batches, one way back.

The iterates of a walk stay in the span of [U; rows]. As coefficients of these, with the Gram matrix
of the rows, which several walks share, a step costs nothing that grows with d. Only what is left at
the end, the iterate and the sum of the iterates, is carried into d dimensions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.estimators.chunk_rows import ChunkRows
from onepass.estimators.walk import Walk
from onepass.frames.frame import RANGE
from onepass.kernels.orthonormal import SOUND, USABLE, add_product, cholesky, solve_right
from onepass.subspace import Subspace

MOST_ROWS = 256  # whose Gram matrix is worth having


def stride(walks: list[Walk], rows: ChunkRows, batch_rows: int) -> None:
    """Let walks with averages learn from a chunk, a batch at a time."""
    most = batch_rows * max(1, MOST_ROWS // batch_rows)
    for start in range(0, len(rows), most):
        _stride(walks, rows.part(start, start + most), batch_rows)


def _stride(walks: list[Walk], rows: ChunkRows, batch_rows: int) -> None:
    """Let walks learn from a few batches."""
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not used
        sound = rows.left >= USABLE[walks[0].state.basis.dtype]
    inner = rows.inner(np.vstack([walk.state.basis for walk in walks]))
    first = 0
    for walk in walks:
        part = inner[:, first : first + walk.state.rank]
        first += walk.state.rank
        start = _Stride(walk, rows, part).take(batch_rows) if sound else 0
        walk.begin()
        for row in range(start, len(rows), batch_rows):
            walk.advance(rows.block(row, min(row + batch_rows, len(rows))))


class _Stride:
    """A walk whose basis is known by its coefficients in [U; rows].

    Parameters
    ----------
    walk : Walk
        With the iterate U at the beginning of the chunk, m directions.
    rows : ChunkRows
        The b rows of the chunk.
    inner : ndarray of shape (b, m)
        Their products with U.
    """

    def __init__(self, walk: Walk, rows: ChunkRows, inner: NDArray[np.float64]) -> None:
        self.walk, self.rows = walk, rows
        basis = walk.state.basis
        self.m = m = len(basis)
        self.gram = np.empty((m + len(rows),) * 2)
        self.gram[:m, :m] = basis @ basis.T
        self.gram[m:, :m], self.gram[:m, m:], self.gram[m:, m:] = inner, inner.T, rows.gram

    def take(self, batch_rows: int) -> int:
        """Take batches while the Gram matrix has the digits for it; return the rows taken."""
        m, dtype = self.m, self.walk.state.basis.dtype
        state = Subspace(np.eye(m), self.walk.state.weights, self.walk.state.rest)
        iterates: list[Subspace] = []
        known = False  # that the basis is orthonormal
        row = 0
        while row < len(self.rows):
            batch = slice(m + row, m + min(row + batch_rows, len(self.rows)))
            rank = state.rank
            if rank + batch_rows >= self.walk.rule.d:  # the engine takes all dimensions then
                break
            small = np.empty((rank + batch.stop - batch.start,) * 2)
            if not known:
                small[:rank, :rank] = self._inner(state.basis)
            small[rank:, :rank] = self.gram[batch, : batch.start] @ state.basis.T
            small[rank:, rank:] = gradient = self.gram[batch, batch]
            coordinates = np.empty((len(gradient), len(small)))
            given, energy = rank if known else 0, np.empty(len(gradient))
            share, good = cholesky(small, given, *RANGE[dtype], USABLE[dtype], coordinates, energy)
            if good < len(small):
                break
            known = share >= SOUND[dtype]
            iterates.append(state)
            state = self._step(state, gradient, coordinates, small, given)
            row = batch.stop - m
        self._finish(state, iterates)
        return row

    def _step(
        self,
        state: Subspace,
        gradient: NDArray[np.float64],
        coordinates: NDArray[np.float64],
        factor: NDArray[np.float64],
        known: int,
    ) -> Subspace:
        """Take one step with a batch, given by its Gram matrix and coordinates in the frame.

        The first `known` rows of the factor are those of the identity.
        """
        count, rank = len(coordinates), state.rank
        size = np.abs(gradient).max()  # squares stay in range
        eta = self.walk.next_step(size * float(np.linalg.norm(gradient / (size or 1.0))) / count)
        small = Subspace(np.eye(rank, len(factor)), state.weights, state.rest)
        moved = self.walk.rule.batch(small, coordinates, eta / count)
        turn = solve_right(np.ascontiguousarray(moved.basis, dtype=np.float64), factor, known)
        basis = np.hstack([turn[:, :rank] @ state.basis, turn[:, rank:]])
        return Subspace(basis, moved.weights, moved.rest)

    def _inner(self, coefficients: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the Gram matrix of what coefficients (j, n) of the first n rows stand for."""
        n = coefficients.shape[1]
        return coefficients @ self.gram[:n, :n] @ coefficients.T

    def _finish(self, state: Subspace, iterates: list[Subspace]) -> None:
        """Carry the last iterate and the sum of those before back into d dimensions."""
        walk = self.walk
        if not iterates:
            return
        total = self._sum([walk.rule.primal(iterate) for iterate in iterates])
        wanted = np.vstack([state.basis, total.basis[:, : state.basis.shape[1]]])
        lifted = self._carry(_wide(wanted, len(self.gram)))
        walk.state = Subspace(lifted[: state.rank].copy(), state.weights, state.rest)
        assert walk.average is not None
        summands = [Subspace(lifted[state.rank :], total.weights, total.rest)]
        walk.average.add(summands, len(iterates))

    def _sum(self, iterates: list[Subspace]) -> Subspace:
        """Return the sum of iterates, truncated to the rank of the average."""
        assert self.walk.average is not None
        n = len(self.gram)
        rest = sum(iterate.rest for iterate in iterates)
        factor = np.vstack(
            [
                _wide(np.sqrt(np.maximum(s.weights - s.rest, 0.0))[:, None] * s.basis, n)
                for s in iterates
            ]
        )
        if not len(factor):
            return Subspace(factor, np.zeros(0), rest)
        values, vectors = np.linalg.eigh(self._inner(factor))
        kept = np.flatnonzero(values > 1e-14 * values[-1])[::-1][: self.walk.average.max_rank]
        turn = (vectors[:, kept] / np.sqrt(values[kept])).T
        return Subspace(turn @ factor, values[kept] + rest, rest)

    def _carry(self, coefficients: NDArray[np.float64]) -> NDArray[np.floating]:
        """Return ``coefficients @ [U; rows]``."""
        basis = self.walk.state.basis
        lifted = self.rows.combine(coefficients[:, self.m :])
        if self.m:
            before = np.ascontiguousarray(coefficients[:, : self.m])
            add_product(before, basis.astype(np.float64, copy=False), lifted)
        return lifted.astype(basis.dtype, copy=False)


def _wide(coefficients: NDArray[np.floating], columns: int) -> NDArray[np.float64]:
    """Return coefficients with columns of zeros on the right."""
    wide = np.zeros((len(coefficients), columns))
    wide[:, : coefficients.shape[1]] = coefficients
    return wide
