"""What a fitted estimator publishes, and comparisons of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests import reference
from tests.contracts.variants import Variant

ATTRIBUTES = (
    "components_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "mean_",
    "noise_variance_",
    "components_error_",
    "explained_variance_error_",
    "angle_",
    "degrees_of_freedom_",
    "n_components_",
    "n_samples_seen_",
    "n_features_in_",
)


def published(estimator: Any) -> dict[str, Any]:
    """Return everything that the design promises, by name; arrays and numbers only."""
    results = {name: getattr(estimator, name) for name in ATTRIBUTES}
    results["captured_.mean"] = estimator.captured_.mean
    results["captured_.standard_error"] = estimator.captured_.standard_error
    for name in ("subspace_", "average_"):
        if hasattr(estimator, name):
            subspace = getattr(estimator, name)
            results[f"{name}.basis"] = subspace.basis
            results[f"{name}.weights"] = subspace.weights
            results[f"{name}.rest"] = subspace.rest
    return results


def assert_identical(one: Any, other: Any) -> None:
    """Demand the same bits of two estimators."""
    first, second = published(one), published(other)
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_array_equal(second[name], value, err_msg=name, strict=True)


def assert_orthonormal(basis: np.ndarray, tolerance: float = 1e-12) -> None:
    """Demand orthonormal rows of a (m, d) array."""
    gram = basis @ basis.T
    np.testing.assert_allclose(gram, np.eye(len(basis)), rtol=0, atol=tolerance)


def assert_equals_reference(
    estimator: Any,
    variant: Variant,
    rows: np.ndarray,
    k: int,
    weights: np.ndarray | None = None,
    tolerance: float = 1e-10,
    outcome: reference.Outcome | None = None,
) -> None:
    """Demand the reference's iterate and average, and the mean and variances of the rows.

    Everything is compared to `tolerance`, relative to the largest entry or to one. What the
    reference makes of the rows may be given, so that it is worked out once.
    """
    present = np.ones(len(rows), bool) if weights is None else weights > 0
    assert estimator.n_samples_seen_ == present.sum()
    assert_variances_are_those_of(estimator, variant, rows, weights, tolerance)
    if variant.is_batch:
        assert_leading(estimator, variant, rows, weights, tolerance)
        return
    outcome = outcome or variant.expected(rows, k, weights)
    assert_close(estimator.subspace_.to_dense(), outcome.last, tolerance)
    if variant.averages and rows.shape[1] <= 2 * k + 16:  # beyond that it is truncated
        assert_close(estimator.average_.to_dense(), outcome.average, tolerance)


def assert_close(actual: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    """Compare matrices relative to max(1, the largest entry)."""
    scale = max(1.0, np.abs(wanted).max())
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=tolerance * scale)


def assert_variances_are_those_of(
    estimator: Any,
    variant: Variant,
    rows: np.ndarray,
    weights: np.ndarray | None,
    tolerance: float,
) -> None:
    """Demand that mean, variances and shares are those of the rows, along uncorrelated components.

    Up to 256 columns all estimators know the variances of all rows exactly.
    """
    mean, S = reference.scatter(rows, weights, center=variant.center)
    assert_close(estimator.mean_, mean, tolerance)
    total = np.trace(S)
    if total < 1e-12 * max(1.0, np.sum(rows**2)):  # all rows are the same
        return
    V = estimator.components_.astype(np.float64)
    assert_orthonormal(V, max(1e-12, tolerance))
    shares = V @ S @ V.T / total
    wanted = np.diag(estimator.explained_variance_ratio_)
    np.testing.assert_allclose(shares, wanted, rtol=0, atol=tolerance)
    assert (np.diff(estimator.explained_variance_) <= 0).all()
    if weights is None:
        per_row = total / (len(rows) - variant.center)
        variances = estimator.explained_variance_ / per_row
        np.testing.assert_allclose(variances, np.diag(shares), rtol=0, atol=tolerance)
        squares = estimator.singular_values_**2 / total
        np.testing.assert_allclose(squares, np.diag(shares), rtol=0, atol=tolerance)
        if len(V) < len(S):
            noise = (1 - np.trace(shares)) / (len(S) - len(V))
            assert estimator.noise_variance_ / per_row == pytest.approx(noise, abs=tolerance)


def assert_leading(
    estimator: Any,
    variant: Variant,
    rows: np.ndarray,
    weights: np.ndarray | None,
    tolerance: float,
) -> None:
    """Demand the leading eigenvectors of the rows' second moment, up to ties."""
    _, S = reference.scatter(rows, weights, center=variant.center)
    values, vectors = np.linalg.eigh(S)
    V, total = estimator.components_.astype(np.float64), np.trace(S) or 1.0
    k = len(V)
    np.testing.assert_allclose(np.diag(V @ S @ V.T) / total, values[::-1][:k] / total,
                               rtol=0, atol=tolerance)  # fmt: skip
    # Each component where its eigenvalue is apart from all others.
    gaps = np.abs(values[:, None] - values) + np.diag(np.full(len(values), np.inf))
    apart = gaps.min(axis=1)[::-1][:k] > 1e-2 * total
    cosines = np.abs(np.sum(V * vectors[:, ::-1].T[:k], axis=1))
    np.testing.assert_allclose(cosines[apart], 1, rtol=0, atol=tolerance)
