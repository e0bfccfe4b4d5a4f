"""Second moments of rows of bounded energy: layers that add up, against sums over the rows."""

from math import inf

import numpy as np
import pytest
from scipy import sparse, stats

from onepass.moments import eigen
from onepass.pca import bounds as module
from onepass.pca.bounds import BOUNDED, BOUNDS, MILD, PLAIN, Bounds, Typical, exact_columns
from onepass.rows.rows import rows_about
from onepass.rows.stream import Stream
from tests import reference

D = 6
RNG = np.random.default_rng(0)
NAMES = (BOUNDED, MILD, PLAIN)


def stream(kind=np.asarray, center=True, dtype=float):
    return Stream(D, np.dtype(dtype), kind is not np.asarray, center)


def heavy(n, seed=0):
    """Rows whose lengths differ by orders of magnitude, about a far point."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, D)) * np.linspace(3, 0.5, D)
    return rows * rng.standard_t(1.5, (n, 1)) + 20


def even(n, seed=1):
    """Rows of one length."""
    rows = np.random.default_rng(seed).normal(size=(n, D))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


ROWS = heavy(300)
WEIGHTS = RNG.uniform(0.5, 2, 300)


def feed(bounds, rows, weights, kind=np.asarray, parts=4):
    """Add rows in parts; return the weights with which each candidate should have them."""
    shares = {name: [] for name in bounds.names}
    for part in np.array_split(np.arange(len(rows)), parts):
        near, scaled = bounds.about(kind(rows[part]), weights[part])
        units = 1.0 if scaled.scale is None else scaled.scale
        energies = (((rows[part] - bounds.typical.centre) / units) ** 2).sum(axis=1)
        bounds.add(near, scaled, energies)
        for name in bounds.names:
            limit = BOUNDS[name] * bounds.typical.energy
            shares[name].append(np.minimum(1.0, limit / energies))
    return {name: np.concatenate(parts) for name, parts in shares.items()}


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("names", [NAMES, (BOUNDED, PLAIN)])
@pytest.mark.parametrize("scale", [False, True])
def test_layers_add_up_to_bounded_weights(center, kind, names, scale):
    """A row counts with min(1, b tau / e), whatever the number of layers is."""
    bounds = Bounds(stream(kind, center), names, scale=scale, at_once=True)
    rows = ROWS if center else ROWS - 20
    shares = feed(bounds, rows, WEIGHTS, kind)
    assert shares[BOUNDED].min() < 0.01 < 0.99 < shares[BOUNDED].max()
    for name in names:
        counted = WEIGHTS * shares[name]
        mean, S = reference.scatter(rows, counted, center=center)
        found = bounds.of(name)
        np.testing.assert_allclose(found.scatter(), S, rtol=0, atol=1e-10 * np.trace(S))
        np.testing.assert_allclose(found.mean, mean, rtol=1e-10)
        assert found.weight == pytest.approx(counted.sum())
    np.testing.assert_array_equal(shares[PLAIN], np.ones(300))


@pytest.mark.parametrize("rank", [None, 3])
@pytest.mark.parametrize("scale", [False, True])
def test_means_and_deviations_are_those_of_all_rows(rank, scale):
    bounds = Bounds(stream(), NAMES, rank=rank, scale=scale, at_once=True)
    feed(bounds, ROWS, WEIGHTS)
    mean, S = reference.scatter(ROWS, WEIGHTS, center=True)
    np.testing.assert_allclose(bounds.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(bounds.column_sums(), np.diag(S), rtol=1e-9)
    np.testing.assert_allclose(bounds.deviations(), np.sqrt(np.diag(S) / WEIGHTS.sum()), rtol=1e-9)
    assert bounds.weight == pytest.approx(WEIGHTS.sum())
    assert (bounds.scale_now() is None) is not scale


def test_bounds_apply_once_rows_turn_out_to_be_uneven():
    bounds = Bounds(stream(), NAMES)
    feed(bounds, even(300), np.ones(300))
    assert not bounds.compares
    assert bounds.of(BOUNDED) is bounds.of(PLAIN) is bounds.plain()
    before = bounds.plain().scatter()
    feed(bounds, heavy(100), np.ones(100), parts=1)
    assert bounds.compares
    for name in NAMES:  # what came before is in all of them, whole
        assert 300 < bounds.of(name).weight <= 400
    energies = [bounds.of(name).energy() for name in NAMES]
    assert before.trace() < energies[0] < energies[1] < energies[2]


def test_reading_a_candidate_changes_nothing():
    bounds = Bounds(stream(), NAMES, at_once=True)
    feed(bounds, ROWS, WEIGHTS)
    first = {name: bounds.of(name).scatter() for name in NAMES}
    for name in reversed(NAMES):
        np.testing.assert_array_equal(bounds.of(name).scatter(), first[name])


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("compares", [False, True])
def test_directions_are_improved_from_previous_ones(center, scale, compares, monkeypatch):
    """They are those that each candidate's second moment has, found without forming it."""
    monkeypatch.setattr(eigen, "SMALL", 0)
    d, k, rng = 60, 2, np.random.default_rng(0)
    rows = rng.normal(size=(2000, d)) + rng.normal(size=(2000, k)) @ rng.normal(size=(k, d))
    lengths = rng.standard_t(2.5, (2000, 1)) if compares else np.ones((2000, 1))
    rows = rows * lengths / np.linalg.norm(rows, axis=1, keepdims=True)
    bounds = Bounds(Stream(d, np.dtype(float), False, center), NAMES, scale=scale)
    feed(bounds, rows[:1600], np.ones(1600))
    start = np.stack([found for found, _ in bounds.directions(k, np.zeros((0, k, d)))])
    assert len(start) == (3 if compares else 1)
    feed(bounds, rows[1600:], np.ones(400), parts=1)
    monkeypatch.setattr(Bounds, "of", None)  # a sum of layers is not needed
    found = bounds.directions(k, start)
    monkeypatch.undo()
    for name, (directions, sums) in zip(NAMES if compares else [PLAIN], found, strict=True):
        _, wanted = bounds.of(name).leading(k, bounds.scale_now())
        captured = np.trace(bounds.of(name).compress(directions, bounds.scale_now()))
        assert (1 - 1e-4) * wanted.sum() < captured <= (1 + 1e-12) * wanted.sum()
        np.testing.assert_allclose(sums.sum(), captured, rtol=1e-9)


@pytest.mark.parametrize("center", [False, True])
def test_merged_they_are_sums_over_all_rows(center):
    one, other = (Bounds(stream(center=center), NAMES, at_once=True) for _ in range(2))
    shares = feed(one, ROWS[:200], WEIGHTS[:200]), feed(other, ROWS[200:] + 3, WEIGHTS[200:])
    kept = other.plain().scatter()
    one.merge(other)
    rows = np.vstack([ROWS[:200], ROWS[200:] + 3])
    for name in NAMES:
        counted = WEIGHTS * np.concatenate([part[name] for part in shares])
        _, S = reference.scatter(rows, counted, center=center)
        np.testing.assert_allclose(one.of(name).scatter(), S, rtol=0, atol=1e-10 * np.trace(S))
    np.testing.assert_array_equal(other.plain().scatter(), kept)


@pytest.mark.parametrize("rank", [None, 3])
@pytest.mark.parametrize("first", [False, True])
def test_those_that_compare_merge_with_those_that_do_not(first, rank):
    whole, cut = (Bounds(stream(), NAMES, rank=rank) for _ in range(2))
    rows = even(100)
    feed(whole, rows, np.ones(100))
    feed(cut, ROWS, WEIGHTS)
    assert (whole.compares, cut.compares) == (False, True)
    one, other = (cut, whole) if first else (whole, cut)
    one.merge(other)
    assert one.compares
    assert other.compares is not first
    both, weights = np.vstack([ROWS, rows]), np.append(WEIGHTS, np.ones(100))
    mean, S = reference.scatter(both, weights, center=True)
    np.testing.assert_allclose(one.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(one.column_sums(), np.diag(S), rtol=1e-9)


def test_nothing_learned_merges():
    one, other = Bounds(stream(), NAMES), Bounds(stream(), NAMES)
    feed(other, ROWS, WEIGHTS)
    one.merge(other)
    np.testing.assert_allclose(one.plain().scatter(), other.plain().scatter(), rtol=1e-12)
    one.merge(Bounds(stream(), NAMES))
    np.testing.assert_allclose(one.plain().scatter(), other.plain().scatter(), rtol=1e-12)


def test_sketches_are_one_for_each_candidate():
    """With room for all directions they are exact but for what is taken off."""
    bounds = Bounds(stream(), (BOUNDED, PLAIN), rank=D, at_once=True)
    shares = feed(bounds, ROWS, WEIGHTS)
    for name in bounds.names:
        _, S = reference.scatter(ROWS, WEIGHTS * shares[name], center=True)
        found = bounds.of(name).compress(np.eye(D))
        np.testing.assert_allclose(found, S, rtol=0, atol=1e-8 * np.trace(S))


def test_what_fades_counts_less():
    bounds, weights = Bounds(stream(), NAMES, at_once=True), np.ones(150)
    shares = feed(bounds, ROWS[:150], weights)
    bounds.fade(0.25)
    later = feed(bounds, ROWS[150:], weights)
    for name in NAMES:
        counted = np.concatenate([0.25 * shares[name], later[name]])
        _, S = reference.scatter(ROWS, counted, center=True)
        np.testing.assert_allclose(bounds.of(name).scatter(), S, rtol=0, atol=1e-10 * np.trace(S))


@pytest.mark.parametrize("rank", [None, 3])
@pytest.mark.parametrize("compares", [False, True])
def test_states_are_the_same(rank, compares):
    bounds = Bounds(stream(), (BOUNDED, PLAIN), rank=rank, at_once=compares)
    rows = ROWS if compares else even(300)
    feed(bounds, rows, WEIGHTS)
    again = Bounds(stream(), (BOUNDED, PLAIN), rank=rank, at_once=compares)
    again.restore(*bounds.saved())
    assert again.compares is compares
    feed(bounds, ROWS, WEIGHTS)
    feed(again, ROWS, WEIGHTS)
    for name in (BOUNDED, PLAIN):
        np.testing.assert_array_equal(
            again.of(name).compress(np.eye(D)), bounds.of(name).compress(np.eye(D))
        )


# -- typical energies ------------------------------------------------------------------------------


def typical_of(rows, weights=None, center=True, parts=3):
    weights = np.ones(len(rows)) if weights is None else weights
    typical = Typical(D, center)
    for number, part in enumerate(np.array_split(np.arange(len(rows)), parts)):
        near = rows_about(rows[part], weights[part], np.zeros(D))
        if not number:
            typical.start(near)
        typical.add(near, ((rows[part] - typical.centre) ** 2).sum(axis=1))
    return typical


def test_the_centre_of_the_first_rows_is_their_spatial_median():
    rows = heavy(400, seed=3)
    typical = Typical(D, True)
    typical.start(rows_about(rows, np.ones(400), np.full(D, 20.0)))
    apart = rows - typical.centre
    pulls = apart / np.linalg.norm(apart, axis=1, keepdims=True)
    # At the median unit vectors to all rows add up to nothing, but for the rows next to it.
    assert np.linalg.norm(pulls.mean(axis=0)) < 0.02


@pytest.mark.parametrize("center", [False, True])
def test_the_typical_energy_is_the_power_mean(center):
    rows = RNG.normal(size=(200, D)) * np.linspace(3, 0.5, D)
    typical = Typical(D, center)
    energies = (rows**2).sum(axis=1)
    typical.add(rows_about(rows, WEIGHTS[:200], np.zeros(D)), energies)
    wanted = (WEIGHTS[:200] @ energies**0.25 / WEIGHTS[:200].sum()) ** 4
    assert typical.energy == pytest.approx(wanted)


def test_a_few_rows_cannot_move_it():
    rows = RNG.normal(size=(1000, D)) + 5
    clean = typical_of(rows)
    spoiled = rows.copy()
    spoiled[::50] += 100
    found = typical_of(spoiled)
    assert np.abs(found.centre - clean.centre).max() < 0.1
    # A share s of energies E moves it by at most (1 + s (E / e)^p)^(1 / p).
    most = (1 + 0.02 * (D * 1e4 / clean.energy) ** 0.25) ** 4
    assert clean.energy < found.energy < 1.1 * most * clean.energy


@pytest.mark.parametrize(
    ("rows", "uneven"),
    [
        (stats.norm.rvs(size=(2000, 20), random_state=0), False),
        (stats.t.rvs(2.5, size=(2000, 1), random_state=1) * np.ones((1, 20)), True),
        (np.ones((10, 20)), False),
        (np.zeros((10, 20)), False),
    ],
)
def test_uneven_lengths(rows, uneven):
    typical = Typical(20, False)
    typical.add(rows_about(rows, np.ones(len(rows)), np.zeros(20)), (rows**2).sum(axis=1))
    assert typical.is_uneven() is uneven


def test_merged_typical_energies_are_those_of_all_rows():
    one, other = typical_of(ROWS[:100]), typical_of(1e3 * ROWS[100:])
    energies = [
        ((rows - part.centre) ** 2).sum(axis=1)
        for rows, part in ((ROWS[:100], one), (1e3 * ROWS[100:], other))
    ]
    sums = one.sums[0] + other.sums[0]
    one.merge(other)
    assert one.sums[0] == sums == 300
    # The centre moved while rows came, so that energies about the last one are near those.
    wanted = np.mean(np.concatenate(energies) ** 0.25) ** 4
    assert one.energy == pytest.approx(wanted, rel=0.2)


@pytest.mark.parametrize("which", [0, 1])
def test_merging_with_no_rows_changes_nothing(which):
    typical = typical_of(ROWS)
    before = typical.energy, typical.centre.copy(), typical.pull
    pair = [typical, Typical(D, True)]
    one, other = pair[which], pair[1 - which]
    one.merge(other)
    assert one.energy == pytest.approx(before[0])
    np.testing.assert_allclose(one.centre, before[1])
    assert one.pull == pytest.approx(before[2])


def test_rows_at_the_centre_and_huge_rows_are_harmless():
    rows = np.vstack([np.zeros((30, D)), 1e99 * np.ones((3, D))])
    typical = typical_of(rows, parts=1)
    assert np.isfinite(typical.energy)
    assert np.isfinite(typical.centre).all()
    assert np.isfinite(typical.sums).all()


def test_limits_of_columns(monkeypatch):
    assert exact_columns(is_sparse=False) == 4096
    assert exact_columns(is_sparse=True) == 8192
    monkeypatch.setattr(module, "EXACT_BYTES", 8 * 30**2)
    assert exact_columns(is_sparse=False) == 30


def test_bounds_are_from_tight_to_none():
    assert list(BOUNDS) == [BOUNDED, MILD, PLAIN]
    assert list(BOUNDS.values()) == sorted(BOUNDS.values())
    assert BOUNDS[PLAIN] == inf
