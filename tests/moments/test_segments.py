"""Segments of a stream against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from onepass.moments.chunk import chunk_about
from onepass.moments.exact import SecondMoment
from onepass.moments.segments import LEAST_ROWS, SEGMENTS, Segments

Array = NDArray[np.float64]


def stream(n: int = 1500, d: int = 12, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) / np.sqrt(np.arange(1, d + 1)) + 3.0


def segments_of(
    X: Any,
    frame: Array,
    *,
    chunk: int = 128,
    weights: Array | None = None,
    **params: Any,
) -> Segments:
    """Return the segments of rows that come in chunks."""
    found = Segments(X.shape[1], **params)
    found.frame = frame
    weights = np.ones(X.shape[0]) if weights is None else weights
    for start in range(0, X.shape[0], chunk):
        part = slice(start, start + chunk)
        rows = chunk_about(X[part], weights[part], np.full(X.shape[1], 2.0))
        found.add(rows, rows.weights)
    return found


def frame_of(d: int, K: int, seed: int = 5) -> Array:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, K)))[0].T


def naive(X: Array, weights: Array, frame: Array) -> tuple[float, Array, Array, Array]:
    """Return weight, mean, squares of columns about it, and the scatter times a frame."""
    mean = weights @ X / weights.sum()
    centred = X - mean
    scatter = (centred * weights[:, None]).T @ centred
    return float(weights.sum()), mean, scatter.diagonal(), scatter @ frame.T


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [100, 700, 3001])
def test_each_segment_has_the_sums_of_its_rows(n: int, dtype: Any, is_sparse: bool) -> None:
    X = stream(n)
    X = X * (np.random.default_rng(1).random(X.shape) < 0.4) if is_sparse else X
    weights = np.random.default_rng(2).uniform(0.5, 2.0, n)
    frame = frame_of(12, 4)
    rows = (sparse.csr_array(X) if is_sparse else X).astype(dtype)
    found = segments_of(rows, frame, weights=weights, dtype=dtype)
    assert found.rows.sum() == n
    assert len(found) <= SEGMENTS
    assert len(found) >= min(SEGMENTS // 2, n // LEAST_ROWS)
    tolerance = 1e-4 if dtype == np.float32 else 1e-9
    end = 0
    for number, product_found in enumerate(found.products):
        start, end = end, end + int(found.rows[number])
        weight, mean, squares, product = naive(X[start:end], weights[start:end], frame)
        np.testing.assert_allclose(found.weights[number], weight)
        np.testing.assert_allclose(found.means[number], mean, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(found.squares[number], squares, rtol=10 * tolerance)
        np.testing.assert_allclose(
            product_found * found.unit, product, atol=tolerance * np.abs(product).max()
        )


@pytest.mark.parametrize("center", [True, False])
def test_a_frame_that_turns_loses_nothing_of_the_sum_of_all_segments(center: bool) -> None:
    X, frames = stream(), (frame_of(12, 4), frame_of(12, 6, seed=8))
    found = segments_of(X, frames[0])
    point = center * X.mean(axis=0)
    scatter = (X - point).T @ (X - point)
    found.turn(frames[1], lambda columns: scatter @ columns, center=center)
    apart = found.means - point
    between = (apart * found.weights[:, None]).T @ apart
    np.testing.assert_allclose(
        found.products.sum(axis=0) * found.unit,
        (scatter - between) @ frames[1].T,
        atol=1e-9 * scatter.max(),
    )


def test_no_segment_has_few_rows() -> None:
    found = Segments(12)
    found.frame = frame_of(12, 4)
    for count in (3, 9, 1, 1, 40, 2, 100, 5):
        rows = chunk_about(stream(count), np.ones(count), np.zeros(12))
        found.add(rows, rows.weights)
        assert len(found) == 1 or found.rows.min() >= LEAST_ROWS
    found.merge(segments_of(stream(7), frame_of(12, 4)))
    assert found.rows.min() >= LEAST_ROWS
    assert found.rows.sum() == 168


@pytest.mark.parametrize("K", [4, 12])
@pytest.mark.parametrize("chunk", [40, 1500])
def test_a_second_moment_gives_the_sums_of_parts_as_rows_do(chunk: int, K: int) -> None:
    X, frame = stream(), np.eye(12) if K == 12 else frame_of(12, K)
    moment, found = SecondMoment(12), Segments(12)
    found.frame = frame
    for start in range(0, len(X), chunk):
        rows = chunk_about(X[start : start + chunk], np.ones(min(chunk, 1500 - start)), np.ones(12))
        found.add(rows, rows.weights, moment.add_parts)
    wanted = segments_of(X, frame, chunk=chunk)
    for name in ("rows", "weights", "means", "squares"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-9)
    both = [held.products * held.unit for held in (found, wanted)]
    np.testing.assert_allclose(*both, rtol=1e-9, atol=1e-9 * np.abs(both[0]).max())
    _, mean, _, scatter = naive(X, np.ones(1500), frame)
    np.testing.assert_allclose(moment.mean, mean)
    np.testing.assert_allclose(moment.times(frame.T), scatter, rtol=1e-9, atol=1e-9)


def test_a_joint_frame_that_spans_everything_takes_sums_of_further_rows() -> None:
    X, frames = stream(1200), (frame_of(12, 6), frame_of(12, 8, seed=8))
    first, second = (segments_of(X[:600], frame) for frame in frames)
    moment = SecondMoment(12)
    moment.add(chunk_about(X[:600], np.ones(600), np.ones(12)), np.ones(600))
    first.turn(first.joint_frame(second), moment.times)
    rows = chunk_about(X[600:], np.ones(600), np.ones(12))
    first.add(rows, rows.weights, moment.add_parts)
    apart = first.means - X.mean(axis=0)
    between = (apart * first.weights[:, None]).T @ apart
    sums = first.products.sum(axis=0) * first.unit @ first.frame + between
    np.testing.assert_allclose(sums, naive(X, np.ones(1200), np.eye(12))[3], atol=1e-6)
