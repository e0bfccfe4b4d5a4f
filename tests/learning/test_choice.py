"""Evidence for candidates, signs of drift, and the share that will be captured of new rows."""

import itertools
import re

import numpy as np
import pytest

from onepass.learning.candidates import BOUNDED, CANDIDATES, CONSENSUS, LARGEST_RATIO, PLAIN
from onepass.learning.captured_share import Foresight
from onepass.learning.choice import (
    DRIFT_ROWS,
    DRIFTING,
    HUGE,
    LARGE,
    PAIRS,
    PREFERRED,
    SEGMENTS,
    SURE,
    VETO,
    ProgressiveValidation,
)
from onepass.moments.chunk import Chunk

SHARE, ENERGY, LARGE_ROWS, HUGE_ROWS = range(4)
EARLIER, PREVIOUS, CURRENT = range(3)
ROBUST = [CONSENSUS, BOUNDED]


def evidence_for(pair, share=9.0, energy=9.0, large=9.0, huge=9.0, period=CURRENT):
    """Return a validation with so many standard errors for the first of a pair.

    The evidence is of one period, but for the share, which is of the current one.
    """
    validation = ProgressiveValidation(2)
    validation.evidence[period, PAIRS.index(pair), 1:] = [[energy, 1], [large, 1], [huge, 1]]
    validation.evidence[CURRENT, PAIRS.index(pair), SHARE] = share, 1.0
    validation.scored[CURRENT] = 4.0
    return validation


# -- evidence --------------------------------------------------------------------------------------


def scored(n=200, seed=0):
    """Return what three candidates captured of rows, their energies and weights."""
    rng = np.random.default_rng(seed)
    energies = rng.exponential(size=n)
    captured = {name: energies * rng.random(n) for name in (PLAIN, CONSENSUS, BOUNDED)}
    return captured, energies, rng.uniform(0.5, 2, n)


def test_evidence_is_a_sum_over_segments_in_standard_errors():
    captured, energies, weights = scored()
    validation = ProgressiveValidation(2)
    validation.add(captured, energies, weights, 0.01)
    for ours, theirs in PAIRS:
        gain = weights * (captured[ours] - captured[theirs])
        share = gain / energies
        large, huge = (share * (energies > size * 0.01) for size in (LARGE, HUGE))
        assert 0 < np.count_nonzero(huge) < np.count_nonzero(large) < len(share)
        kinds = share, gain, large, huge
        edges = np.linspace(0, 200, SEGMENTS + 1).astype(int)
        for found, kind in zip(validation.standard_errors((ours, theirs)), kinds, strict=True):
            sums = np.array([kind[a:b].sum() for a, b in itertools.pairwise(edges)])
            assert found == pytest.approx(sums.sum() / np.sqrt((sums**2).sum()))
    assert validation.scored.tolist() == [0.0, 0.0, pytest.approx(weights.sum())]


def test_chunks_add_up_and_may_be_shorter_than_their_segments():
    captured, energies, weights = scored(n=5)
    validation = ProgressiveValidation(2)
    for _ in range(2):
        validation.add(captured, energies, weights, 0.25)
    gains = weights * (captured[BOUNDED] - captured[PLAIN])
    wanted = 2 * gains.sum() / np.sqrt(2 * (gains**2).sum())
    assert validation.standard_errors((BOUNDED, PLAIN))[ENERGY] == pytest.approx(wanted)
    assert validation.scored[CURRENT] == pytest.approx(2 * weights.sum())


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_no_row_counts_for_more_than_its_weight(sign):
    """Its energy may be nothing, or nothing may be typical beside it."""
    validation, weights = ProgressiveValidation(2), np.array([0.5, 2.0])
    captured = {PLAIN: np.zeros(2), BOUNDED: sign * np.array([1e300, 1e300])}
    validation.add(captured, np.zeros(2), weights, 0.0)
    share, energy = validation.evidence[CURRENT, PAIRS.index((BOUNDED, PLAIN)), :2]
    np.testing.assert_allclose(share, [sign * 2.5, 0.25 + 4.0])
    np.testing.assert_allclose(energy, [sign * 2 * LARGEST_RATIO, 2 * LARGEST_RATIO**2])


def test_a_row_is_large_above_the_limit():
    validation = ProgressiveValidation(2)
    captured = {PLAIN: np.zeros(2), BOUNDED: np.ones(2)}
    for size, wanted in ((LARGE, 0.0), (1.001 * LARGE, 2.0 / (1.001 * LARGE))):
        validation.evidence[:] = 0.0
        validation.add(captured, np.full(2, size), np.ones(2), 1.0)
        found = validation.evidence[CURRENT, PAIRS.index((BOUNDED, PLAIN)), LARGE_ROWS, 0]
        assert found == pytest.approx(wanted)


def test_energies_count_in_units_of_typical_ones():
    captured, energies, weights = scored()
    one, other = ProgressiveValidation(2), ProgressiveValidation(2)
    one.add(captured, energies, weights, 0.25)
    scaled = {name: 1e60 * values for name, values in captured.items()}
    other.add(scaled, 1e60 * energies, weights, 1e60 * 0.25)
    np.testing.assert_allclose(other.evidence, one.evidence)


def test_one_candidate_has_nobody_to_be_compared_with():
    captured, energies, weights = scored()
    validation = ProgressiveValidation(2)
    validation.add({PLAIN: captured[PLAIN]}, energies, weights, 0.25)
    assert not validation.evidence.any()
    validation.add({name: captured[name] for name in (PLAIN, BOUNDED)}, energies, weights, 0.01)
    assert validation.standard_errors((BOUNDED, PLAIN)).all()
    assert not validation.standard_errors((CONSENSUS, PLAIN)).any()


def test_rows_without_energy_are_no_evidence():
    validation = ProgressiveValidation(2)
    nothing = {name: np.zeros(20) for name in (PLAIN, CONSENSUS, BOUNDED)}
    validation.add(nothing, np.zeros(20), np.ones(20), 0.0)
    assert np.isfinite(validation.evidence).all()
    assert validation.choose(0.0).name == PLAIN


def test_asking_ends_a_period():
    captured, energies, weights = scored()
    validation, directions = ProgressiveValidation(2), {PLAIN: np.eye(2), BOUNDED: np.eye(2)}
    validation.ask(directions)
    assert validation.asked is directions
    totals = []
    for _ in range(4):
        validation.add(captured, energies, weights, 0.25)
        totals.append(validation.scored.copy())
        validation.ask(directions)
    w = weights.sum()
    np.testing.assert_allclose(totals, [[0, 0, w], [0, w, w], [w, w, w], [2 * w, w, w]])
    np.testing.assert_allclose(validation.scored, [3 * w, w, 0])
    np.testing.assert_allclose(validation.evidence[0], 3 * validation.evidence[1])
    assert not validation.evidence[2].any()


def test_a_period_has_a_tenth_of_the_rows():
    captured, energies, weights = scored()
    validation, directions = ProgressiveValidation(2), {PLAIN: np.eye(2), BOUNDED: np.eye(2)}
    validation.scored[EARLIER] = 15 * weights.sum()
    for periods in (1, 2):
        validation.add(captured, energies, weights, 0.25)
        validation.ask(directions)
        ended = validation.scored[CURRENT] == 0.0
        assert ended == (periods == 2)


def test_a_candidate_alone_ends_no_period():
    validation = evidence_for((BOUNDED, PLAIN))
    validation.ask({PLAIN: np.eye(2)})
    assert validation.evidence[CURRENT].any()


@pytest.mark.parametrize("names", [(PLAIN, BOUNDED), (PLAIN, CONSENSUS, BOUNDED)])
def test_a_short_stream_is_one_segment_of_evidence(names):
    """Of its share and energy; nothing is known of its large rows."""
    captured = {name: np.array([3.0, 5.0]) * number for number, name in enumerate(names)}
    validation = ProgressiveValidation(2)
    for _ in range(2):
        validation.add_merged(captured, 30.0)
    for number, (ours, theirs) in enumerate(PAIRS):
        wanted = np.zeros((3, validation.evidence.shape[2], 2))
        if ours in names and theirs in names:
            gain = captured[ours] - captured[theirs]
            wanted[CURRENT, :2] = np.column_stack([2 * gain, 2 * gain**2])
        np.testing.assert_array_equal(validation.evidence[:, number], wanted)
    assert validation.scored.tolist() == [0.0, 0.0, 60.0]


@pytest.mark.parametrize("names", [(), (PLAIN,), (PLAIN, BOUNDED), (PLAIN, CONSENSUS, BOUNDED)])
def test_a_saved_validation_goes_on(names):
    captured, energies, weights = scored()
    rows = np.random.default_rng(1).normal(size=(200, 4))
    validation, other = drift_of(rows, [100, 100])[0], ProgressiveValidation(4)
    validation.ask({name: number + np.eye(2, 4) for number, name in enumerate(names)})
    validation.add(captured, energies, weights, 0.25)
    other.restore(validation.saved())
    assert validation.saved()["asked"].shape == (len(names), 2 if names else 0, 4)
    assert list(other.asked) == [name for name in CANDIDATES if name in names]
    for name in names:
        np.testing.assert_array_equal(other.asked[name], validation.asked[name])
    for each in (validation, other):
        each.add(captured, energies, weights, 0.25)
        each.add_drift(Chunk(rows[:100], np.ones(100), np.zeros(4)), np.ones(100))
    np.testing.assert_array_equal(other.evidence, validation.evidence)
    np.testing.assert_array_equal(other.scored, validation.scored)
    assert other.drift == validation.drift
    assert other.rows == validation.rows


# -- the choice ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROBUST)
def test_the_share_has_to_be_clearly_better(name):
    assert evidence_for((name, PLAIN), share=SURE + 0.1).prefers(name, PLAIN)
    assert not evidence_for((name, PLAIN), share=SURE - 0.1).prefers(name, PLAIN)
    assert evidence_for((name, PLAIN), share=SURE + 0.1).choose(0.0).name == name
    assert evidence_for((name, PLAIN), share=SURE - 0.1).choose(0.0).name == PLAIN


@pytest.mark.parametrize("period", [EARLIER, PREVIOUS, CURRENT])
@pytest.mark.parametrize("kind", ["energy", "large", "huge"])
def test_large_rows_have_a_veto(kind, period):
    pair = (BOUNDED, PLAIN)
    assert evidence_for(pair, period=period, **{kind: VETO + 0.1}).prefers(*pair)
    assert not evidence_for(pair, period=period, **{kind: VETO - 0.1}).prefers(*pair)


def test_the_consensus_needs_more_from_large_rows():
    pair = (CONSENSUS, PLAIN)
    assert evidence_for(pair, energy=PREFERRED + 0.1).prefers(*pair)
    assert not evidence_for(pair, energy=PREFERRED - 0.1).prefers(*pair)
    assert evidence_for(pair, large=VETO + 0.1).prefers(*pair)
    assert not evidence_for(pair, large=VETO - 0.1).prefers(*pair)
    assert evidence_for(pair, huge=2 * VETO).prefers(*pair)  # energy is what they have to say


@pytest.mark.parametrize("kind", [ENERGY, LARGE_ROWS, HUGE_ROWS])
@pytest.mark.parametrize("period", [PREVIOUS, CURRENT])
def test_the_latest_rows_have_a_veto_of_their_own(kind, period):
    pair = (BOUNDED, PLAIN)
    validation = evidence_for(pair, share=100.0, energy=100.0, large=100.0, period=EARLIER)
    assert validation.prefers(*pair)
    validation.evidence[period, PAIRS.index(pair), kind] = 1.2 * VETO, 1.0
    assert validation.standard_errors(pair)[kind] > 0
    assert not validation.prefers(*pair)


@pytest.mark.parametrize("name", ROBUST)
@pytest.mark.parametrize("period", [PREVIOUS, CURRENT])
def test_the_latest_rows_have_to_speak_for_it_too(name, period):
    """What a huge row did to the plain candidate early in the stream may have passed."""
    pair = (name, PLAIN)
    validation = evidence_for(pair)
    validation.evidence[EARLIER, PAIRS.index(pair), SHARE] = 100.0, 1.0
    for latest in (PREFERRED + 0.1, PREFERRED - 0.1, -1.0):
        validation.evidence[1:, PAIRS.index(pair), SHARE] = 0.0
        validation.evidence[period, PAIRS.index(pair), SHARE] = latest, 1.0
        assert validation.prefers(*pair) == (latest > PREFERRED)
        assert validation.choose(0.0).name == (name if latest > PREFERRED else PLAIN)


def test_to_be_better_than_the_consensus_is_not_enough():
    validation = evidence_for((CONSENSUS, PLAIN))
    validation.evidence += evidence_for((BOUNDED, CONSENSUS)).evidence
    validation.evidence += evidence_for((BOUNDED, PLAIN), share=SURE - 0.1).evidence
    assert validation.choose(0.0).name == CONSENSUS


def test_the_better_of_two_robust_candidates_answers():
    validation = evidence_for((BOUNDED, PLAIN))
    validation.evidence += evidence_for((CONSENSUS, PLAIN)).evidence
    assert validation.choose(0.0).name == CONSENSUS
    versus = evidence_for((BOUNDED, CONSENSUS), share=PREFERRED + 0.1).evidence
    validation.evidence += versus
    assert validation.choose(0.0).name == BOUNDED
    validation.evidence -= 2 * versus * [1.0, 0.0]
    assert validation.choose(0.0).name == CONSENSUS


@pytest.mark.parametrize("name", ROBUST)
def test_drift_is_an_objection(name):
    validation = evidence_for((name, PLAIN))
    assert validation.choose(DRIFTING - 0.1).name == name
    choice = validation.choose(DRIFTING + 0.1)
    assert choice.name == PLAIN
    assert choice.drift == DRIFTING + 0.1
    assert choice.lost_by_plain == 0.0


def test_the_choice_says_why():
    validation = evidence_for((BOUNDED, PLAIN), share=8.0, energy=4.0, large=-1.0)
    choice = validation.choose(1.5)
    assert (choice.name, choice.share, choice.energy, choice.large) == (BOUNDED, 8.0, 4.0, -1.0)
    assert choice.drift == 1.5
    assert choice.lost_by_plain == 8.0 / 4.0  # of each row on average, in the latest periods
    validation.evidence[EARLIER, PAIRS.index((BOUNDED, PLAIN)), SHARE] = 100.0, 1.0
    validation.scored[EARLIER] = 4.0
    assert validation.choose(0.0).lost_by_plain == 8.0 / 4.0
    plain = evidence_for((BOUNDED, PLAIN), share=1.0, energy=2.0, large=3.0).choose(0.0)
    assert (plain.share, plain.energy, plain.large) == (1.0, 2.0, 3.0)
    assert plain.lost_by_plain == 0.0
    assert ProgressiveValidation(2).choose(0.0).name == PLAIN


@pytest.mark.parametrize("name", ROBUST)
def test_the_reasons_are_those_of_the_candidate_that_answers(name):
    """Of the latest two periods, however few rows there were."""
    (other,) = set(ROBUST) - {name}
    validation = evidence_for((name, PLAIN), share=8.0, energy=7.0, large=6.0, period=PREVIOUS)
    validation.evidence += evidence_for((other, PLAIN), share=-1.0).evidence
    validation.scored[:] = 100.0, 0.25, 0.25
    choice = validation.choose(0.0)
    assert (choice.name, choice.share, choice.energy, choice.large) == (name, 8.0, 7.0, 6.0)
    assert choice.lost_by_plain == 8.0 / 0.5


def test_what_is_just_enough_is_not_enough():
    pair = (BOUNDED, PLAIN)
    for kind, limit in (("share", SURE), ("energy", VETO), ("large", VETO)):
        assert not evidence_for(pair, **{kind: limit}).prefers(*pair)
        assert not evidence_for(pair, **{kind: -SURE}).hopeless(BOUNDED, DRIFTING)
    assert evidence_for(pair).choose(DRIFTING).name == BOUNDED


@pytest.mark.parametrize(
    ("name", "says"),
    [(PLAIN, "ordinary PCA."), (CONSENSUS, "in common"), (BOUNDED, "typical length")],
)
def test_the_choice_is_a_sentence(name, says):
    validation = ProgressiveValidation(2) if name == PLAIN else evidence_for((name, PLAIN))
    sentence = str(validation.choose(0.0))
    assert says in sentence
    advice = r" Use robust=False \(--no-robust\) for ordinary PCA\."
    assert re.fullmatch(rf"[A-Z][a-z ][^.A-Z]*(PCA)?\.({advice})?", sentence)
    assert ("Use robust=False" in sentence) == (name != PLAIN)


@pytest.mark.parametrize("kind", ["share", "energy", "large", "huge"])
def test_a_candidate_that_is_clearly_worse_is_hopeless(kind):
    pair = (BOUNDED, PLAIN)
    assert evidence_for(pair, **{kind: -SURE - 0.1}).hopeless(BOUNDED, 0.0)
    assert not evidence_for(pair, **{kind: -SURE + 0.1}).hopeless(BOUNDED, 0.0)
    assert evidence_for(pair).hopeless(BOUNDED, DRIFTING + 0.1)
    assert not evidence_for(pair).hopeless(BOUNDED, DRIFTING - 0.1)


def test_evidence_fades_merges_and_is_copied():
    one, other = evidence_for((BOUNDED, PLAIN), share=4.0), evidence_for((BOUNDED, PLAIN))
    twin = one.copy()
    one.fade(0.5)
    # Standard errors stay: sums and their errors count half.
    np.testing.assert_allclose(
        one.standard_errors((BOUNDED, PLAIN)), twin.standard_errors((BOUNDED, PLAIN))
    )
    assert one.scored[CURRENT] == 2.0
    one.merge(other, 0.0, 0.1)
    np.testing.assert_allclose(
        one.standard_errors((BOUNDED, PLAIN))[SHARE], (0.5 * 4 + 9) / np.sqrt(0.25 + 1)
    )
    assert one.scored[CURRENT] == 6.0
    twin.ask({PLAIN: np.eye(2), BOUNDED: np.eye(2)})
    third = twin.copy()
    third.evidence[:], third.scored[:] = 0, 0
    assert twin.evidence.any()
    assert third.asked.keys() == twin.asked.keys()


# -- drift -----------------------------------------------------------------------------------------


def drift_of(rows, lengths):
    """Return the drift of chunks of rows, and that of a naive transcription."""
    drift = ProgressiveValidation(rows.shape[1])
    drift.point = rows[0] + 0.5
    naive, mean, last, seen = [], np.zeros(rows.shape[1]), np.zeros(rows.shape[1]), 0
    for start in np.cumsum([0, *lengths[:-1]]):
        part = rows[start : start + lengths[0]]
        away = part - drift.point
        chunk = Chunk(part, np.ones(len(part)), np.zeros(rows.shape[1]))
        drift.add_drift(chunk, np.einsum("ij,ij->i", away, away))
        pieces = max(1, min(8, len(part) // 16))
        edges = np.linspace(0, len(part), pieces + 1).astype(int)
        for a, b in itertools.pairwise(edges):
            away = part[a:b] - drift.point
            units = (away / np.linalg.norm(away, axis=1, keepdims=True)).mean(axis=0)
            step = units - mean
            if seen:
                naive.append(step @ last / np.linalg.norm(step))
                last = step / np.linalg.norm(step)
            seen += b - a
            mean = mean + (b - a) / seen * step
    naive = np.array(naive)
    np.testing.assert_allclose(drift.mean, mean, atol=1e-12)
    return drift, naive.sum() / np.sqrt((naive**2).sum())


@pytest.mark.parametrize("length", [1, 10, 16, 40, 300])
def test_drift_is_the_resemblance_of_neighbouring_pieces(length):
    rows = np.random.default_rng(0).normal(size=(5 * length, 4))
    drift, wanted = drift_of(rows, [length] * 5)
    assert drift.drift == pytest.approx(wanted)
    assert drift.rows == len(rows)


def test_drift_is_that_of_the_rows_as_they_are_scaled():
    rng = np.random.default_rng(0)
    rows, scale = rng.normal(size=(200, 4)) + 3, np.array([0.5, 1.0, 2.0, 4.0])
    plain, scaled = ProgressiveValidation(4), ProgressiveValidation(4)
    plain.point, scaled.point = rows[0] / scale + 0.5, rows[0] + 0.5 * scale
    for part in np.array_split(rows, 4):
        away = part / scale - plain.point
        energies = np.einsum("ij,ij->i", away, away)
        plain.add_drift(Chunk(part / scale, np.ones(50), np.zeros(4)), energies)
        scaled.add_drift(Chunk(part, np.ones(50), rows[7]).divided(scale), energies)
    np.testing.assert_allclose(scaled.mean, plain.mean, atol=1e-12)
    assert scaled.drift == pytest.approx(plain.drift)


def test_only_the_first_rows_of_a_chunk_tell_of_drift():
    rows = np.random.default_rng(0).normal(size=(DRIFT_ROWS + 100, 4))
    some, more = ProgressiveValidation(4), ProgressiveValidation(4)
    for drift, count in ((some, DRIFT_ROWS), (more, len(rows))):
        chunk = Chunk(rows[:count], np.ones(count), np.zeros(4))
        drift.add_drift(chunk, chunk.energies)
    assert more.rows == DRIFT_ROWS
    assert more.drift == some.drift


def test_rows_that_stay_where_they_are_do_not_drift():
    drift = ProgressiveValidation(2)
    for _ in range(3):
        drift.add_drift(Chunk(np.tile([1.0, 0.0], (16, 1)), np.ones(16), np.zeros(2)), np.ones(16))
    assert drift.drift == 0.0
    assert drift.rows == 48.0


def test_drift_tells_streams_that_walk_from_those_that_do_not():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 5))
    still, _ = drift_of(rows, [200] * 20)
    walking, _ = drift_of(rows + 2 * np.linspace(0, 1, 4000)[:, None], [200] * 20)
    rows[rng.random(4000) < 0.01] *= 1e6
    spoiled, _ = drift_of(rows, [200] * 20)
    assert abs(still.drift) < 3
    assert abs(spoiled.drift) < 3
    assert walking.drift > DRIFTING


def test_drift_fades_merges_and_is_copied():
    rows = np.random.default_rng(0).normal(size=(400, 4)) + np.linspace(0, 3, 400)[:, None]
    drift, _ = drift_of(rows, [80] * 5)
    other, _ = drift_of(rows[::-1], [80] * 5)
    assert ProgressiveValidation(3).drift == 0.0
    twin, size, sums = drift.copy(), drift.drift, drift.sums
    twin.fade(0.5)
    assert twin.drift == pytest.approx(size)
    assert (twin.rows, drift.rows) == (200.0, 400.0)
    np.testing.assert_allclose(twin.sums, sums * [0.5, 0.25])
    together = twin.copy()
    twin.merge(other, 0.15, 0.01)  # within what sampling explains
    np.testing.assert_allclose(twin.sums, sums * [0.5, 0.25] + other.sums)
    np.testing.assert_array_equal(drift.sums, sums)
    together.merge(other, 0.25, 0.01)
    cosine = 0.2 / (0.2 + 1 / 16)  # 0.25 / (1 + 0.25) is the shift, squared; pieces have 16 rows
    np.testing.assert_allclose(together.sums - twin.sums, [200 / 16 * cosine, 200 / 16 * cosine**2])


def test_streams_too_short_for_drift_count_as_one_piece():
    one = ProgressiveValidation(3)
    one.merge(ProgressiveValidation(3), 1e9, 1.0)
    np.testing.assert_allclose(one.sums, [16 / 17, (16 / 17) ** 2])


# -- what will be captured -------------------------------------------------------------------------


def foresee(n, d=20, k=3, asked=(100, 200, 400, 800, 1600), seed=0, unit=1.0):
    """Return the share foreseen for the leading directions of n rows, and the true one."""
    rng = np.random.default_rng(seed)
    spectrum = np.r_[4.0, 3.0, 2.0, np.ones(d - 3)]
    rows = unit * rng.normal(size=(n, d)) * np.sqrt(spectrum)

    def leading(count):
        return np.linalg.svd(rows[:count], full_matrices=False)[2][:k]

    def inside(V, count):
        return float(np.sum((rows[:count] @ V.T) ** 2))

    foresight = Foresight()
    times = [t for t in asked if t < n]
    for start, stop in zip(times, [*times[1:], n], strict=True):
        V = leading(start)
        if start > times[0]:
            foresight.close(inside(V, start))
        foresight.ask(float(start), inside(V, start))
        part = rows[start:stop]
        foresight.add(((part @ V.T) ** 2).sum(axis=1), (part**2).sum(axis=1), 1e300)
    V = leading(n)
    foresight.close(inside(V, n))
    true = np.sum(V**2 * spectrum) / spectrum.sum()
    return foresight.value(float(n), inside(V, n), float(np.sum(rows**2))), true


@pytest.mark.parametrize("n", [300, 3000])
def test_the_share_foreseen_is_that_of_new_rows(n):
    """Not that of the rows the directions are from, nor that of earlier directions."""
    errors = []
    for seed in range(40):
        found, true = foresee(n, seed=seed)
        errors.append((found.mean - true) / found.standard_error)
    assert np.mean(np.abs(errors) < 1.96) > 0.85
    assert abs(np.mean(errors)) < 0.6


def test_units_do_not_matter():
    one, other = foresee(300)[0], foresee(300, unit=1e60)[0]
    assert one.mean == pytest.approx(other.mean, rel=1e-9)
    assert one.standard_error == pytest.approx(other.standard_error, rel=1e-9)


def test_nothing_is_foreseen_without_rows():
    foresight = Foresight()
    assert np.isnan(foresight.value(10.0, 1.0, 2.0).mean)
    foresight.ask(10.0, 1.0)
    assert np.isnan(foresight.value(10.0, 1.0, 2.0).standard_error)
    foresight.add(np.zeros(5), np.zeros(5), 10.0)
    assert np.isnan(foresight.value(15.0, 1.0, 2.0).mean)
    foresight.close(3.0)  # nothing to close
    assert foresight.unit == 0.0


def foresight_of(seed, periods=3):
    """Return foresight of directions that capture half of rows of energy one, and gain a little."""
    rng, foresight = np.random.default_rng(seed), Foresight()
    for number in range(periods):
        inside = 50.0 * 2**number
        foresight.ask(2 * inside, inside)
        energy = rng.exponential(size=50)
        foresight.add(0.5 * energy, energy, 100.0)
        foresight.close(inside + float(0.5 * energy.sum()) + 0.5)
    return foresight


def test_foresight_fades_merges_and_is_copied():
    one, other = foresight_of(0), foresight_of(1)
    before, twin = one.value(700.0, 350.0, 700.0), one.copy()
    twin.fade(0.5)
    twin.ask(1.0, 1.0)
    assert one.value(700.0, 350.0, 700.0) == before
    both = foresight_of(0)
    both.merge(other)
    assert len(both.periods) == 6
    assert (np.diff(both.periods[:, 0]) >= 0).all()
    assert both.squares[0] == 300
    merged = both.value(1400.0, 700.0, 1400.0)
    assert merged.mean == pytest.approx(before.mean, abs=0.05)
    assert merged.standard_error < before.standard_error
    empty = Foresight()
    empty.merge(other)
    assert empty.value(700.0, 350.0, 700.0) == other.value(700.0, 350.0, 700.0)
    other.merge(Foresight())
    assert len(other.periods) == 3


def test_only_the_last_periods_are_kept():
    foresight = foresight_of(0, periods=40)
    assert len(foresight.periods) == 16
    assert foresight.periods[-1, 0] == 100.0 * 2**39
