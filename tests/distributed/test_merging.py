"""What merging does to the parts that distributed work leans on."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from onepass.moments.sample import Sample

from onepass import PCA, merge
from tests.distributed.models import made_rows


@given(st.lists(st.integers(100, 300), min_size=2, max_size=5), st.integers(16, 40))
def test_a_merged_sample_gives_every_stream_its_weight(sizes, room):
    """The share of a stream's rows in the sample is that of all rows, within three strides."""
    merged = Sample(room)
    for number, size in enumerate(sizes):
        part = Sample(room)
        part.add(np.full((size, 1), float(number)), np.ones(size))
        merged.merge(part)
    assert len(merged.weights) <= room
    represented = merged.weights * merged._stride
    for number, size in enumerate(sizes):
        found = represented[merged.rows[:, 0] == number].sum()
        assert abs(found - size) <= 3 * represented.max()


def test_a_sample_goes_on_after_a_merge_with_the_right_weights():
    merged = Sample(8)
    for _ in range(3):
        part = Sample(8)
        part.add(np.zeros((64, 1)), np.ones(64))
        merged.merge(part)
    merged.add(np.ones((192, 1)), np.ones(192))
    later = merged.weights[merged.rows[:, 0] == 1.0].sum()
    assert later == pytest.approx(merged.weights.sum() / 2, rel=0.35)


def test_dense_and_sparse_models_do_not_merge():
    X = made_rows(300, d=400)
    with pytest.raises(ValueError, match="model 2 has learned from sparse rows"):
        merge(PCA(2).fit(X), PCA(2).fit(sp.csr_array(X)))


def test_a_lightened_second_moment_keeps_few_rows_and_its_variances():
    X = made_rows(3000, d=1100)
    model = PCA(3).fit(X[:2900])
    before = model.explained_variance_
    light = merge(model)
    light._learner.second.lighten()
    kept = light._learner.second
    assert len(kept._sample.weights) <= kept.max_rank
    np.testing.assert_allclose(light.explained_variance_, before, rtol=0.01)
    light.partial_fit(X[2900:])
    assert len(light._learner.settled().second._sample.weights) <= kept.max_rank


@pytest.mark.parametrize(("apart", "expert"), [(0.0, "average"), (20.0, "sketch")])
def test_what_only_the_means_of_streams_show_counts_against_the_average(apart, expert):
    X = made_rows(8000, d=20)
    weakest = np.linalg.eigh(np.cov(X.T))[1][:, 0]
    models = []
    for part, sign in zip(np.array_split(X, 4), [1, -1, 1, -1], strict=True):
        models.append(PCA(3).fit(part + sign * apart * weakest))
        models[-1]._learner = models[-1]._learner.settled()
        for challenger in models[-1]._learner.challengers:  # as if averages had been better
            challenger.validation.segments = np.full((8, 2), 0.5)
            challenger.validation.recent = np.full(2, 1e6)
    merged = merge(*models)
    assert merged.expert_.name == expert
    if apart:
        assert np.linalg.norm(merged.components_ @ weakest) > 0.99
