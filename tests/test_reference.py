"""The reference is judged by certificates, since nothing else stands above it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests import reference

spectra = arrays(float, st.integers(2, 12), elements=st.floats(-3, 3))


@given(spectra, st.data(), st.sampled_from(["exact", "at_most"]))
def test_projection_is_the_nearest_feasible_point(values, data, trace):
    k = data.draw(st.integers(1, len(values) - 1))
    nearest = reference.project(values, k, trace)
    assert nearest.min() >= 0
    assert nearest.max() <= 1
    assert nearest.sum() <= k + 1e-12
    if trace == "exact":
        assert nearest.sum() == pytest.approx(k, abs=1e-12)
    # No feasible point lies further along the way back to `values`: the linear function
    # <values - nearest, .> is largest over the feasible set at a vertex, its k largest entries.
    pull = values - nearest
    best = np.sort(pull)[::-1][:k]
    largest = best.sum() if trace == "exact" else np.maximum(best, 0).sum()
    assert pull @ nearest == pytest.approx(largest, abs=1e-9)


@given(spectra, st.data())
def test_capping_scales_and_cuts(logs, data):
    total = len(logs) - data.draw(st.integers(1, len(logs) - 1))
    capped = reference.cap_logarithms(logs, total)
    assert np.exp(capped).sum() == pytest.approx(total, abs=1e-12)
    free = capped < 0  # never empty: all ones would sum to more than `total`
    factors = (capped - logs)[free]
    assert np.ptp(factors) < 1e-12
    assert (logs[~free] + factors.max() >= -1e-12).all()


def test_centred_rows_have_the_centred_scatter():
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(3, 1, (20, 4)), rng.integers(0, 4, 20)
    repeated = np.repeat(rows, weights, axis=0)
    scatter = np.cov(repeated.T, bias=True) * len(repeated)
    centred = reference.weigh(rows, weights.astype(float), center=True)
    np.testing.assert_allclose(centred.T @ centred, scatter, rtol=1e-12)


def test_meg_of_commuting_rows_is_the_scalar_update():
    """On one-hot rows MEG multiplies one eigenvalue of W by exp(-eta) and rescales."""
    d, k, eta = 4, 1, 0.5
    push = np.sqrt(eta) * np.eye(1, d)
    *_, M = reference.meg([push], d, k)
    W = np.full(d, (d - k) / d)
    W[0] *= np.exp(-eta)
    others = (d - k) * W / W.sum()
    assert others.max() < 1
    np.testing.assert_allclose(M, np.diag(1 - others), atol=1e-14)
