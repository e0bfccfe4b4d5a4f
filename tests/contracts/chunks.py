"""Chunks as short as a test wants them, and how far a stream has got: the one private door.

Rows wait until a chunk is full, and chunks are hundreds of rows long. A test that wants to cross
many of them with few rows runs inside `chunks_of`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest

from onepass import learner

SHORT = (8, 24)  # rows; with 130 rows at least five chunks


@contextmanager
def chunks_of(rows: int | None) -> Iterator[None]:
    """Make every chunk so many rows long; None leaves them as they are."""
    with mock.patch.object(learner, "FORCED_CHUNK_ROWS", rows):
        yield


def waiting(estimator: Any) -> int:
    """Return how many rows the estimator has not learned from yet."""
    return estimator._learner.buffer.count


def next_chunk(estimator: Any) -> int:
    """Return the length of the chunk that comes next."""
    return estimator._learner.next_chunk_rows()


def learn_as_if_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the paper's algorithms learn as from rows of very many columns.

    Sparse rows stay sparse, and variances are tracked along directions that move.
    """
    monkeypatch.setattr("onepass.algorithms.learner.SolverLearner.dense_columns", 0)
    monkeypatch.setattr("onepass.algorithms.learner.EXACT_VARIANCE_COLUMNS", 0)
