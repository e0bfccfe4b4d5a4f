"""The second moment of rows of bounded energy, against sums over the rows."""

import numpy as np
import pytest
from scipy import sparse

from onepass.moments.chunk import chunk_about
from onepass.moments.exact import SecondMoment
from onepass.moments.segments import Segments
from onepass.pca.bounded import Bounded
from tests import reference

D = 6
RNG = np.random.default_rng(0)


def heavy(n, seed=0):
    """Rows whose lengths differ by orders of magnitude, about a far point."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, D)) * np.linspace(3, 0.5, D)
    return rows * rng.standard_t(1.5, (n, 1)) + 20


ROWS = heavy(300)
WEIGHTS = RNG.uniform(0.5, 2, 300)
SCALE = np.linspace(0.5, 2.0, D)


def bounded_of(moment):
    """Return bounded sums of no rows."""
    return Bounded(moment, Segments(D, whole=True))


def learn(bounded, rows, scaled):
    """Add rows as a learner does."""
    weights = bounded.weigh(scaled)
    bounded.segments.add(rows, weights)
    bounded.moment.add(rows if bounded.moment.is_additive else scaled, weights)


def feed(bounded, rows, weights, kind=np.asarray, scale=None, parts=4):
    """Add rows in parts; return the weights that they should have."""
    shares = []
    for part in np.array_split(np.arange(len(rows)), parts):
        origin = np.full(D, 19.0 if bounded.moment.center else 0.0)
        near = chunk_about(kind(rows[part]), weights[part], origin)
        before = bounded.centre.copy()
        learn(bounded, near, near if scale is None else near.scaled(scale))
        if not shares:
            before = start_of(rows[part], weights[part], bounded.moment.center, scale)
        units = 1.0 if scale is None else scale
        energies = (((rows[part] - before) / units) ** 2).sum(axis=1)
        shares.append(bounded.unit / np.maximum(energies, bounded.typical))
    return np.concatenate(shares)


def start_of(rows, weights, center, scale):
    """Return the centre that the first rows are measured from."""
    fresh = bounded_of(SecondMoment(D, center))
    near = chunk_about(rows, weights, np.full(D, 19.0 if center else 0.0))
    fresh._start(near if scale is None else near.scaled(scale))
    return fresh.centre


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [None, SCALE])
def test_a_row_counts_with_at_most_a_typical_energy(center, kind, scale):
    bounded = bounded_of(SecondMoment(D, center))
    rows = ROWS if center else ROWS - 20
    shares = feed(bounded, rows, WEIGHTS, kind, scale)
    assert shares.min() < 0.01 * shares.max()
    counted = WEIGHTS * shares
    mean, S = reference.scatter(rows, counted, center=center)
    found = bounded.moment
    np.testing.assert_allclose(found.times(np.eye(D)), S, rtol=0, atol=1e-9 * np.trace(S))
    np.testing.assert_allclose(found.mean, mean, rtol=1e-9)
    assert found.weight == pytest.approx(counted.sum())


@pytest.mark.parametrize("center", [False, True])
def test_merged_it_is_a_sum_over_all_rows(center):
    one, other = bounded_of(SecondMoment(D, center)), bounded_of(SecondMoment(D, center))
    shares = np.concatenate(
        [feed(one, ROWS[:200], WEIGHTS[:200]), feed(other, ROWS[200:] + 3, WEIGHTS[200:])]
    )
    kept = other.moment.times(np.eye(D))
    one.merge(other, None)
    rows = np.vstack([ROWS[:200], ROWS[200:] + 3])
    shares[200:] *= one.unit / other.unit
    _, S = reference.scatter(rows, WEIGHTS * shares, center=center)
    np.testing.assert_allclose(one.moment.times(np.eye(D)), S, rtol=0, atol=1e-9 * np.trace(S))
    np.testing.assert_array_equal(other.moment.times(np.eye(D)), kept)


def test_the_first_centre_is_the_spatial_median():
    apart = heavy(400, seed=3)
    apart = apart - start_of(apart, np.ones(400), True, None)
    pulls = apart / np.linalg.norm(apart, axis=1, keepdims=True)
    # At the median unit vectors to all rows add up to nothing, but for the rows next to it.
    assert np.linalg.norm(pulls.mean(axis=0)) < 0.02


def test_rows_at_the_centre_and_huge_rows_are_harmless():
    bounded = bounded_of(SecondMoment(D))
    rows = np.vstack([np.zeros((30, D)), 1e99 * np.ones((3, D))])
    near = chunk_about(rows, np.ones(33), np.zeros(D))
    learn(bounded, near, near)
    assert np.isfinite(bounded.typical)
    assert np.isfinite(bounded.centre).all()
    assert np.isfinite(bounded.moment.squares).all()
