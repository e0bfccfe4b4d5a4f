"""The share that is foreseen, against its definition written out number by number."""

from math import hypot, isnan, sqrt

import numpy as np
import pytest

from onepass import PCA, OnepassWarning
from onepass.learning import captured_share as module
from onepass.learning.captured_share import Foresight

# For each period: rows before it; energy along the directions at its beginning and at its end;
# then captured and whole energy of each of its rows.
PERIODS = [
    (10.0, 20.0, 31.0, [2.0, 3.0, 2.5], [4.0, 5.0, 6.0]),
    (13.0, 31.5, 41.0, [1.0, 4.0], [3.0, 7.0]),
    (40.0, 90.0, 99.0, [2.0, 2.0, 3.0, 1.0], [2.5, 4.0, 5.0, 2.0]),
    (50.0, 99.5, 108.0, [3.0, 2.0, 3.0], [4.0, 3.0, 7.0]),
]
BEFORE = 9.0  # the weight of the mean that rows were taken about


def made(periods=PERIODS, unit=1.0):
    foresight = Foresight()
    for start, inside, end, captured, energy in periods:
        foresight.ask(start, unit * inside)
        foresight.add(unit * np.array(captured), unit * np.array(energy), BEFORE)
        foresight.close(unit * end)
    return foresight


def spread(periods):
    """Return the variance of what a row captures beyond its share of the energy."""
    shrink = BEFORE / (BEFORE + 1.0)
    pairs = [
        (c * shrink, e * shrink) for *_, cs, es in periods for c, e in zip(cs, es, strict=True)
    ]
    share = sum(c for c, _ in pairs) / sum(e for _, e in pairs)
    return sum((c - share * e) ** 2 for c, e in pairs) / (len(pairs) - 1)


def foreseen(periods, rows, inside, energy):
    """Return the two estimates, each with its error."""
    shrink, latest = BEFORE / (BEFORE + 1.0), max(start for start, *_ in periods)
    gaps = weights = 0.0
    for start, begin, end, captured, _ in periods:
        if start >= latest / 4:
            gaps += end - begin - shrink * sum(captured)
            weights += len(captured) / start
    a = max(gaps / weights, 0.0)
    count = whole = new = more = 0.0
    for start, _, _, captured, energies in periods:
        if start >= latest / 2:
            count += len(captured)
            new += shrink * sum(captured)
            whole += shrink * sum(energies)
            more += a * len(captured) * max(1 / start - 1 / rows, 0.0)
    shares = (inside - 2 * a) / energy, (new + more) / whole
    apart, errors = abs(shares[0] - shares[1]), []
    sampling = [sqrt(rows * spread(periods)) / energy, sqrt(count * spread(periods)) / whole]
    for correction, error in zip((a / energy, more / whole), sampling, strict=True):
        unsure = hypot(apart, 0.25 * correction)
        if apart < 2.0 * hypot(*sampling):
            unsure = min(correction, unsure)
        errors.append(hypot(error, unsure))
    return tuple(zip(shares, errors, strict=True))


@pytest.mark.parametrize("unit", [1.0, 1e-60, 1e60])
@pytest.mark.parametrize(
    ("rows", "inside", "energy", "chosen"),
    [(53.0, 110.0, 1900.0, 0), (53.0, 110.0, 40.0, 1), (53.0, 300.0, 400.0, 0)],
)
@pytest.mark.parametrize("periods", [PERIODS, PERIODS[:2], PERIODS[2:]])
def test_the_estimate_with_the_smaller_error(periods, rows, inside, energy, chosen, unit):
    found = made(periods, unit).value(rows, unit * inside, unit * energy)
    both = foreseen(periods, rows, inside, energy)
    assert both[chosen][1] < both[1 - chosen][1]
    assert found.mean == pytest.approx(both[chosen][0], rel=1e-10)
    assert found.standard_error == pytest.approx(both[chosen][1], rel=1e-10)


def test_directions_that_gain_nothing_are_not_corrected():
    periods = [(start, inside, inside, c, e) for start, inside, _, c, e in PERIODS]
    found = made(periods).value(53.0, 110.0, 190.0)
    assert found.mean == pytest.approx(110.0 / 190.0)
    assert found.standard_error == pytest.approx(sqrt(53.0 * spread(PERIODS)) / 190.0)


def test_one_row_tells_no_error():
    one = [(10.0, 20.0, 22.0, [2.0], [4.0])]
    assert isnan(made(one).value(11.0, 22.0, 40.0).mean)
    two = [(10.0, 20.0, 24.0, [2.0, 1.0], [4.0, 4.0])]
    assert made(two).value(12.0, 24.0, 40.0).standard_error > 0.0
    assert isnan(made(two).value(12.0, 0.0, 0.0).mean)


def test_the_curve_is_what_each_period_captured():
    foresight = made()
    foresight.ask(53.0, 108.0)  # in which no row has come yet
    curve = foresight.curve()
    shrink = BEFORE / (BEFORE + 1.0)
    for found, (start, _, _, captured, energy) in zip(curve, PERIODS, strict=True):
        assert found[0] == start + len(captured)
        assert found[1] == pytest.approx(sum(captured) / sum(energy))
        error = sqrt(len(captured) * spread(PERIODS)) / (shrink * sum(energy))
        assert found[2] == pytest.approx(error)
    assert Foresight().curve().shape == (0, 3)
    assert made([(10.0, 20.0, 22.0, [2.0], [4.0])]).curve().shape == (0, 3)


def test_only_the_latest_periods_are_kept():
    many = [(10.0 + 3 * i, 20.0 + i, 25.0 + i, [2.0, 3.0], [4.0, 5.0]) for i in range(40)]
    foresight = made(many)
    assert len(foresight.periods) == module.MOST_PERIODS
    np.testing.assert_allclose(
        foresight.periods[:, 0], [p[0] for p in many[-module.MOST_PERIODS :]]
    )
    assert foresight.squares[0] == 80.0  # errors come from all rows


@pytest.mark.parametrize("ratio", [1.0, 1e-3, 1e3])
def test_merged_periods_are_those_of_both(ratio):
    """Energies are those of the same rows, though each part keeps them in units of its own."""
    periods = [PERIODS[0], PERIODS[2], PERIODS[1], PERIODS[3]]
    first, other = made(periods[:2]), made(periods[2:])
    other.unit *= ratio
    other.periods[:, 2:] /= ratio
    other.squares[1:] /= ratio**2
    first.merge(other)
    found, wanted = first.value(53.0, 110.0, 190.0), made().value(53.0, 110.0, 190.0)
    assert found.mean == pytest.approx(wanted.mean, rel=1e-10)
    assert found.standard_error == pytest.approx(wanted.standard_error, rel=1e-10)
    np.testing.assert_allclose(first.curve(), made().curve(), rtol=1e-10)


def test_merging_with_nothing():
    alone, empty = made(), Foresight()
    alone.merge(Foresight())
    empty.merge(made())
    for found in (alone, empty):
        np.testing.assert_allclose(found.curve(), made().curve())


def test_fading_scales_every_sum():
    faded = made()
    faded.fade(0.5)
    np.testing.assert_allclose(faded.periods, 0.5 * made().periods)
    np.testing.assert_allclose(faded.squares, 0.5 * made().squares)
    faded.close(0.5 * PERIODS[-1][2])
    np.testing.assert_allclose(faded.periods, 0.5 * made().periods)


def test_a_copy_goes_on_by_itself():
    foresight = made()
    twin = foresight.copy()
    twin.fade(0.5)
    twin.add(np.ones(3), np.ones(3), BEFORE)
    np.testing.assert_array_equal(foresight.periods, made().periods)
    np.testing.assert_array_equal(foresight.squares, made().squares)


def test_a_share_is_between_none_and_all():
    periods = [(10.0, 20.0, 90.0, [2.0, 2.0, 2.0], [2.0, 2.1, 2.0])]  # learning gained far more
    for rows, inside, energy in [(14.0, 9.0, 10.0), (1e6, 30.0, 31.0), (1e6, 1e-3, 31.0)]:
        assert not all(0.0 <= mean <= 1.0 for mean, _ in foreseen(periods, rows, inside, energy))
        assert 0.0 <= made(periods).value(rows, inside, energy).mean <= 1.0


def test_a_share_of_skewed_rows_is_at_most_all():
    rng = np.random.default_rng(1)
    X = np.column_stack([*rng.normal(scale=9.0, size=(2, 2000)), rng.lognormal(10.0, 0.5, 2000)])
    with pytest.warns(OnepassWarning, match="scale=True"):
        assert 0.999 < PCA(2).fit(X).captured_.mean <= 1.0


def test_rows_of_a_period_may_come_in_parts():
    foresight = Foresight()
    for start, inside, end, captured, energy in PERIODS:
        foresight.ask(start, inside)
        for c, e in zip(captured, energy, strict=True):
            foresight.add(np.array([c]), np.array([e]), BEFORE)
        foresight.close(end)
    whole = made()
    found, wanted = foresight.value(53.0, 110.0, 190.0), whole.value(53.0, 110.0, 190.0)
    assert found.mean == pytest.approx(wanted.mean, rel=1e-12)
    assert found.standard_error == pytest.approx(wanted.standard_error, rel=1e-9)


def test_nothing_is_foreseen_where_nothing_varies_any_more():
    still = [*PERIODS, (120.0, 200.0, 200.0, [0.0, 0.0], [0.0, 0.0])]
    found = made(still).value(122.0, 200.0, 300.0)
    assert isnan(found.mean)
    assert isnan(found.standard_error)
    assert len(made(still).curve()) == len(PERIODS)


def test_later_rows_may_be_small_beside_the_first():
    """Energies are kept relative to the largest of the first rows."""
    first, small = PERIODS[0], 1e-9
    later = [
        (start, small * inside, small * end, [small * c for c in cs], [small * e for e in es])
        for start, inside, end, cs, es in PERIODS[2:]
    ]
    found = made([first, *later]).value(53.0, small * 110.0, small * 40.0)
    assert 0.0 < found.mean < 1.0
    curve = made([first, *later]).curve()
    np.testing.assert_allclose(curve[1:, 1], made().curve()[2:, 1])
    assert len(curve) == 3


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_huge_rows_stay_finite(sign):
    foresight = made([(10.0, 0.0, 1e-5, [1e-5], [2e-5])])
    foresight.ask(11.0, 0.0)
    foresight.add(np.array([sign * 1e308]), np.array([1e308]), 1e300)
    foresight.close(sign * 1e308)
    largest = module.LARGEST_RATIO
    np.testing.assert_allclose(foresight.periods[-1], [11.0, 1.0, 0.0, sign * largest, largest])
    foresight.add(np.zeros(1), np.ones(1), 1e300)
    foresight.close(sign * 1e303)
    assert abs(foresight.periods[-1, module.GAP]) < 2 * largest


def test_two_rows_have_a_curve():
    assert made([(10.0, 20.0, 24.0, [2.0, 1.0], [4.0, 4.0])]).curve().shape == (1, 3)


def test_a_period_without_rows_has_no_gap():
    foresight = made()
    foresight.ask(53.0, 108.0)
    assert foresight.periods[-1].tolist() == [53.0, 0.0, 0.0, 0.0, 0.0]
    found, wanted = foresight.value(53.0, 110.0, 190.0), made().value(53.0, 110.0, 190.0)
    assert found == wanted


@pytest.mark.parametrize("size", [20.0, 50.0, 100.0])
def test_one_huge_row_among_the_first_leaves_the_share_open(size):
    """No row scored the model before it, so only the two estimates together tell of it."""
    variances = 1.0 / np.arange(1.0, 21.0)
    X = np.random.default_rng(1).normal(size=(5000, 20)) * np.sqrt(variances)
    X[10] *= size
    model = PCA(5, robust=False).fit(X)
    truth = np.sum(model.components_**2 @ variances) / variances.sum()
    assert abs(model.captured_.mean - truth) < 1.96 * model.captured_.standard_error


@pytest.mark.parametrize(("energy", "explained"), [(150.0, True), (60.0, False)])
def test_a_difference_that_sampling_explains_is_bounded_by_the_correction(energy, explained):
    both = (seen, _), (new, _) = foreseen(PERIODS, 53.0, 130.0, energy)
    mean, error = min(both, key=lambda estimate: estimate[1])
    found = made().value(53.0, 130.0, energy)
    assert (found.mean, found.standard_error) == pytest.approx((mean, error), rel=1e-10)
    assert (error < abs(seen - new)) == explained
