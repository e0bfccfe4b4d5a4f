"""Standard errors of a fitted model: what they mean, and that nothing on the way loses them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter
from sklearn.datasets import load_wine

import onepass
from onepass import PCA, CappedMSG

NAMES = ("components_error_", "explained_variance_error_", "angle_", "degrees_of_freedom_")


def rows(n: int = 3000, d: int = 20, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    mixed = np.linalg.qr(np.random.default_rng(9).normal(size=(d, d)))[0]
    return rng.normal(size=(n, d)) / np.arange(1, d + 1) @ mixed + 1.0


def assert_same_errors(one: Any, other: Any, tolerance: float = 0.0) -> None:
    for name in NAMES:
        found, wanted = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=name)
    assert one.captured_.mean == pytest.approx(other.captured_.mean, abs=max(tolerance, 1e-12))


def assert_they_are_the_spread(fits: list[PCA]) -> None:
    """Assert that the root mean square of the errors said is the spread found, within a third."""
    along = np.array([(fit.components_ * fits[0].components_).sum(axis=1) for fit in fits])
    components = [
        fit.components_ * sign[:, None] for fit, sign in zip(fits, np.sign(along), strict=True)
    ]
    variances = [fit.explained_variance_ for fit in fits]
    for found, error in (
        (components, "components_error_"),
        (variances, "explained_variance_error_"),
    ):
        spread = np.var(found, axis=0).reshape(2, -1).sum(axis=1)
        squares = np.mean([getattr(fit, error) ** 2 for fit in fits], axis=0)
        ratio = np.sqrt(squares.reshape(2, -1).sum(axis=1) / spread)
        assert ((ratio > 0.7) & (ratio < 1.4)).all()


@pytest.mark.parametrize("d", [20, 200])
@pytest.mark.parametrize("params", [{}, {"scale": True}, {"robust": True}, {"center": False}])
def test_they_are_the_spread_of_fits_to_other_rows(params: dict[str, Any], d: int) -> None:
    assert_they_are_the_spread([PCA(2, **params).fit(rows(1000, d, seed)) for seed in range(30)])


@pytest.mark.parametrize("scale", [False, True])
def test_gaps_make_them_as_much_larger_as_they_are(scale: bool) -> None:
    fits = []
    for seed in range(30):
        X = rows(1000, seed=seed)
        X[np.random.default_rng(seed).random(X.shape) < 0.28] = np.nan
        fits.append(PCA(2, scale=scale).fit(X))
    assert_they_are_the_spread(fits)


def test_the_algorithms_of_the_paper_have_none_and_say_so() -> None:
    fit = CappedMSG(3).fit(rows())
    assert np.isnan(fit.components_error_).all()
    assert np.isnan(fit.degrees_of_freedom_)
    assert fit.captured_.is_known
    assert "paper" in fit.model_.standard_errors.reason


def test_they_survive_files_of_many_columns() -> None:
    fit = PCA(3).fit(rows(600, 4100))
    assert not np.isnan(fit.angle_).any()
    for other in (fit, fit.for_transform()):
        assert_same_errors(onepass.from_bytes(other.to_bytes()), fit, 1e-6)


@pytest.mark.parametrize("d", [20, 200])
@pytest.mark.parametrize("robust", [False, True])
def test_merged_streams_have_the_errors_of_one(d: int, robust: bool) -> None:
    X = rows(8000, d)
    whole = PCA(3, robust=robust).fit(X)
    merged = onepass.merge(*(PCA(3, robust=robust).fit(part) for part in np.array_split(X, 5)))
    np.testing.assert_allclose(merged.angle_, whole.angle_, rtol=0.35)
    np.testing.assert_allclose(merged.captured_.mean, whole.captured_.mean, atol=1e-3)
    more = merged.partial_fit(rows(8000, d, seed=1))
    assert (more.angle_ < whole.angle_).all()


def test_weights_count_as_rows() -> None:
    """Rows of weight two have the errors of half as many rows of the same total weight."""
    weighted = PCA(2).fit(rows(), sample_weight=np.full(3000, 2.0))
    assert_same_errors(weighted, PCA(2).fit(rows()), 1e-9)


def test_with_a_half_life_fewer_rows_count() -> None:
    X = rows(20_000)
    fading, plain = PCA(2, half_life=1000).fit(X), PCA(2).fit(X)
    # About 2,885 rows count as much as independent ones: 1 / sum of squared weights.
    assert np.median(fading.angle_ / plain.angle_) == pytest.approx((20_000 / 2885) ** 0.5, rel=0.4)
    assert fading.degrees_of_freedom_ > 8


@pytest.mark.parametrize("n", [3, 60, 127])
def test_few_rows_have_none_and_a_reason(n: int) -> None:
    fit = PCA(2).fit(rows(n))
    for name in NAMES:
        assert np.isnan(getattr(fit, name)).all()
    assert "128 rows" in fit.captured_.reason


def test_of_many_components_the_first_32_have_errors() -> None:
    fit = PCA(40).fit(rows(2000, 60))
    known = ~np.isnan(fit.angle_)
    assert known.tolist() == [True] * 32 + [False] * 8
    assert not np.isnan(fit.components_error_[:32]).any()


@pytest.mark.parametrize("order", ["as it comes", "reversed", "shuffled"])
def test_the_share_captured_does_not_hang_on_the_order_of_the_rows(order: str) -> None:
    """Ten folds of shuffled rows of this table, which is sorted by class, capture 0.649."""
    X = load_wine().data
    if order == "reversed":
        X = X[::-1]
    if order == "shuffled":
        X = X[np.random.default_rng(0).permutation(len(X))]
    captured = PCA(3, scale=True).fit(X).captured_
    assert abs(captured.mean - 0.649) < 0.02
    assert abs(captured.mean - 0.649) < 2.3 * captured.standard_error


@pytest.mark.parametrize("parts", [1, 40])
@pytest.mark.parametrize("depends", [0.0, 0.8])
def test_the_share_captured_is_that_of_new_rows(parts: int, depends: float) -> None:
    """In 12 streams, of rows that may depend on their neighbours, at most 2 intervals miss it."""
    spectrum, missed = 1 / np.arange(1, 31) ** 0.5, 0
    for seed in range(12):
        noise = np.random.default_rng(seed).normal(size=(20_000, 30))
        X = lfilter([(1 - depends**2) ** 0.5], [1, -depends], noise, axis=0) * spectrum
        model = onepass.merge(*(PCA(3).fit(part) for part in np.array_split(X, parts)))
        directions = model.components_ * spectrum
        truth = (directions**2).sum() / (spectrum**2).sum()
        missed += abs(model.captured_.mean - truth) > 2.04 * model.captured_.standard_error
    assert missed <= 2


def test_drift_of_the_share_captured_is_seen_and_is_rare_without() -> None:
    X = rows(4000)
    found = PCA(2).fit(X).model_.standard_errors.drift
    assert not found.is_there
    later = np.vstack([X[:2000], X[2000:] @ np.diag(np.linspace(1.0, 3.0, 20))])
    drifting = PCA(2).fit(later)
    assert drifting.model_.standard_errors.drift.is_there
    small = onepass.from_bytes(drifting.for_transform().to_bytes())
    assert small.model_.standard_errors.drift == drifting.model_.standard_errors.drift
    seen = [PCA(2).fit(rows(1000, 20, seed)).model_.standard_errors.drift for seed in range(50)]
    assert sum(drift.is_there for drift in seen) <= 4


def test_drift_is_not_known_where_directions_have_not_settled() -> None:
    X = np.random.default_rng(0).normal(size=(2000, 300))
    assert np.isnan(PCA(3).fit(X).model_.standard_errors.drift.statistic)
