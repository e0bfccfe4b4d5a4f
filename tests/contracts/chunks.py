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

try:
    from onepass.learning import row_buffer
except ImportError:  # the first version; delete this branch, `_old_chunks_of` and `first_version`
    row_buffer = None

# For tests of what the first version is known to do wrong.
first_version = pytest.mark.skipif(row_buffer is None, reason="the first version fails this")
SHORT = (8, 24)  # rows; with 130 rows at least five chunks


@contextmanager
def chunks_of(rows: int | None) -> Iterator[None]:
    """Make every chunk so many rows long; None leaves them as they are."""
    if rows is None:
        yield
    elif row_buffer is None:
        with _old_chunks_of(rows):
            yield
    else:
        with mock.patch.object(row_buffer, "FORCED_CHUNK_ROWS", rows):
            yield


def waiting(estimator: Any) -> int:
    """Return how many rows the estimator has not learned from yet."""
    learner = estimator._learner
    return learner.waiting.count if row_buffer is None else learner.buffer.count


def next_chunk(estimator: Any) -> int:
    """Return the length of the chunk that comes next."""
    learner = estimator._learner
    return learner._chunk_rows() if row_buffer is None else learner.next_chunk_rows()


def chunks_learned(estimator: Any, rows: Any) -> int:
    """Return how many chunks are learned from while rows come one by one, and learn from them."""
    count = 0
    for i in range(rows.shape[0]):
        estimator.partial_fit(rows[i : i + 1])
        count += waiting(estimator) == 0
    return count


@contextmanager
def _old_chunks_of(rows: int) -> Iterator[None]:
    """Do the same to the first version."""
    from dataclasses import replace

    from onepass.estimators import erm, pca, plan, stochastic

    def short(X: Any, k: int, **options: Any) -> Any:
        usual = plan.make_plan(X, k, **options)
        block = min(usual.block_rows, rows)
        chunk = block * (rows // block) if usual.batch else rows
        return replace(usual, chunk_rows=chunk, most_rows=chunk, block_rows=block)

    with (
        mock.patch.object(erm, "make_plan", short),
        mock.patch.object(pca, "make_plan", short),
        mock.patch.object(stochastic, "make_plan", short),
    ):
        yield
