"""A rule on its way through a stream of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.averaging import Average
from onepass.engine import Engine, Outcome
from onepass.frames import Block
from onepass.kernels.orthonormal import orthonormal
from onepass.rules.rule import Rule
from onepass.schedules import Schedule
from onepass.strides import Pace, Stretch
from onepass.subspace import Subspace

NARROW = 2048  # columns up to which a block of rows stays in the cache as a whole
# Rows taken in one go. Of sparse ones more, the more it costs to carry the basis along.
DENSE_STRIDE, SPARSE_STRIDE = 512, 256
TRUSTED_BLOCKS = 64  # after which a basis is no longer taken for orthonormal


class Walk:
    """The iterate of a rule, the steps that led to it, and the average of the iterates.

    Parameters
    ----------
    rule : Rule
        The algorithm.
    schedule : Schedule
        Its steps.
    batch : bool
        Whether a block is one gradient step.
    dtype : dtype
        Of the rows.
    average : Average or None
        Empty, if the iterates are to be averaged.
    tracking : bool
        Whether outcomes should say how the basis moved.
    """

    def __init__(
        self,
        rule: Rule,
        schedule: Schedule,
        batch: bool,
        dtype: np.dtype,
        average: Average | None = None,
        tracking: bool = False,
    ) -> None:
        self.rule, self.schedule, self.batch, self.average = rule, schedule, batch, average
        self.tracking = tracking
        self.state = rule.start(dtype)
        self.steps_taken = 0
        self.gradients = 0.0  # root of the sum of the squared norms of all gradients
        self.trusted = 0  # blocks since the basis was looked at
        self._engine = self._make_engine()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name[0] != "_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._engine = self._make_engine()

    def _make_engine(self) -> Engine:
        """Return an engine for this walk."""
        return Engine(self.rule, self.batch, self.average is not None, self.tracking)

    def copy(self) -> Walk:
        """Return a walk that goes on by itself."""
        twin = object.__new__(Walk)
        average = None if self.average is None else self.average.copy()
        rule, state = self.rule.copy(), self.state.copy()
        twin.__setstate__({**self.__getstate__(), "rule": rule, "state": state, "average": average})
        return twin

    def iterate(self) -> Subspace:
        """Return the current iterate M."""
        return self.rule.primal(self.state.copy())

    def held(self) -> NDArray[np.floating]:
        """Return the directions (m, d) that stand for it: of the average, if there is one."""
        leading = None if self.average is None else self.average.leading(self.rule.k)
        return self.state.basis if leading is None else leading

    def begin(self) -> None:
        """Begin a chunk: now and then the basis is looked at, so that rounding does not add up."""
        if self.trusted >= TRUSTED_BLOCKS:
            self.trusted = 0
        self._engine.trust(self.state.basis if self.trusted else None)

    def advance(self, block: Block) -> Outcome:
        """Learn from a block."""
        outcome = self._engine.advance(self.state, block, self._steps)
        self.state = outcome.state
        self.trusted += 1
        if self.average is not None:
            self.average.add(outcome.iterates, 1 if self.batch else len(block))
        return outcome

    def stride_rows(self, is_sparse: bool) -> int:
        """Return how many rows `stride` should take in one go; 0 if it cannot be used."""
        if self.batch or self.average is not None or self.rule.k == self.rule.d:
            return 0
        if is_sparse:
            return SPARSE_STRIDE if self.rule.k <= 20 else 2 * SPARSE_STRIDE
        return DENSE_STRIDE if self.rule.d <= NARROW else 0

    def stride(self, block: Block, size: int) -> list[Outcome]:
        """Learn from many rows one by one, in blocks of some size."""
        outcomes = []
        while len(block):
            stretch = self._engine.stretch(self.state, block)
            state, energy, captured, seen = stretch.stride(self.rule, size, self._pace(stretch))
            taken = len(captured)
            if taken:
                self.state, self.gradients = state, seen
                self.steps_taken += taken
                self.trusted += -(-taken // size)
                outcomes.append(Outcome(state, energy, captured, [], []))
            # Rows that need more care: a block of them, or all where none was easy.
            stop = min(taken + size, len(block)) if taken or not self.state.rank else len(block)
            for start in range(taken, stop, size):
                outcomes.append(self.advance(block.part(start, min(start + size, stop))))
            block = block.part(max(taken, stop), len(block))
        return outcomes

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.gradients *= float(np.sqrt(factor))
        if self.average is not None:
            self.average.fade(factor)

    def count_last(self) -> None:
        """Count the current iterate in the average."""
        assert self.average is not None
        self.average.add([self.iterate()], 1)

    def merge(self, other: Walk) -> None:
        """Include another walk, on other rows: averages of feasible iterates are feasible."""
        together = max(self.steps_taken + other.steps_taken, 1)
        shares = [self.steps_taken / together, other.steps_taken / together]
        self.rule.adopt(other.rule)
        state = self.rule.merged([self.state, other.state], shares)
        self.state = Subspace(orthonormal(state.basis), state.weights, state.rest)
        self.trusted = 0
        self.steps_taken += other.steps_taken
        self.gradients = float(np.hypot(self.gradients, other.gradients))
        if self.average is not None and other.average is not None:
            self.average.merge(other.average)

    def go_on_from(self, other: Walk) -> None:
        """Take over iterate and steps of another walk, but not its average."""
        self.rule, self.state = other.rule.copy(), other.state.copy()
        self.steps_taken, self.gradients = other.steps_taken, other.gradients
        self.trusted = 0
        self.__setstate__(self.__getstate__())

    def leave_out(self, given: Walk) -> None:
        """Take back the steps of the walk that this one went on from."""
        self.steps_taken -= given.steps_taken
        share = min(given.gradients / self.gradients, 1.0) if self.gradients else 0.0
        self.gradients *= float(np.sqrt((1.0 - share) * (1.0 + share)))

    def _steps(self, norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the next step sizes from the norms of the gradients, which count from now on."""
        steps, seen = self._ahead(norms)
        self.steps_taken += len(norms)
        self.gradients = float(seen[-1])
        return steps

    def _ahead(self, norms: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the next step sizes, and the norms seen up to each step."""
        count = len(norms)
        number = np.arange(self.steps_taken + 1.0, self.steps_taken + count + 1.0)
        seen = np.empty(count + 1)
        seen[0], seen[1:] = self.gradients, norms
        seen = np.hypot.accumulate(seen)[1:]
        steps = self.schedule.steps(number, seen, self.rule.diameter())
        return np.array(np.broadcast_to(steps, count), dtype=np.float64), seen

    def _pace(self, stretch: Stretch) -> Pace:
        """Return the next steps; those over the norms seen are worked out on the way."""
        over, count = self.schedule.over_norms(self.rule.diameter()), len(stretch)
        if over is not None and over > 0.0:
            return Pace(np.empty(count), over, self.gradients)
        norms = stretch.norms() if self.schedule.needs_norms else np.zeros(count)
        return Pace(self._ahead(norms)[0], 0.0, self.gradients)
