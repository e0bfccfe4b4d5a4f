"""What users read: components, variances, shares, transforms."""

import numpy as np
import pytest

import onepass
from tests import reference
from tests.contracts.results import assert_orthonormal
from tests.contracts.rows import make
from tests.contracts.variants import (
    ALGORITHMS,
    CENTERINGS,
    ESTIMATORS,
    VARIANTS,
    Variant,
    build,
)

D, K, N = 20, 4, 4000
EVERY = pytest.mark.parametrize("algorithm", ESTIMATORS)
BOTH = pytest.mark.parametrize(("algorithm", "center"), CENTERINGS)
# MEG moves by factors, and slowly; with a larger step it gets there within the stream.
FASTER = {"MEG": {"step_size": 2.0}, "Oja": {"step_size": 2.0}, "Grouse": {"step_size": 2.0}}
# The rows of the contracts have a mean, and the paper does not take it off.
pytestmark = pytest.mark.filterwarnings("ignore:the mean of the rows is far from zero")


def gapped(n, offset=0.0, seed=0):
    """Rows with a spectrum that has a wide gap after K, in random directions."""
    rng = np.random.default_rng(seed)
    spectrum = np.array([0.4, 0.25, 0.15, 0.1, *np.full(D - K, 0.1 / (D - K))])
    directions = np.linalg.qr(np.random.default_rng(99).normal(size=(D, D)))[0]
    return rng.normal(size=(n, D)) * np.sqrt(spectrum) @ directions + offset * directions[-1]


def fitted(algorithm, rows, center, **params):
    options = {**FASTER.get(algorithm, {}), "random_state": 0, "center": center, **params}
    return build(algorithm, K, **options).fit(rows)


def second_moment(rows, center):
    """The scatter that `explained_variance_` speaks of, per row."""
    rows = rows - rows.mean(axis=0) if center else rows
    return rows.T @ rows / len(rows)


@BOTH
def test_the_subspace_is_learned(algorithm, center):
    """Nearly all that batch PCA captures: a bound that a wrong sign or order would break."""
    rows = gapped(N, offset=2.0 if center else 0.0)
    estimator = fitted(algorithm, rows, center)
    S, V = second_moment(rows, center), estimator.components_
    assert np.trace(V @ S @ V.T) > 0.95 * np.linalg.eigvalsh(S)[-K:].sum()
    assert (V[np.arange(K), np.abs(V).argmax(axis=1)] > 0).all()


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_components_span_the_top_of_the_average_or_iterate(variant):
    d, k = 12, 3
    rows = make("gaussian", 400, d, k)
    outcome = variant.expected(rows, k)
    M = outcome.average if variant.averages else outcome.last
    values, vectors = np.linalg.eigh(M)
    assert values[-k] - values[-k - 1] > 1e-3  # else the top is not defined
    wanted = vectors[:, -k:] @ vectors[:, -k:].T
    V = variant.build(d, k).fit(rows).components_
    np.testing.assert_allclose(V.T @ V, wanted, atol=1e-6)


@BOTH
def test_captured_is_the_share_of_variance_of_new_rows(algorithm, center):
    offset = 2.0 if center else 0.0
    estimator = fitted(algorithm, gapped(N, offset), center)
    new = estimator.score(gapped(20_000, offset, seed=1))
    captured = estimator.captured_
    assert 0 < captured.standard_error < 0.02
    assert abs(captured.mean - new) < 4 * captured.standard_error


FULL_RANK = ("MEG-", "MSG-sqrt-trace=exact", "MSG-auto-trace=exact")  # ties: no top at the start


@pytest.mark.parametrize(
    "variant",
    [v for v in VARIANTS if not v.averages and not str(v).startswith(FULL_RANK)],
    ids=str,
)
def test_captured_scores_each_batch_before_it_is_learned_from(variant):
    """What was captured of rows when they came, corrected by what is captured of all of them."""
    rows = make("gaussian", 150, 12, 3)
    # The last half, in segments of 32 rows; centred, the first row is the mean and not measured.
    latest = 85 if variant.center else 86
    new = reference.captured(variant.expected(rows, 3), 3, latest)
    estimator = variant.build(12, 3).fit(rows)
    seen = estimator.explained_variance_ratio_.sum()
    h = 150 * np.mean(1 / np.arange(150 - latest, 150))  # rows before each of them
    wanted = ((h - 1) * seen + 2 * new) / (h + 1)
    assert estimator.captured_.mean == pytest.approx(wanted, rel=1e-9)


@BOTH
def test_transform_and_back_and_score(algorithm, center):
    rows = gapped(500, offset=1.0)
    estimator = fitted(algorithm, rows, center)
    scores = estimator.transform(rows)
    share = np.sum(scores**2) / np.sum((rows - estimator.mean_) ** 2)
    assert estimator.score(rows) == pytest.approx(share, rel=1e-9)
    np.testing.assert_allclose(scores, (rows - estimator.mean_) @ estimator.components_.T)
    back = estimator.inverse_transform(scores)
    np.testing.assert_allclose(back, scores @ estimator.components_ + estimator.mean_)
    np.testing.assert_allclose(estimator.transform(back), scores, atol=1e-12)
    again = fitted(algorithm, rows, center)
    np.testing.assert_array_equal(again.fit_transform(rows), scores)
    assert list(estimator.get_feature_names_out()) == [f"{algorithm.lower()}{i}" for i in range(K)]


def test_rank_and_rank_deficiency():
    variant = Variant("CappedMSG", "auto", extra_rank=2)
    for name in ("gaussian", "in_small_span"):
        rows = make(name, 200, 12, 3)
        estimator = variant.build(12, 3).fit(rows)
        rank = int((np.linalg.eigvalsh(variant.expected(rows, 3).last) > 1e-9).sum())
        assert estimator.rank_ == estimator.subspace_.rank == rank
        assert estimator.rank_deficient_ is (rank < 5)
    for kind in (onepass.MSG, onepass.MEG):
        estimator = kind(2).fit(rows)
        assert 2 <= estimator.rank_ == estimator.subspace_.rank <= 12


def test_algorithms_are_all_listed():
    assert {v.algorithm for v in VARIANTS} == set(ALGORITHMS)


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


def test_variances_are_right_where_the_scale_changes():
    rows = np.random.default_rng(0).normal(size=(12_000, 300)) * np.r_[9, 6, np.ones(298)]
    rows[6000:] *= 5
    model = onepass.CappedMSG(2).fit(rows)
    exact = ((rows @ model.components_.T) ** 2).mean(axis=0)
    np.testing.assert_allclose(model.explained_variance_, exact, rtol=0.1)
