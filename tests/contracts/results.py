"""What a fitted estimator publishes, and comparisons of it."""

from __future__ import annotations

from typing import Any

import numpy as np

ATTRIBUTES = (
    "components_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "mean_",
    "noise_variance_",
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
