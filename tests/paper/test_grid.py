"""What the grid shares and gives up does not change what it chooses."""

import numpy as np
import pytest

from onepass.paper.grid import EXPONENTS, HeldOut, Training, choose, weighted_pca
from onepass.paper.trajectory import (
    AVERAGED,
    WIDER,
    Checkpoint,
    checkpoints,
    make_rule,
    run_weights,
    trajectory,
)
from onepass.schedules import InverseSqrt
from onepass.sources.synthetic import Gaussian
from onepass.subspace import Subspace

D, ROWS = 12, 300
SOURCE = Gaussian(np.geomspace(0.4, 0.01, D))
TRAIN = SOURCE.sample(ROWS, np.random.default_rng(0))
HELD_OUT = HeldOut.of(SOURCE.second_moment().to_dense())
MARKS = checkpoints(5, ROWS, 20)


@pytest.fixture(scope="module")
def training():
    small_steps = weighted_pca(TRAIN, MARKS, np.arange(1.0, ROWS + 1) ** -0.5, 3)
    return Training(TRAIN, MARKS, HELD_OUT, small_steps, seed=0)


def exhaustive(name, k):
    """Return the average suboptimality of every exponent, each run to its end."""
    averages = {}
    for exponent in EXPONENTS:
        rule, averaging = make_rule(name, k, D), name.endswith(AVERAGED)
        run = trajectory(rule, TRAIN, InverseSqrt(2.0**exponent), MARKS, averaging=averaging)
        curve = [HELD_OUT.suboptimality(at, k) for at in run]
        averages[exponent] = float(np.array(curve) @ run_weights(MARKS))
    return averages


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize(
    "name", ["MSG", "Capped MSG", WIDER, "Warmuth-Kuzmin", "Oja", "Capped MSG" + AVERAGED]
)
def test_the_choice_is_that_of_an_exhaustive_search(name, k, training):
    chosen = choose(name, k, training)
    expected = exhaustive(name, k)
    best = min(expected.values())
    assert expected[int(np.log2(chosen.c))] == pytest.approx(best, rel=1e-6)
    assert chosen.averages[int(np.log2(chosen.c))] == pytest.approx(best, rel=1e-6)
    assert len(chosen.run) == len(MARKS)
    assert set(chosen.averages) == set(EXPONENTS)
    for exponent, average in chosen.averages.items():  # given up early: less than in full
        assert average <= expected[exponent] * (1 + 1e-6)
        assert average >= best * (1 - 1e-6)


def test_small_steps_are_shared_only_where_no_bound_is_met(training):
    shared = training.small_steps
    covered = [e for e in EXPONENTS if shared.covers(2.0**e, 1)]
    assert covered == list(range(-12, max(covered) + 1))
    largest = max(covered)
    for exponent, free in ((largest, True), (largest + 1, False)):
        (at,) = trajectory(make_rule("MSG", 1, D), TRAIN, InverseSqrt(2.0**exponent), [ROWS])
        unbounded = 2.0**exponent * shared.trace
        assert (at.iterate.trace == pytest.approx(unbounded)) == free


def test_suboptimality_is_the_share_that_is_missed():
    vectors = np.linalg.eigh(HELD_OUT.moment)[1][:, ::-1].T

    def missed(directions, k):
        iterate = Subspace(directions, np.ones(len(directions)))
        return HELD_OUT.suboptimality(Checkpoint(1, iterate, 0.0, False), k)

    assert missed(vectors[:3], 3) == pytest.approx(0, abs=1e-12)
    first, second = HELD_OUT.values[:2]
    assert missed(vectors[1:2], 1) == pytest.approx((first - second) / first)
    assert missed(vectors[:1], 2) == pytest.approx(second / (first + second))
