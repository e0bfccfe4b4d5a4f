"""`fit` starts anew, `partial_fit` goes on; estimators can be cloned, pickled and repeated."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import onepass
from tests import reference
from tests.contracts.chunks import chunks_of
from tests.contracts.results import assert_identical
from tests.contracts.rows import make
from tests.contracts.variants import BATCH_VARIANTS, OTHER_VARIANTS, VARIANTS

D, K = 14, 3
EVERY = pytest.mark.parametrize("variant", [*VARIANTS, *BATCH_VARIANTS, *OTHER_VARIANTS], ids=str)


@pytest.fixture(autouse=True)
def short_chunks():
    with chunks_of(8):
        yield


@pytest.fixture(scope="module")
def rows():
    return make("gaussian", n=70, d=D, k=K)


@EVERY
def test_fit_starts_anew(variant, rows):
    once = variant.build(D, K).fit(rows)
    fresh = clone(once)
    assert not hasattr(fresh, "components_")
    assert_identical(once, fresh.fit(rows).fit(rows))
    assert_identical(once, variant.build(D, K).partial_fit(5 * rows[:9] + 1).fit(rows))
    assert_identical(once, variant.build(D, K).fit(rows[:31]).partial_fit(rows[31:]))
    assert once.n_samples_seen_ == len(rows)
    assert type(once.n_samples_seen_) is int
    if not variant.has_init:  # init has a width of its own
        wider = variant.build(D, K).fit(np.hstack([rows, rows]))
        assert wider.n_features_in_ == 2 * D
        assert_identical(wider.fit(rows), once)


@EVERY
def test_rows_and_parameters_are_left_alone(variant, rows):
    estimator = variant.build(D, K)
    given, before = rows.copy(), pickle.dumps(estimator.get_params())
    weights = np.full(len(rows), 2.0)
    estimator.partial_fit(given, sample_weight=weights)
    given[:] = np.nan  # rows that wait for their batch are the estimator's own
    weights[:] = np.nan
    estimator.partial_fit(rows, sample_weight=np.ones(len(rows)))
    assert np.isfinite(estimator.components_).all()
    assert pickle.dumps(estimator.get_params()) == before


@EVERY
def test_unit_weights_are_no_weights_and_zero_weights_no_rows(variant, rows):
    plain, estimator = variant.build(D, K).fit(rows), variant.build(D, K)
    assert_identical(plain, estimator.fit(rows, sample_weight=np.ones(len(rows))))
    assert_identical(plain, estimator.partial_fit(9 * rows, sample_weight=np.zeros(len(rows))))


@pytest.mark.parametrize("algorithm", ["Oja", "Grouse"])
def test_random_start_is_that_of_random_state(algorithm, rows):
    estimator = getattr(onepass, algorithm)
    first = estimator(K, random_state=3).fit(rows[:5])
    assert_identical(first, estimator(K, random_state=3).fit(rows[:5]))
    assert_identical(first, clone(first).fit(rows[:5]))
    other = estimator(K, random_state=4).fit(rows[:5])
    assert not np.allclose(first.subspace_.to_dense(), other.subspace_.to_dense(), atol=1e-3)


@pytest.mark.parametrize("algorithm", ["Oja", "Grouse"])
def test_init_is_made_orthonormal(algorithm, rows):
    init = np.random.default_rng(0).normal(size=(K, D)) * [[1e3], [1], [1e-3]]
    estimator = getattr(onepass, algorithm)(K, step_size=0.1, init=init, center=False).fit(rows)
    step = reference.inverse_sqrt(0.1)
    wanted = reference.run(algorithm, rows, K, step=step, init=init).last
    np.testing.assert_allclose(estimator.subspace_.to_dense(), wanted, atol=1e-9)


def test_a_float_is_the_inverse_sqrt_schedule(rows):
    float_step = onepass.MSG(K, step_size=0.4).fit(rows)
    schedule = onepass.MSG(K, step_size=onepass.schedules.InverseSqrt(0.4)).fit(rows)
    assert_identical(float_step, schedule)
    automatic = onepass.MSG(K, step_size="auto").fit(rows)
    assert_identical(automatic, onepass.MSG(K).fit(rows))
    for average, scale in ((True, 16.0), (False, 1.0)):
        automatic = onepass.MSG(K, average=average).fit(rows)
        step = onepass.schedules.AdaGradNorm(scale)
        assert_identical(automatic, onepass.MSG(K, average=average, step_size=step).fit(rows))
