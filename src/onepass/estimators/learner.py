"""What an estimator has learned, and how rows are added to it.

Rows are taken in chunks of a fixed number of rows, counted from the first: rows wait until there
are enough of them, and reading a result takes what waits on a copy. How the rows are split into
calls, and whether results are looked at in between, therefore changes not a single bit.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass.averaging import Average
from onepass.engine import Engine
from onepass.estimators.captured import Score
from onepass.estimators.plan import Plan
from onepass.estimators.waiting import Waiting
from onepass.frames import Block
from onepass.kernels.threads import threads_for
from onepass.moments import Mean, SecondMoment
from onepass.rules.rule import Rule
from onepass.schedules import Schedule
from onepass.subspace import Subspace

T = TypeVar("T")

JUDGE_AFTER = 1.5  # growth of the stream after which directions to score by are found anew


class Learner:
    """A rule on its way through a stream of rows, and the moments of these rows.

    Parameters
    ----------
    plan : Plan
    k : int
        The number of directions.
    second : SecondMoment
        Empty.
    rule : Rule or None
        The algorithm; None if the second moment is all that is wanted.
    schedule : Schedule
        Its steps.
    batch : bool
        Whether a block is one gradient step.
    average : Average or None
        Empty, if the iterates are to be averaged.
    seed : int
        For what is random about the results.
    """

    _settled: Learner | None
    _shown: Any

    def __init__(
        self,
        plan: Plan,
        k: int,
        second: SecondMoment,
        rule: Rule | None,
        schedule: Schedule,
        batch: bool,
        average: Average | None,
        seed: int,
    ) -> None:
        self.plan, self.k, self.second, self.rule = plan, k, second, rule
        self.schedule = schedule
        self.average, self.seed = average, seed
        self.mean = Mean(plan.d)
        self.score = Score()
        self.rows_seen = 0
        self.steps_taken = 0
        self.judges: NDArray[np.floating] = np.zeros(
            (0, plan.d)
        )  # what rows are scored by where there is no rule
        self.judged = 0.0  # the weight of the rows when they were found
        self.gradients = 0.0  # root of the sum of the squared norms of all gradients
        self.waiting = Waiting(plan.chunk_rows, plan.d, plan.dtype, plan.is_sparse)
        if rule is not None:
            self.state = rule.start(plan.dtype)
        self.batch = batch
        self._equip()

    def push(self, rows: Any, weights: NDArray[np.float64] | None = None) -> None:
        """Add rows of shape (r, d), checked already: finite, of the plan's dtype and kind."""
        self._forget()
        if weights is not None:
            present = weights > 0.0
            rows, weights = rows[present], weights[present]
        total, start = rows.shape[0], 0
        self.rows_seen += total
        while start < total:
            stop = min(total, start + self.plan.chunk_rows - self.waiting.count)
            part = rows[start:stop] if stop - start < total else rows
            given = None if weights is None else weights[start:stop]
            if stop - start == self.plan.chunk_rows:
                self._absorb(part, np.ones(stop - start) if given is None else given)
            else:
                self.waiting.add(part, given)
                if self.waiting.count == self.plan.chunk_rows:
                    self._absorb(*self.waiting.rows())
                    self.waiting.clear()
            start = stop

    def settled(self) -> Learner:
        """Return a learner for which no row waits: itself, or a copy that has taken them."""
        if not self.waiting.count:
            return self
        if self._settled is None:
            twin = self.copy()
            twin._absorb(*twin.waiting.rows())
            twin.waiting.clear()
            self._settled = twin
        return self._settled

    def shown(self, show: Callable[[Learner], T]) -> T:
        """Return show(self.settled()), worked out once until more rows come."""
        if self._shown is None:
            self._shown = show(self.settled())
        return self._shown

    def _equip(self) -> None:
        """Make what is not part of the state: the engine, and results that were looked at."""
        self._forget()
        if self.rule is not None:
            self._engine = Engine(self.rule, self.batch, self.average is not None)

    def _forget(self) -> None:
        """Forget results that were looked at."""
        self._settled = self._shown = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again, so that looking at results changes nothing."""
        return {name: value for name, value in self.__dict__.items() if name[0] != "_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._equip()

    def copy(self) -> Learner:
        """Return a copy that goes on by itself."""
        twin = Learner.__new__(Learner)
        state = self.__getstate__()
        for name in ("mean", "second", "score", "waiting", "average"):
            if state[name] is not None:
                state[name] = state[name].copy()
        if self.rule is not None:
            state["rule"] = copy.deepcopy(self.rule)
            state["state"] = Subspace(
                self.state.basis.copy(), self.state.weights.copy(), self.state.rest
            )
        twin.__setstate__(state)
        return twin

    def iterate(self) -> Subspace:
        """Return the current iterate M."""
        assert self.rule is not None
        primal = self.rule.primal(self.state)
        return Subspace(primal.basis.copy(), primal.weights.copy(), primal.rest)

    def _absorb(self, rows: Any, weights: NDArray[np.float64]) -> None:
        """Take a chunk, or what there is of it at the end."""
        before = self.mean.copy()
        with threads_for(self.plan.d):
            for start in range(0, rows.shape[0], self.plan.block_rows):
                stop = start + self.plan.block_rows
                self._take(rows[start:stop], weights[start:stop])
            self.second.update(rows, weights, before, self.mean)

    def _take(self, rows: Any, weights: NDArray[np.float64]) -> None:
        """Take a block."""
        block = self._block(rows, weights)
        if self.rule is None:
            self._judge(block)
        if self.plan.center:
            self.mean.update(rows, weights)
        else:
            self.mean.weight += float(weights.sum())
        if self.rule is None:
            return
        leading = self.average.leading(self.k) if self.average else None
        inner = block.inner(leading) if leading is not None else None
        outcome = self._engine.advance(self.state, block, self._steps)
        self.state = outcome.state
        captured = outcome.captured if inner is None else np.einsum("ij,ij->i", inner, inner)
        if self.k == self.plan.d:
            captured = outcome.energy
        self.score.add(captured, outcome.energy)
        self.second.add_energy(float(outcome.energy.sum()))
        if self.average is not None:
            self.average.add(outcome.iterates, 1 if self.batch else len(block))

    def _judge(self, block: Block) -> None:
        """Score a block with the leading directions of the second moment, found now and then."""
        if self.mean.weight >= JUDGE_AFTER * max(self.judged, 1.0):
            self.judges = self.second.value().basis[: self.k]
            self.judged = self.mean.weight
        if len(self.judges):
            rows = block.to_dense()
            inner = rows @ self.judges.T
            energy = np.einsum("ij,ij->i", rows, rows)
            self.score.add(np.einsum("ij,ij->i", inner, inner), energy)

    def _block(self, rows: Any, weights: NDArray[np.float64]) -> Block:
        """Return the rows as the engine learns from them: weighted and centred."""
        if not self.plan.center:
            if (weights == 1.0).all():
                return Block(rows)
            root = np.sqrt(weights).astype(self.plan.dtype)
            return Block(
                sparse.diags_array(root) @ rows if self.plan.is_sparse else root[:, None] * rows
            )
        mixing = self.mean.mixing(weights)
        if self.plan.is_sparse:
            offset = self.mean.vector
            return Block(rows, np.column_stack([-mixing.sum(axis=1), mixing]), offset)
        shift = self.mean.vector if self.mean.weight > 0.0 else rows[0]
        return Block((rows - shift).astype(self.plan.dtype, copy=False), mixing)

    def _steps(self, norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the next step sizes from the norms of the gradients."""
        assert self.rule is not None
        number = self.steps_taken + np.arange(1.0, len(norms) + 1)
        seen = np.hypot.accumulate(np.concatenate([[self.gradients], norms]))[1:]
        self.steps_taken += len(norms)
        self.gradients = float(seen[-1])
        return self.schedule.steps(number, seen, self.rule.diameter())
