"""What the grid shares and gives up does not change what it chooses."""

import numpy as np
import pytest

from onepass.paper.algorithms import AVERAGED, make_rule
from onepass.paper.figure3 import weighted_erm
from onepass.paper.grid import EXPONENTS, HeldOut, Shared, choose
from onepass.paper.trajectory import checkpoints, run_weights, trajectory
from onepass.schedules import InverseSqrt
from onepass.sources.synthetic import Gaussian

D, ROWS = 12, 300
SOURCE = Gaussian(np.geomspace(0.4, 0.01, D))
TRAIN = SOURCE.sample(ROWS, np.random.default_rng(0))
HELD_OUT = HeldOut.of(SOURCE.second_moment().to_dense())
MARKS = checkpoints(5, ROWS, 20)


@pytest.fixture(scope="module")
def shared():
    looks, trace, largest = weighted_erm(TRAIN, MARKS, np.arange(1.0, ROWS + 1) ** -0.5)
    return Shared(looks, trace, largest)


def exhaustive(name, k):
    """Return the average suboptimality of every exponent, each run to its end."""
    averages = {}
    for exponent in EXPONENTS:
        rule, averaging = make_rule(name, k, D), name.endswith(AVERAGED)
        run = trajectory(rule, TRAIN, InverseSqrt(2.0**exponent), MARKS, averaging=averaging)
        curve = [
            HELD_OUT.suboptimality((at.average if averaging else at.iterate).top(k), k)
            for at in run
        ]
        averages[exponent] = float(np.array(curve) @ run_weights(MARKS))
    return averages


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize(
    "name", ["MSG", "Capped MSG", "Warmuth-Kuzmin", "Oja", "Capped MSG" + AVERAGED]
)
def test_the_choice_is_that_of_an_exhaustive_search(name, k, shared):
    chosen = choose(name, k, TRAIN, MARKS, HELD_OUT, shared, D, seed=0)
    expected = exhaustive(name, k)
    best = min(expected.values())
    assert expected[int(np.log2(chosen.c))] == pytest.approx(best, rel=1e-6)
    assert chosen.averages[int(np.log2(chosen.c))] == pytest.approx(best, rel=1e-6)
    assert len(chosen.looks) == len(MARKS)
    assert set(chosen.averages) == set(EXPONENTS)
    for exponent, average in chosen.averages.items():  # given up early: less than in full
        assert average <= expected[exponent] * (1 + 1e-6)
        assert average >= best * (1 - 1e-6)


def test_small_steps_are_shared_only_where_no_bound_is_met(shared):
    covered = [e for e in EXPONENTS if shared.covers(2.0**e, 1)]
    assert covered == list(range(-12, max(covered) + 1))
    largest = max(covered)
    for exponent, free in ((largest, True), (largest + 1, False)):
        (at,) = trajectory(make_rule("MSG", 1, D), TRAIN, InverseSqrt(2.0**exponent), [ROWS])
        unbounded = 2.0**exponent * shared.trace
        assert (at.iterate.trace == pytest.approx(unbounded)) == free


def test_suboptimality_of_the_best_directions_is_zero():
    vectors = np.linalg.eigh(HELD_OUT.moment)[1][:, ::-1].T
    assert HELD_OUT.suboptimality(vectors[:3], 3) == pytest.approx(0, abs=1e-12)
    assert HELD_OUT.suboptimality(vectors[1:2], 1) == pytest.approx(
        HELD_OUT.values[0] - HELD_OUT.values[1]
    )
