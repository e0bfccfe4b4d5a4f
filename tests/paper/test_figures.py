"""Figures 1 and 2, the toy and Theorem 1, small."""

import numpy as np
import pytest

from onepass.paper import figure1, figure2, theorem1, toy
from onepass.schedules import AdaGradNorm
from onepass.sources.synthetic import Orthogonal
from tests import reference


def test_figure_1_follows_the_naive_iterates():
    rows, seed = 120, 5
    run = figure1.follow(seed=seed, rows=rows, signed=False)
    sample = Orthogonal(32).sample(rows, np.random.default_rng(seed))
    steps = np.sqrt(figure1.K / np.arange(1, rows + 1))
    pushes = [np.sqrt(step) * row[None] for step, row in zip(steps, sample, strict=True)]
    spectra = [np.linalg.eigvalsh(M)[::-1] for M in reference.msg(pushes, 32, figure1.K)]
    np.testing.assert_array_equal(run["ranks"], [(s > 1e-9).sum() for s in spectra[1:]])
    naive = np.array(spectra)[run["shown"]]
    np.testing.assert_allclose(run["spectrum"], naive, atol=1e-8)


def test_a_stay_is_from_entering_to_leaving():
    run = figure1.follow(seed=0, rows=400, signed=False)
    # Every direction enters once more than it leaves, unless it is there at the end.
    rises = (np.diff(run["ranks"], prepend=0) > 0).sum()
    assert run["stays"].min() >= 1
    assert len(run["stays"]) + run["ranks"][-1] >= rises


def test_a_run_is_stuck_if_worse_than_batch_and_still():
    marks = np.array([1, 5, 10, 50, 100])
    curves = np.array(
        [
            [0.3, 0.2, 0.1, 0.1, 0.1],  # stuck from the tenth row on
            [0.3, 0.2, 0.1, 0.1, 0.0],  # optimal at the end
            [0.3, 0.2, 0.1, 0.2, 0.1],  # moved
            [0.0, 0.0, 0.0, 0.0, 0.0],  # optimal always
            [0.3, 0.2, 0.1, 0.1, 0.1],  # as good as these rows allow
        ]
    )
    batch = np.zeros((5, 5))
    batch[4] = 0.1
    run = {"marks": marks, "MSG": curves, "ERM": batch}
    assert figure2.stuck(run, "MSG").tolist() == [True, False, False, False, False]
    assert figure2.learned(run, "MSG").tolist() == [False, True, False, True, True]


def test_batch_takes_the_most_frequent_axes():
    rows = np.eye(3)[[2, 2, 1, 1, 1, 0]]
    p = np.array([0.5, 0.3, 0.2])
    curve = figure2.batch(rows, 1, np.array([1, 3, 6]), p)
    np.testing.assert_allclose(curve, [0.3, 0.3, 0.2])


def test_figure_2_gives_all_algorithms_the_same_rows_and_the_same_numbers_again():
    first, second = (figure2.compare(seed=1, k=2, rows=300, sequences=2) for _ in range(2))
    for name in figure2.ALGORITHMS:
        np.testing.assert_array_equal(first[name], second[name])
        assert (first[name] >= 0).all()
    assert not np.array_equal(first["MSG"][0], first["MSG"][1])
    # On its first row every algorithm knows that row and nothing else.
    assert len({first[name][0, 0] for name in ("MSG", "Capped MSG", "Incremental")}) == 1


def test_the_toy_decides_the_incremental_algorithm_by_two_rows():
    wrong = toy.ends(seed=0, rows=400, sequences=60)
    for i in range(60):
        first, second = toy.Toy().sample(400, np.random.default_rng([0, i]))[:2]
        assert wrong["Incremental"][i] == (first[0] > 0 or second[0] > 0)
    assert not wrong["Capped MSG"].any()


def test_regret_is_that_of_the_naive_iterates():
    rows = Orthogonal(6).sample(200, np.random.default_rng(0))
    gains = theorem1.played(rows, 2, AdaGradNorm())
    steps = np.sqrt(2 / np.arange(1, 201))
    pushes = [np.sqrt(step) * row[None] for step, row in zip(steps, rows, strict=True)]
    iterates = list(reference.msg(pushes, 6, 2))[:-1]
    naive = [row @ M @ row for row, M in zip(rows, iterates, strict=True)]
    np.testing.assert_allclose(gains, naive, atol=1e-9)
    counts = np.sort(rows.sum(axis=0))
    assert theorem1.regret(rows, 2, gains) == pytest.approx(counts[-2:].sum() - sum(naive))


def test_the_printed_bound_fails_on_a_single_direction_already():
    # M(t) grows by 1/sqrt(T) until it is 1: the excess is (sqrt(T) + 1) / (2 T) exactly.
    run = theorem1.printed(seed=0, horizons=[16, 100], sequences=1)
    np.testing.assert_allclose(run["excess"][0], [0.5 * 5 / 4, 0.5 * 11 / 10])
