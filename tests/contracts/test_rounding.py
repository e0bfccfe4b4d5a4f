"""Lemma 3.1 at work: sampled components have the iterate as their mean projector."""

import numpy as np
import pytest

import onepass
from tests.contracts.results import assert_orthonormal
from tests.contracts.rows import make


@pytest.mark.parametrize("algorithm", ["MSG", "CappedMSG"])
def test_sampled_components_have_the_iterate_as_mean(algorithm):
    d, k, draws = 6, 2, 400
    rows = make("gaussian", 25, d, k, seed=1)
    options = {"trace": "exact", "step_size": 2.0, "rounding": "sample"}
    options |= {"average": False, "center": False}
    if algorithm == "CappedMSG":
        options["max_rank"] = 4
    mean = np.zeros((d, d))
    for seed in range(draws):
        estimator = getattr(onepass, algorithm)(k, random_state=seed, **options).fit(rows)
        assert_orthonormal(estimator.components_)
        mean += estimator.components_.T @ estimator.components_ / draws
    M, top = estimator.subspace_.to_dense(), estimator.subspace_.top(k)
    deviations = 4 * 0.5 / np.sqrt(draws)  # four, of a variable within [0, 1]
    assert np.abs(top.T @ top - M).max() > 2 * deviations  # the top would not pass
    np.testing.assert_allclose(mean, M, rtol=0, atol=deviations)


def test_rounding_does_not_touch_the_iterate():
    rows = make("gaussian", 40, 6, 2)
    top = onepass.MSG(2, rounding="top").fit(rows)
    sampled = onepass.MSG(2, rounding="sample", random_state=0).fit(rows)
    np.testing.assert_array_equal(top.subspace_.basis, sampled.subspace_.basis)
    np.testing.assert_array_equal(top.subspace_.weights, sampled.subspace_.weights)
