"""Chunks grow with the stream, and nothing else depends on it."""

import numpy as np
import pytest

from onepass import PCA
from onepass.estimators.plan import LONG, make_plan

X = np.random.default_rng(0).normal(size=(40_000, 6)) * [3, 2, 1, 1, 1, 1] + 5


def plan_for(d, **options):
    rows = np.zeros((1, d))
    sizes = {"chunk_rows": 256, "most_rows": 8192, "chunk_bytes": 2**22}
    return make_plan(rows, 2, center=True, batch_size=32, **sizes, **options)


@pytest.mark.parametrize("d", [1, 50, 784])
def test_they_grow_by_doubling_up_to_a_part_of_what_came_before(d):
    plan, chunks, lengths = plan_for(d), 0, []
    for _ in range(2000):
        rows = plan.rows_after(chunks)
        assert rows % plan.chunk_rows == 0
        assert rows <= max(plan.chunk_rows, chunks * plan.chunk_rows / LONG)
        lengths.append(rows)
        chunks += rows // plan.chunk_rows
    assert lengths == sorted(lengths)
    assert lengths[0] == 256
    assert lengths[-1] == plan.most_rows
    assert plan.most_rows * d * 8 <= 2**22
    assert plan.most_rows == {1: 8192, 50: 8192, 784: 512}[d]


def test_with_forgetting_they_stay_short():
    """What is taken at once counts the same."""
    assert plan_for(6, half_life=1000.0).most_rows <= 250
    assert plan_for(6, half_life=10_000.0).most_rows <= 2500


def test_the_split_into_calls_changes_no_bit_of_a_long_stream():
    whole = PCA(2).fit(X)
    rng = np.random.default_rng(1)
    parts = PCA(2)
    for part in np.split(X, np.sort(rng.choice(len(X), 60, replace=False))):
        parts.partial_fit(part)
        if rng.random() < 0.2:
            assert parts.components_.shape == (2, 6)  # looking changes nothing
    np.testing.assert_array_equal(whole.components_, parts.components_)
    np.testing.assert_array_equal(whole.explained_variance_, parts.explained_variance_)
    assert whole.captured_ == parts.captured_
    assert whole.expert_ == parts.expert_


def test_every_row_counts_at_every_time():
    model = PCA(2)
    for stop in range(1500, len(X), 3100):
        model.partial_fit(X[model.n_samples_seen_ if stop > 1500 else 0 : stop])
        np.testing.assert_allclose(model.mean_, X[:stop].mean(axis=0), rtol=1e-12)
        values = np.linalg.eigvalsh(np.cov(X[:stop].T))[::-1][:2]
        np.testing.assert_allclose(model.explained_variance_, values, rtol=1e-10)
