"""What an estimator has learned, and how rows are added to it.

Rows are taken in chunks whose lengths depend on nothing but how many came before: rows wait until
there are enough of them, and reading a result takes what waits on a copy. How the rows are split
into calls, and whether results are looked at in between, therefore changes not a single bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass.estimators.captured import Score
from onepass.estimators.plan import Plan
from onepass.estimators.waiting import Waiting
from onepass.frames import Block
from onepass.kernels.centring import centring
from onepass.kernels.threads import threads_for
from onepass.moments import Mean, Moment
from onepass.sources.finite import LARGEST

T = TypeVar("T")
Look = Callable[[Any, int], object]


class Learner(ABC):
    """Takes rows in chunks, and keeps their moments.

    Attributes whose names begin with an underscore are no part of the state: they can be made
    again by `_equip`, and are neither copied nor saved.

    Parameters
    ----------
    plan : Plan
        How the rows are taken.
    second : Moment
        Of the rows, empty.
    """

    notices: ClassVar[bool] = False  # whether dense rows out of range make `_absorb` raise
    _settled: Any
    _shown: Any

    def __init__(self, plan: Plan, second: Moment) -> None:
        self.plan, self.second = plan, second
        self.mean = Mean(plan.d)
        self.score = Score()
        self.rows_seen = 0
        self.anchors: NDArray[np.floating] = np.zeros((0, plan.d))  # what signs are held to
        self.waiting = Waiting(plan.most_rows, plan.d, plan.dtype, plan.is_sparse)
        self._equip()

    @abstractmethod
    def _absorb(self, rows: Any, weights: NDArray[np.float64]) -> None:
        """Learn from a chunk, or from what there is of it at the end."""

    def _chunk_rows(self) -> int:
        """Return how many rows the next chunk has."""
        return self.plan.chunk_rows

    def _held(self) -> NDArray[np.floating] | None:
        """Return the directions (m, d) along which variances are wanted; None is everywhere."""
        return None

    def push(
        self, rows: Any, weights: NDArray[np.float64] | None = None, look: Look | None = None
    ) -> None:
        """Add rows of shape (r, d), of the plan's dtype and kind.

        `look` is shown every part of them and the number of its first row before it is learned
        from, when it comes into the processor's cache anyway; it raises what is wrong. Where
        learning itself notices that, it is not asked before.
        """
        self._forget()
        if weights is not None:
            present = weights > 0.0
            rows, weights = rows[present], weights[present]
        if self.waiting.count + rows.shape[0] < self._chunk_rows():
            self._take_all(rows, weights, look)
        else:
            with threads_for(self.plan.d):  # as many as the products are worth
                self._take_all(rows, weights, look)
        self.rows_seen += rows.shape[0]

    def _take_all(self, rows: Any, weights: NDArray[np.float64] | None, look: Look | None) -> None:
        """Take the rows of a call, chunk by chunk."""
        total, start = rows.shape[0], 0
        while start < total:
            chunk_rows = self._chunk_rows()
            stop = min(total, start + chunk_rows - self.waiting.count)
            part = rows[start:stop] if stop - start < total else rows
            given = None if weights is None else weights[start:stop]
            whole = stop - start == chunk_rows
            noticed = whole and self.notices and not self.plan.is_sparse
            if look is not None and not noticed:
                look(part, start)
            if whole:
                doubt = None if look is None else partial(look, part, start)
                self._take(part, np.ones(stop - start) if given is None else given, doubt)
            else:
                self.waiting.add(part, given)
                if self.waiting.count == chunk_rows:
                    self._take(*self.waiting.rows())
                    self.waiting.clear()
            start = stop

    def with_rows(
        self, rows: Any, weights: NDArray[np.float64] | None, look: Look | None = None
    ) -> Self:
        """Return a learner that has taken rows: this one, if they only have to wait, or a copy.

        Whatever goes wrong on the way, this one is as it was.
        """
        twin = self
        if self.waiting.count + rows.shape[0] >= self._chunk_rows():
            twin = self.copy()
        twin.push(rows, weights, look)
        return twin

    def settled(self) -> Self:
        """Return a learner for which no row waits: itself, or a copy that has taken them."""
        if not self.waiting.count:
            return self
        if self._settled is None:
            twin = self._copy(waiting=self.waiting.emptied())
            with threads_for(self.plan.d):
                twin._take(*self.waiting.rows())
            self._settled = twin
        return self._settled

    def shown(self, show: Callable[[Self], T]) -> T:
        """Return show(self.settled()), worked out once until more rows come."""
        if self._shown is None:
            with threads_for(self.plan.d):  # as in learning: the number of threads changes bits
                self._shown = show(self.settled())
        return self._shown

    def merge(self, other: Self) -> None:
        """Include the rows of another learner of the same kind; no row waits in either."""
        self._forget()
        self.second.merge(other.second, self.mean.between(other.mean), self._held())
        self.mean.merge(other.mean)
        self.score.merge(other.score)
        self.rows_seen += other.rows_seen

    def copy(self) -> Self:
        """Return a copy that goes on by itself."""
        return self._copy()

    def _copy(self, **parts: Any) -> Self:
        """Return a copy in which some parts are others."""
        twin = object.__new__(type(self))
        state = {name: part for name, part in self.__getstate__().items() if name not in parts}
        twin.__setstate__({name: _copied(value) for name, value in state.items()} | parts)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name[0] != "_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._equip()

    def _equip(self) -> None:
        """Make what is no part of the state."""
        self._forget()

    def _forget(self) -> None:
        """Forget results that were looked at."""
        self._settled = self._shown = None

    def _take(
        self,
        rows: Any,
        weights: NDArray[np.float64],
        doubt: Callable[[], object] | None = None,
    ) -> None:
        """Take a chunk; `doubt` is called where something seems to be wrong, and says what it is.

        If it is not right, this learner is of no more use.
        """
        if self.plan.half_life is not None:
            self._fade(0.5 ** (rows.shape[0] / self.plan.half_life))
        if not self.plan.is_sparse:
            # Arrays in another order, or that must not be written to, are other types to the
            # compiler: for each of them all kernels would be compiled anew.
            rows = np.require(rows, requirements=["C", "W"])
        before = self.second.energy
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
                self._absorb(rows, weights)
                energy = self.second.energy
        except FloatingPointError:
            energy = float("nan")
        far = np.abs(self.mean.vector).max(initial=0.0)
        if energy - before <= LARGEST**2 and far <= LARGEST:
            return
        if doubt is not None:
            doubt()
        if not np.isfinite(energy):
            raise ValueError(
                "the squares of the rows, about their mean, add up to more than a number can be: "
                "divide X by a large number"
            )

    def _fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.mean.fade(factor)
        self.second.fade(factor)
        self.score.fade(factor)

    def _blocks(self, rows: Any, weights: NDArray[np.float64], size: int | None = None) -> Any:
        """Yield the blocks of a chunk, weighted and centred; the mean comes along."""
        size, alike = size or self.plan.block_rows, bool((weights == 1.0).all())
        for start in range(0, rows.shape[0], size):
            part, given = rows[start : start + size], weights[start : start + size]
            if self.plan.center:
                yield self._centred(part, given)
            elif alike:
                self.mean.weight += float(len(given))
                yield Block(part)
            else:
                yield self._weighted(part, given)

    def _weighted(self, rows: Any, weights: NDArray[np.float64]) -> Block:
        """Return rows as they are learned from without centring."""
        self.mean.weight += float(weights.sum())
        root = np.sqrt(weights).astype(self.plan.dtype)
        return Block(
            sparse.diags_array(root) @ rows if self.plan.is_sparse else root[:, None] * rows
        )

    def _centred(self, rows: Any, weights: NDArray[np.float64]) -> Block:
        """Return rows as they are learned from, centred as they come; the mean comes along."""
        if self.plan.is_sparse:
            mixing = np.empty((len(weights), len(weights)))
            centring(self.mean.weight, weights, mixing)
            block = Block(rows, np.column_stack([-mixing.sum(axis=1), mixing]), self.mean.vector)
            self.mean.update(0.0, rows, weights)
            return block
        centred = np.empty(rows.shape, self.plan.dtype)
        self.mean.take(rows, weights, centred)
        return Block(centred)


def _copied(value: Any) -> Any:
    """Return a copy of a part of the state."""
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value.copy() if hasattr(value, "copy") else value
