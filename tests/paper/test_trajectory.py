"""The engine's curves are those of the paper, transcribed naively and run row by row."""

import numpy as np
import pytest

from onepass.paper.trajectory import (
    WIDER,
    checkpoints,
    make_rule,
    random_basis,
    run_weights,
    trajectory,
)
from onepass.schedules import InverseSqrt
from onepass.sources.synthetic import Gaussian, Orthogonal
from tests import reference

ROWS, C = 150, 0.7
MARKS = [1, 2, 7, 24, 25, 100, ROWS]


def naive(name, rows, k, c):
    """Return the iterates M after every row, and before the first."""
    d = rows.shape[1]
    steps = c / np.sqrt(np.arange(1, len(rows) + 1))
    pushes = [np.sqrt(step) * row[None] for step, row in zip(steps, rows, strict=True)]
    init = random_basis(k, d, 0)
    return list(
        {
            "MSG": lambda: reference.msg(pushes, d, k),
            "Capped MSG": lambda: reference.capped_msg(pushes, d, k),
            WIDER: lambda: reference.capped_msg(pushes, d, k, max_rank=2 * k + 2),
            "Incremental": lambda: reference.incremental([row[None] for row in rows], d, k),
            "Warmuth-Kuzmin": lambda: reference.meg(pushes, d, k),
            "Oja": lambda: reference.oja(pushes, d, k, init),
            "Grassmannian SGD": lambda: reference.grouse(pushes, d, k, init),
        }[name]()
    )


NAMES = ["MSG", "Capped MSG", WIDER, "Incremental", "Warmuth-Kuzmin", "Oja", "Grassmannian SGD"]


@pytest.mark.parametrize("name", NAMES)
def test_suboptimality_is_that_of_the_naive_run(name):
    k, source = 2, Gaussian([4.0, 3.0, 2.0, 1.0, 0.5], d=40, noise=0.1, rotation=0)
    rows = source.sample(ROWS, np.random.default_rng(0)) / 4
    moment = source.second_moment().to_dense()
    iterates = naive(name, rows, k, C)
    seen = []
    for at in trajectory(make_rule(name, k, 40), rows, InverseSqrt(C), MARKS):
        leading = np.linalg.eigh(iterates[at.rows])[1][:, -k:].T
        if at.iterate.rank >= k:
            ours = at.iterate.top(k)
            assert np.trace(ours @ moment @ ours.T) == pytest.approx(
                np.trace(leading @ moment @ leading.T), rel=1e-7
            )
        seen.append(at.rows)
    assert seen == MARKS


@pytest.mark.parametrize("name", NAMES[:5])
def test_iterates_on_the_orthogonal_distribution_are_those_of_the_naive_run(name):
    rows = Orthogonal(8).sample(ROWS, np.random.default_rng(1))
    if name == "Incremental":  # ties decide which direction stays: only before they can happen
        rows = rows * np.linspace(1, 2, ROWS)[:, None]
    iterates = naive(name, rows, 2, C)
    for at in trajectory(make_rule(name, 2, 8), rows, InverseSqrt(C), MARKS, chunk_rows=1000):
        np.testing.assert_allclose(at.iterate.to_dense(), iterates[at.rows], atol=1e-8)


def test_average_and_cost_count_every_row():
    rows = Gaussian([2.0, 1.0], d=30, noise=0.2).sample(ROWS, np.random.default_rng(2))
    iterates = naive("Capped MSG", rows, 2, C)
    moments = trajectory(
        make_rule("Capped MSG", 2, 30), rows, InverseSqrt(C), MARKS, averaging=True
    )
    last = list(moments)[-1]
    average = np.mean(iterates[:-1], axis=0)
    # The average is cut at rank 2k + 16, so its leading part is what can agree.
    leading = np.linalg.eigh(average)[1][:, -2:].T
    assert np.linalg.norm(last.iterate.top(2) @ leading.T) == pytest.approx(np.sqrt(2), abs=1e-3)
    assert 9 * (ROWS - 24) <= last.cost <= 9 * ROWS  # rank 3 = k + 1 soon, read at chunk ends


def test_a_cut_rank_is_admitted():
    rows = np.random.default_rng(3).normal(size=(ROWS, 30))
    runs = {
        limit: list(
            trajectory(make_rule("MSG", 1, 30), rows, InverseSqrt(1e-6), MARKS, rank_limit=limit)
        )
        for limit in (5, 30)
    }
    assert [at.limited for at in runs[5]] == [False, False, True, True, True, True, True]
    assert not any(at.limited for at in runs[30])
    assert runs[5][-1].iterate.rank == 5


def test_checkpoints_end_with_the_run_and_weigh_one():
    marks = checkpoints(10, 1000, 30)
    assert marks[0] == 10
    assert marks[-1] == 1000
    assert (np.diff(marks) > 0).all()
    assert run_weights(marks).sum() == pytest.approx(1)
    assert run_weights(np.array([1, 4])).tolist() == [0.25, 0.75]
