"""The learner that keeps nothing but the exact second moment."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onepass.learning.captured import CapturedScore
from onepass.learning.learner import Learner
from onepass.learning.result import Result, publish
from onepass.learning.row_buffer import Stream
from onepass.moments.exact import ExactMoment

CHUNK_ROWS, CHUNK_BYTES = 512, 2**23
SEARCH_AFTER = 1.5  # growth of the stream after which the directions to score by are found again


class MomentLearner(Learner):
    """Mean and second moment of the rows, and k directions to score further rows by.

    Parameters
    ----------
    stream : Stream
        What all rows have in common.
    k : int
        The number of components.
    """

    def __init__(self, stream: Stream, k: int) -> None:
        super().__init__(stream)
        self.k = k
        self.moment = ExactMoment(stream.d)
        self.score = CapturedScore()
        self.scorers: NDArray[np.float64] = np.zeros((0, stream.d))
        self.searched = 0.0  # the weight of the rows when the scorers were found

    def chunk_rows(self) -> int:
        return max(1, min(CHUNK_ROWS, CHUNK_BYTES // (8 * self.stream.d)))

    def learn(self, rows: Any, weights: NDArray[np.float64]) -> None:
        before = self.mean.copy()
        dense = (rows.toarray() if self.stream.is_sparse else rows).astype(np.float64, copy=False)
        if before.weight >= SEARCH_AFTER * max(self.searched, 1.0):
            self.scorers, self.searched = self.moment.leading(self.k)[0], before.weight
        if len(self.scorers):
            centred = dense - before.vector if self.stream.center else dense
            inner = centred @ self.scorers.T
            energy = np.einsum("ij,ij->i", centred, centred)
            captured = np.einsum("ij,ij->i", inner, inner)
            self.score.add(weights * captured, weights * energy)
            self.errors.add(energy - captured, weights)
        self.moment.add(dense, weights, before, self.stream.center)
        added = float(weights.sum())
        if self.stream.center:
            origin = before.origin(dense)
            self.mean.add(weights @ (dense - origin), added, origin)
        else:
            self.mean.weight += added

    def read(self) -> Result:
        directions = self.moment.leading(self.k)[0].astype(self.stream.dtype)
        mean = self.mean.vector if self.stream.center else np.zeros(self.stream.d)
        second = self.moment.compress(directions)
        return publish(
            directions, second, self.moment.energy, self.degrees(), mean, self.score.value()
        )

    def fade(self, factor: float) -> None:
        for part in (self.mean, self.moment, self.score):
            part.fade(factor)
        self.searched *= factor

    def include(self, other: Self) -> None:
        between = self.mean.between(other.mean) if self.stream.center else None
        self.moment.merge(other.moment, between)
        self.mean.merge(other.mean)
        self.score.merge(other.score)

    def copy(self) -> Self:
        twin = self._copied()
        twin.moment, twin.score = self.moment.copy(), self.score.copy()
        return twin

    def state(self) -> dict[str, Any]:
        return {
            **self._common_state(),
            "moment": self.moment.state(),
            "score": self.score.state(),
            "scorers": self.scorers,
            "searched": self.searched,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a checked state."""
        self._set_common_state(state)
        self.moment = ExactMoment.from_state(state["moment"])
        self.score = CapturedScore.from_state(state["score"])
        self.scorers, self.searched = state["scorers"], state["searched"]
