"""An average that may come to be believed instead of the second moment."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from onepass import rounding
from onepass.estimators.validation import SURE, Validation
from onepass.estimators.walk import Walk

# Chunks after which a challenger that does not convince learns ever more seldom: from 8 whenever
# the stream doubles, and from 2 when it has become long. One that is worse beyond doubt learns from
# one chunk whenever the stream has become four times as long.
PATIENCE, LATE = 16, 256
# The longer a stream, the more often luck looks like evidence: standard errors more, for every time
# that it has doubled since, to learn from all of it.
LUCK, SHORT = 0.25, 64
SELDOM = 4  # of so many chunks, one is scored where it is worse beyond doubt


class Challenger:
    """A walk whose average is scored against an incumbent.

    Parameters
    ----------
    walk : Walk
        At its beginning, with an average.
    step_scale : float
        The scale of its steps.

    Attributes
    ----------
    validation : Validation
        Against the incumbent.
    """

    def __init__(self, walk: Walk, step_scale: float) -> None:
        self.walk, self.step_scale = walk, step_scale
        self.validation = Validation()
        self.answer: NDArray[np.floating] | None = None  # directions (k, d) when last asked
        self.answered = -1  # the steps that the walk had taken then
        self.counted = 0  # the steps that it had taken when its last iterate was counted

    def copy(self) -> Challenger:
        """Return a challenger that goes on by itself."""
        twin = Challenger(self.walk.copy(), self.step_scale)
        twin.validation = self.validation.copy()
        twin.answer, twin.answered = self.answer, self.answered
        twin.counted = self.counted
        return twin

    def directions(self) -> NDArray[np.floating]:
        """Return the leading directions (k, d) of the average."""
        assert self.walk.average is not None
        k = self.walk.rule.k
        found = self.walk.average.directions(k)
        return found if len(found) == k else rounding.top(self.walk.average.value(), k)

    def ask(self) -> NDArray[np.floating]:
        """Return the directions (k, d), found anew only if there is something new."""
        if self.answer is None or self.answered != self.walk.steps_taken:
            self.answer, self.answered = self.directions(), self.walk.steps_taken
        return self.answer

    def lessons(self, chunks: range) -> list[int]:
        """Return those of some chunks, given by number, that it is worth the time to learn from."""
        luck = LUCK * max(0.0, math.log2(max(chunks.start, 1) / SHORT))
        if self.validation.convincing() and self.validation.evidence > SURE + luck:
            return list(chunks)
        if self.validation.hopeless():
            return _some(chunks, lambda c: 4 ** ((max(c - 1, 0).bit_length() + 1) // 2))
        often = 1 if chunks.start < LATE else 4
        return _some(chunks, lambda c: often * 2 ** (c // PATIENCE).bit_length())

    def scored_on(self, chunk: int) -> bool:
        """Whether it is worth the time to score it on a chunk of some number."""
        return chunk % SELDOM == 0 or not self.validation.hopeless()

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.walk.fade(factor)
        self.validation.fade(factor)

    def merge(self, other: Challenger) -> None:
        """Include the rows of another challenger with the same steps.

        Where a walk ends, its last iterate counts too: it has learned from all rows, and the first
        one, which is zero, from none.
        """
        theirs = other.walk.copy()
        for walk, counted in ((self.walk, self.counted), (theirs, other.counted)):
            if walk.steps_taken > counted:
                walk.count_last()
        self.walk.merge(theirs)
        self.counted = self.walk.steps_taken
        self.validation.merge(other.validation)
        self.answer = None


def _some(chunks: range, every: Callable[[int], int]) -> list[int]:
    """Return those of some numbers that are multiples of what `every` says for them.

    These are powers of two that never become smaller, so that most numbers need not be looked at.
    """
    least = every(chunks.start)
    first = -(-chunks.start // least) * least
    return [c for c in range(first, chunks.stop, least) if c % every(c) == 0]
