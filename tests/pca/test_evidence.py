"""The choice between bounds: made-up evidence in which each comparison flips the answer."""

import numpy as np
import pytest
from scipy import stats

from onepass.pca.bounds import BOUNDED, MILD, PLAIN
from onepass.pca.evidence import CUT, LEVELS, TERM_ROWS, Choice, Evidence

N = 20 * TERM_ROWS  # rows of a part: twenty terms
ALTERNATING = np.repeat(np.where(np.arange(N // TERM_ROWS) % 2, 1.0, -1.0), TERM_ROWS)


def part(gain, noise=0.0, ratios=1.0, level=0.5, mild=None):
    """Return shares and energies of rows of which `bounded` captures more by a gain.

    Their terms differ by a noise, up and down in turn. Without a gain of its own, `mild` captures
    what `plain` does, less a little.
    """
    plain = np.full(N, level)
    mild = -0.01 if mild is None else mild
    shares = {
        BOUNDED: plain + gain + noise * ALTERNATING,
        MILD: plain + mild + noise * ALTERNATING,
        PLAIN: plain,
    }
    return shares, np.full(N, ratios)


def evidence_of(*parts, weight=1.0):
    evidence = Evidence()
    for shares, ratios in parts:
        evidence.add(shares, ratios, np.full(len(ratios), weight), 1000.0)
    return evidence


def chosen(*parts, rows=None, **keywords):
    return evidence_of(*parts).choose(len(parts) * N if rows is None else rows, **keywords)


SURE = [part(0.1, noise=0.01)] * 4


def test_what_surely_gains_answers():
    assert chosen(*SURE).name == BOUNDED


def test_without_evidence_ordinary_pca_answers():
    assert Evidence().choose(0.0) == Choice(PLAIN, 0.0, 0.0, 0.0, 0.0, 0.0)


def test_gains_that_are_rounding_do_not_count():
    """Candidates that learned the same capture the same, but for the last bits."""
    found = chosen(*[part(3e-16, mild=2e-16)] * 4)
    assert (found.name, found.gain) == (PLAIN, 0.0)
    assert chosen(*[part(1e-9, noise=1e-10)] * 4).name == BOUNDED


def test_what_surely_loses_does_not_answer():
    assert chosen(*[part(-0.1, noise=0.01)] * 4).name == PLAIN


@pytest.mark.parametrize(("noise", "name"), [(0.2, BOUNDED), (0.45, PLAIN)])
def test_a_gain_counts_if_it_is_two_errors(noise, name):
    """Of 40 terms in the last half: gain 0.1 of 16 rows, with 16 noise up and down."""
    found = chosen(*[part(0.1, noise=noise)] * 4)
    wanted = 40 * 0.1 / np.sqrt(40 * (0.1**2 + noise**2))
    assert found.gain == pytest.approx(wanted)
    assert (wanted > 2.0) == (name == BOUNDED)
    assert found.name == name


def test_the_gain_is_that_of_the_last_half():
    late, early = part(0.1, noise=0.01), part(-0.2, noise=0.01)
    # Shares differ between the parts, which would be drift.
    assert chosen(early, early, late, late, drifts_count=False).name == BOUNDED
    assert chosen(late, late, early, early, drifts_count=False).name == PLAIN


def test_energies_count_up_to_a_cut():
    """A row of many typical energies counts as one of 16: else few rows would be all."""
    found = chosen(*[part(0.1, ratios=1e6)] * 4)
    assert found.gained == pytest.approx(0.1 * CUT)
    found = chosen(*[part(0.1, ratios=3.0)] * 4)
    assert found.gained == pytest.approx(0.3)


LONG_LOSE = [part(0.1, noise=0.01, ratios=1.0)] * 3 + [part(-0.4, noise=0.01, ratios=1e3)]


def test_long_rows_that_lose_object():
    """They surely lose, and with their energies more is lost than gained: both are needed."""
    ordinary, long = part(0.3, noise=0.01), part(-0.1, noise=0.01, ratios=1e3)
    mixed = [long, ordinary, ordinary, ordinary]
    found = chosen(*mixed, drifts_count=False)
    assert found.gain > 2.0
    assert found.tail < -1.0
    assert found.energy < 0.0
    assert found.name == PLAIN


def test_long_rows_that_may_lose_by_chance_do_not_object():
    ordinary, long = part(0.3, noise=0.01), part(-0.1, noise=0.5, ratios=1e3)
    found = chosen(long, ordinary, ordinary, ordinary, drifts_count=False)
    assert -1.0 < found.tail < 0.0
    assert found.energy < 0.0
    assert found.name == BOUNDED


@pytest.mark.parametrize(("ratio", "levels"), [(3.0, 1), (1e3, 5)])
def test_the_more_lengths_are_tested_the_surer_one_has_to_be(ratio, levels):
    """By the union bound, the risk of all lengths together is that of two standard errors."""
    ordinary, long = part(0.3, noise=0.01), part(-0.1, noise=0.25, ratios=ratio, mild=-0.1)
    found = chosen(long, ordinary, ordinary, ordinary, drifts_count=False)
    terms = N / TERM_ROWS
    wanted = -terms * 0.1 / np.sqrt(terms * (0.1**2 + 0.25**2))
    assert found.tail == pytest.approx(wanted / stats.norm.isf(stats.norm.sf(2.0) / levels))


def test_long_rows_that_lose_less_energy_than_others_gain_do_not_object():
    ordinary, long = part(0.3, noise=0.01), part(-0.1, noise=0.01, ratios=5.0)
    found = chosen(long, ordinary, ordinary, ordinary, drifts_count=False)
    assert found.tail < -1.0
    assert found.energy > 0.0
    assert found.name == BOUNDED


@pytest.mark.parametrize("level", [0.2, 0.8])
def test_a_stream_that_drifts_is_left_to_ordinary_pca(level):
    parts = [part(0.1, noise=0.01, level=0.5)] * 3 + [part(0.1, noise=0.01, level=level)]
    found = chosen(*parts)
    assert found.drift > 1.0
    assert found.gain > 2.0
    assert found.name == PLAIN
    assert chosen(*parts, drifts_count=False).name == BOUNDED


def test_drift_is_an_f_test_of_the_tightest_shares():
    rng = np.random.default_rng(0)
    shares = [rng.uniform(0, 1, N), rng.uniform(0, 1, N) + 0.03]
    parts = [({BOUNDED: s, MILD: s, PLAIN: s}, np.ones(N)) for s in (*shares, *shares)]
    found = evidence_of(*parts).drift(4 * N)
    statistic = stats.f_oneway(*shares).statistic
    assert found == pytest.approx(statistic / stats.f.isf(1e-4, 1, 2 * N - 2), rel=1e-9)


@pytest.mark.parametrize(("sign", "drifts"), [(-1.0, False), (1.0, True)])
def test_learning_is_no_drift(sign, drifts):
    """Directions from t rows capture a / t less; what grows less with t than that is drift."""
    rng = np.random.default_rng(0)
    evidence = Evidence()
    for learned in np.linspace(1000, 4000, 40):
        shares = 0.5 + sign * 200 / learned + 0.05 * rng.normal(size=N)
        evidence.add(dict.fromkeys((BOUNDED, PLAIN), shares), np.ones(N), np.ones(N), learned)
    assert (evidence.drift(40 * N) > 1.0) == drifts


def test_independent_shares_do_not_drift():
    rng = np.random.default_rng(1)
    for _ in range(50):
        evidence = Evidence()
        for _ in range(30):
            shares = rng.beta(2, 2, 200)
            evidence.add({BOUNDED: shares, PLAIN: shares}, np.ones(200), np.ones(200), 1000.0)
        assert evidence.drift(6000) < 1.0


def test_short_segments_say_nothing_about_drift():
    evidence = Evidence()
    for share in (0.1, 0.9):
        few = np.full(TERM_ROWS - 1, share)
        evidence.add({BOUNDED: few, PLAIN: few}, np.ones(len(few)), np.ones(len(few)), 1000.0)
    assert evidence.drift(2 * TERM_ROWS) == 0.0


def test_of_two_that_answer_the_one_that_gains_most_does():
    assert chosen(*[part(0.1, noise=0.01, mild=0.2)] * 4).name == MILD
    assert chosen(*[part(0.2, noise=0.01, mild=0.1)] * 4).name == BOUNDED


def test_one_that_does_not_answer_leaves_it_to_the_other():
    """Bounded gains more on ordinary rows, but long rows object to it."""
    ordinary = part(0.3, noise=0.01, mild=0.1)
    long = part(-0.1, noise=0.01, ratios=1e3, mild=0.1)
    found = chosen(long, ordinary, ordinary, ordinary, drifts_count=False)
    assert found.name == MILD


def test_where_there_is_no_mild_candidate_the_other_answers():
    shares, ratios = SURE[0]
    two = {name: value for name, value in shares.items() if name != MILD}
    assert chosen(*[(two, ratios)] * 4).name == BOUNDED


def test_numbers_are_those_of_the_best_candidate_even_if_it_does_not_answer():
    found = chosen(*[part(0.1, noise=0.45)] * 4)
    assert found.name == PLAIN
    assert found.gained == pytest.approx(0.1)


def test_tails_are_sums_over_rows_that_are_longer():
    rng = np.random.default_rng(2)
    ratios = 10 ** rng.uniform(-2, 9, 400)
    shares = {name: rng.uniform(0, 1, 400) for name in (BOUNDED, MILD, PLAIN)}
    weights = rng.uniform(0.5, 2, 400)
    evidence = Evidence()
    for piece in (slice(0, 160), slice(160, 400)):  # whole terms
        evidence.add(
            {k: v[piece] for k, v in shares.items()}, ratios[piece], weights[piece], 1000.0
        )
    for which, name in enumerate((BOUNDED, MILD)):
        gain = weights * (shares[name] - shares[PLAIN])
        for level, found in zip(LEVELS, evidence.tails[which], strict=True):
            terms = (gain * (ratios > level)).reshape(-1, TERM_ROWS).sum(axis=1)
            wanted = [terms.sum(), (terms**2).sum(), gain @ np.minimum(ratios, level)]
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-9)


def test_one_huge_row_decides_nothing():
    """Its share counts as one, and its energy as 16: whatever it says, one row is not sure."""
    shares, ratios = part(0.1, noise=0.01)
    for huge in (1e3, 1e12, 1e90):
        spoiled = ratios.copy()
        spoiled[5] = huge
        worse = {name: value.copy() for name, value in shares.items()}
        worse[BOUNDED][5], worse[PLAIN][5] = 0.0, 1.0
        assert chosen(*SURE[:3], (worse, spoiled), drifts_count=False).name == BOUNDED


@pytest.mark.parametrize("weight", [1e-40, 1e40])
def test_the_unit_of_weights_does_not_matter(weight):
    assert evidence_of(*SURE, weight=weight).choose(4 * N).name == BOUNDED
    assert evidence_of(*LONG_LOSE, weight=weight).choose(4 * N).name == PLAIN


def test_merged_evidence_is_that_of_both():
    one, other = evidence_of(*SURE[:2]), evidence_of(*SURE[2:])
    kept = other.tails.copy()
    one.merge(other, 0.0)
    whole = evidence_of(*SURE)
    np.testing.assert_allclose(one.tails, whole.tails)
    np.testing.assert_array_equal(other.tails, kept)
    assert one.choose(4 * N) == whole.choose(4 * N)


def test_energy_between_merged_streams_counts_against_robust_candidates():
    one, other = evidence_of(*SURE[:2]), evidence_of(*SURE[2:])
    gained = evidence_of(*SURE).choose(4 * N).gained
    for share, name in ((0.5, BOUNDED), (2.0, PLAIN)):
        both = one.copy()
        both.merge(other, share * gained * 4 * N)
        assert both.choose(4 * N).gained == pytest.approx((1.0 - share) * gained)
        assert both.choose(4 * N).name == name


def test_evidence_fades():
    """Earlier terms count with the square of what is left of them in sums of squares."""
    evidence = evidence_of(*SURE)
    before = evidence.tails.copy(), evidence.segments.table.copy()
    evidence.fade(0.5)
    np.testing.assert_allclose(evidence.tails, before[0] * [0.5, 0.25, 0.5])
    np.testing.assert_allclose(
        evidence.segments.table, before[1] * [0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 0.5, 0.25]
    )


def test_a_choice_is_one_sentence():
    assert "ordinary PCA" in str(Choice(PLAIN))
    assert "a typical length" in str(Choice(BOUNDED))
    assert "four typical lengths" in str(Choice(MILD))
    for name in (BOUNDED, MILD):
        assert "robust=False" in str(Choice(name))
