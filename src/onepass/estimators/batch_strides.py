"""All gradient steps of a chunk in the space of its rows: many batches, one way back.

The iterates of a walk stay in the span of [U; rows]. As coefficients of these, with the Gram matrix
of the rows, which several walks share, a step costs nothing that grows with d. Only what is left at
the end, the iterate and the sum of the iterates, is carried into d dimensions. Where these are few,
all steps are taken in them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.estimators.chunk_rows import ChunkRows
from onepass.estimators.walk import Walk
from onepass.frames import RANGE, dense_rows
from onepass.kernels.orthonormal import SOUND, USABLE, add_product
from onepass.kernels.symmetric import leading_eigenpairs
from onepass.rules.msg import MSG
from onepass.subspace import Subspace

MOST_ROWS = 256  # whose Gram matrix is worth having
NARROW = 2  # times the directions of a state and a batch: up to so many columns it is not


def stride(walks: list[Walk], rows: ChunkRows, batch_rows: int) -> None:
    """Let walks with averages learn from a chunk, a batch at a time."""
    most = batch_rows * max(1, MOST_ROWS // batch_rows)
    for start in range(0, len(rows), most):
        _stride(walks, rows.part(start, start + most), batch_rows)


def _stride(walks: list[Walk], rows: ChunkRows, batch_rows: int) -> None:
    """Let walks learn from a few batches."""
    rule = walks[0].rule
    if rule.d <= NARROW * (rule.room(rule.d, 0) + batch_rows):
        dense = dense_rows(rows.block(0, len(rows)))
        for walk in walks:
            _stride_in_whole(walk, dense, batch_rows)
        return
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


def _stride_in_whole(walk: Walk, rows: NDArray[np.float64], batch_rows: int) -> None:
    """Let a walk learn from a few batches in all dimensions."""
    state, rule, average, dtype = walk.state, walk.rule, walk.average, walk.state.basis.dtype
    assert isinstance(rule, MSG)
    assert average is not None
    basis, weights, rest, total, total_rest, walk.gradients = rule.whole_walk(
        rows, batch_rows, walk.schedule.over_norms(rule.diameter()), walk.gradients,
        rule.parameters, rule.room(state.rank, len(rows)), state.basis.astype(np.float64),
        state.weights, float(state.rest),
    )  # fmt: skip
    steps = -(-len(rows) // batch_rows)
    walk.steps_taken += steps
    walk.state = Subspace(basis.astype(dtype), weights, rest)
    walk.begin()
    average.add_matrix(total, total_rest, steps)


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
        walk, m, n = self.walk, self.m, len(self.gram)
        state, rule, dtype = walk.state, walk.rule, walk.state.basis.dtype
        assert isinstance(rule, MSG)
        most, steps = max(rule.room(m, n), m), -(-(n - m) // batch_rows)
        bases, weights = np.zeros((steps + 1, most, n)), np.zeros((steps + 1, most))
        ranks, rests = np.zeros(steps + 1, np.int64), np.zeros(steps + 1)
        bases[0, :m, :m], weights[0, :m] = np.eye(m), state.weights
        ranks[0], rests[0] = m, state.rest
        over = walk.schedule.over_norms(rule.diameter())
        limits = (*RANGE[dtype], USABLE[dtype], SOUND[dtype])
        done, walk.gradients = rule.batch_walk(
            self.gram, batch_rows, rule.d, over, walk.gradients, limits, rule.parameters,
            bases, weights, ranks, rests,
        )  # fmt: skip
        walk.steps_taken += done
        if done:
            iterates = [
                Subspace(bases[t, : ranks[t]], weights[t, : ranks[t]], float(rests[t]))
                for t in range(done + 1)
            ]
            self._finish(iterates.pop(), iterates)
        return min(done * batch_rows, n - m)

    def _finish(self, state: Subspace, iterates: list[Subspace]) -> None:
        """Carry the last iterate and the sum of those before back into d dimensions."""
        walk = self.walk
        total = self._sum([walk.rule.primal(iterate) for iterate in iterates])
        lifted = self._carry(np.vstack([state.basis, total.basis]))
        walk.state = Subspace(lifted[: state.rank].copy(), state.weights.copy(), state.rest)
        assert walk.average is not None
        summands = [Subspace(lifted[state.rank :], total.weights, total.rest)]
        walk.average.add(summands, len(iterates))

    def _sum(self, iterates: list[Subspace]) -> Subspace:
        """Return the sum of iterates, truncated to the rank of the average."""
        assert self.walk.average is not None
        rest = sum(iterate.rest for iterate in iterates)
        factor = np.vstack(
            [np.sqrt(np.maximum(s.weights - s.rest, 0.0))[:, None] * s.basis for s in iterates]
        )
        if not len(factor):
            return Subspace(factor, np.zeros(0), rest)
        most = self.walk.average.max_rank
        values, vectors = leading_eigenpairs(factor @ self.gram @ factor.T, most)
        kept = values > 1e-14 * values[0]
        turn = vectors[kept] / np.sqrt(values[kept])[:, None]
        return Subspace(turn @ factor, values[kept] + rest, rest)

    def _carry(self, coefficients: NDArray[np.float64]) -> NDArray[np.floating]:
        """Return ``coefficients @ [U; rows]``."""
        basis = self.walk.state.basis
        lifted = self.rows.combine(coefficients[:, self.m :])
        if self.m:
            before = np.ascontiguousarray(coefficients[:, : self.m])
            add_product(before, basis.astype(np.float64, copy=False), lifted)
        return lifted.astype(basis.dtype, copy=False)
