"""The share captured of new rows, against its formula and against new rows."""

from math import isnan, sqrt

import numpy as np
import pytest

from onepass import Oja, merge
from onepass.algorithms import held_out as module
from onepass.algorithms.held_out import HeldOut


def rows(count, seed=0):
    """Return captured energies and energies of some rows."""
    rng = np.random.default_rng(seed)
    energy = rng.exponential(size=count)
    return energy * rng.random(count), energy


def held(captured, energy, length, learned=None):
    """Return what was held out of rows that came so many at a time."""
    found = HeldOut()
    for start in range(0, len(energy), length):
        part = slice(start, start + length)
        found.add(captured[part], energy[part], max(start, 1) if learned is None else learned)
    return found


def naive(captured, energy, learned, n, seen):
    """Return the estimate and its error by the formula of the module, from rows one by one."""
    new = sum(captured) / sum(energy)
    h = max(n * sum(1 / t for t in learned) / len(learned), 1.0)
    w = (h - 1) / (h + 1)
    squares = sum((c - new * e) ** 2 for c, e in zip(captured, energy, strict=True))
    sampling = sqrt(squares) / sum(energy)
    part = min(len(captured) / n, 1.0)
    spread = sampling * sqrt((1 - w) ** 2 + (2 * w * (1 - w) + w * w) * part)
    error = sqrt(spread**2 + ((seen - new) / (2 * (h + 1))) ** 2)
    return w * seen + (1 - w) * new, error


@pytest.mark.parametrize("unit", [1.0, 1e-60, 1e60])
@pytest.mark.parametrize(("length", "first"), [(1000, 441), (100, 500), (250, 500)])
def test_it_is_the_formula_over_the_last_half(length, first, unit):
    """That begins within a sixteenth of where it should, however many rows come at a time."""
    captured, energy = rows(1000)
    found = held(unit * captured, unit * energy, length).estimate(1000, 0.6)
    learned = [max(row // length * length, 1) for row in range(first, 1000)]
    mean, error = naive(captured[first:], energy[first:], learned, 1000, 0.6)
    assert (found.mean, found.standard_error) == pytest.approx((mean, error), rel=1e-9)


def test_a_share_that_is_not_known_has_a_reason():
    few = held(*rows(module.LEAST_ROWS - 1), 5).estimate(module.LEAST_ROWS - 1, 0.5)
    energy = np.random.default_rng(0).pareto(0.7, 200)
    captured = energy * (np.random.default_rng(1).random(200) < 0.5)
    heavy = held(captured, energy, 200, learned=200.0).estimate(200, 0.5)
    apart = held(0.1 * energy, energy, 200, learned=200.0).estimate(200, 0.95)
    constant = held(np.zeros(500), np.zeros(500), 500, learned=55.0).estimate(560, 1.0)
    for found in (HeldOut().estimate(0, 0.5), few, heavy, apart, constant):
        assert isnan(found.mean)
        assert isnan(found.standard_error)
        assert found.reason
    _, energy = rows(module.LEAST_ROWS)
    enough = held(0.5 * energy, energy, len(energy), learned=32.0)
    assert enough.estimate(32, 0.5).is_known


def test_what_was_captured_may_be_less_than_nothing_and_is_limited():
    for huge in (1e308, -1e308):
        found = held(*rows(100), 50)
        found.add(np.array([huge]), np.array([abs(huge)]), 100.0)
        estimate = found.estimate(101, 0.5)
        assert isnan(estimate.mean) or 0.0 <= estimate.mean <= 1.0
        assert np.isfinite(found.table).all()


@pytest.mark.parametrize("unit", [1.0, 1e-60, 1e60])
def test_the_curve_is_that_of_every_part(unit):
    captured, energy = rows(60)
    curve = held(unit * captured, unit * energy, 12).curve()
    assert curve[:, 0].tolist() == [12, 24, 36, 48, 60]
    for number, found in enumerate(curve):
        part = slice(12 * number, 12 * number + 12)
        share = captured[part].sum() / energy[part].sum()
        error = np.linalg.norm(captured[part] - share * energy[part]) / energy[part].sum()
        assert tuple(found[1:]) == pytest.approx((share, error), rel=1e-9)


@pytest.mark.parametrize("ratio", [1.0, 1e3])
def test_merged_it_is_that_of_both(ratio):
    captured, energy = rows(400)
    one = held(captured[:200], energy[:200], 200, learned=150.0)
    other = held(ratio * captured[200:], ratio * energy[200:], 200, learned=150.0)
    kept = other.table.copy()
    one.merge(other)
    np.testing.assert_array_equal(other.table, kept)
    captured[200:], energy[200:] = ratio * captured[200:], ratio * energy[200:]
    found = one.estimate(400, 0.55)
    latest = np.r_[96:200, 296:400]  # segments of 32 rows, which end with one of 8
    wanted = naive(captured[latest], energy[latest], [150.0] * 208, 400, 0.55)
    assert (found.mean, found.standard_error) == pytest.approx(wanted, rel=1e-9)


# -- what it is for --------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 40])
def test_it_covers_what_is_captured_of_new_rows(parts):
    """Within three standard errors, which four of a thousand are not; also of merged models."""
    rng = np.random.default_rng(0)
    spectrum = 1 / np.sqrt(np.arange(1, 31))
    new = rng.normal(size=(50_000, 30)) * spectrum
    for _ in range(4):
        data = rng.normal(size=(10_000, 30)) * spectrum
        model = merge(*(Oja(5).partial_fit(part) for part in np.array_split(data, parts)))
        assert model.captured_.standard_error < 0.02
        apart = abs(model.captured_.mean - model.score(new))
        assert apart < 3 * model.captured_.standard_error
