"""Curves equal those of a naive transcription; the choice of c equals that of a full search."""

import numpy as np
import pytest

from onepass.schedules import InverseSqrt
from reproduction.algorithms import (
    EXPONENTS,
    RULES,
    WIDER,
    HeldOut,
    Training,
    checkpoints,
    run_weights,
    trajectory,
    weighted_pca,
)
from reproduction.distributions import random_directions
from tests import reference

ROWS, C = 150, 0.7
MARKS = [1, 2, 7, 24, 25, 100, ROWS]


def naive(name, rows, k, c):
    """Return the iterates M after every row, and before the first."""
    d = rows.shape[1]
    steps = c / np.sqrt(np.arange(1, len(rows) + 1))
    pushes = [np.sqrt(step) * row[None] for step, row in zip(steps, rows, strict=True)]
    init = random_directions(k, d, 0)
    return list(
        {
            "MSG": lambda: reference.msg(pushes, d, k),
            "Capped MSG": lambda: reference.capped_msg(pushes, d, k),
            WIDER: lambda: reference.capped_msg(pushes, d, k, max_rank=2 * k + 2),
            "Incremental": lambda: reference.incremental([row[None] for row in rows], d, k),
            "Warmuth-Kuzmin": lambda: reference.meg(pushes, d, k),
            "Grassmannian SGD": lambda: reference.grouse(pushes, d, k, init),
        }[name]()
    )


NAMES = ["MSG", "Capped MSG", WIDER, "Incremental", "Warmuth-Kuzmin", "Grassmannian SGD"]


@pytest.mark.parametrize("name", NAMES)
def test_suboptimality_is_that_of_the_naive_run(name):
    k, axes = 2, random_directions(40, 40, 0)
    variances = np.r_[4.0, 3.0, 2.0, 1.0, 0.5, np.full(35, 0.1)]
    rows = np.random.default_rng(0).normal(size=(ROWS, 40)) * np.sqrt(variances) @ axes / 4
    moment = axes.T * variances @ axes
    iterates = naive(name, rows, k, C)
    seen = []
    for at in trajectory(RULES[name](k, 40, 0), rows, InverseSqrt(C), MARKS):
        leading = np.linalg.eigh(iterates[at.rows])[1][:, -k:].T
        if at.iterate.rank >= k:
            ours = at.iterate.top(k)
            assert np.trace(ours @ moment @ ours.T) == pytest.approx(
                np.trace(leading @ moment @ leading.T), rel=1e-7
            )
        seen.append(at.rows)
    assert seen == MARKS


D, TRAIN_ROWS = 12, 300
VARIANCES = np.geomspace(0.4, 0.01, D)
TRAIN = np.random.default_rng(0).normal(size=(TRAIN_ROWS, D)) * np.sqrt(VARIANCES)
HELD_OUT = HeldOut(np.diag(VARIANCES))
TRAIN_MARKS = checkpoints(5, TRAIN_ROWS, 20)


@pytest.fixture(scope="module")
def training():
    small_steps = weighted_pca(TRAIN, TRAIN_MARKS, np.arange(1.0, TRAIN_ROWS + 1) ** -0.5, 3)
    return Training(TRAIN, TRAIN_MARKS, HELD_OUT, small_steps, seed=0)


def exhaustive(name, k):
    """Return the average suboptimality of every exponent, each run to its end."""
    averages = {}
    for exponent in EXPONENTS:
        run = trajectory(RULES[name](k, D, 0), TRAIN, InverseSqrt(2.0**exponent), TRAIN_MARKS)
        curve = [HELD_OUT.suboptimality(at, k) for at in run]
        averages[exponent] = float(np.array(curve) @ run_weights(TRAIN_MARKS))
    return averages


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "Incremental"])
def test_the_choice_is_that_of_an_exhaustive_search(name, k, training):
    c, run = training.choose(name, k)
    expected = exhaustive(name, k)
    best = min(expected.values())
    assert expected[int(np.log2(c))] == pytest.approx(best, rel=1e-6)
    curve = [HELD_OUT.suboptimality(at, k) for at in run]
    assert curve @ run_weights(TRAIN_MARKS) == pytest.approx(best, rel=1e-6)
