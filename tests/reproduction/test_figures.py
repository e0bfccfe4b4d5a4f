"""Figures 1 and 2, the toy and Theorem 1, small."""

import numpy as np
import pytest

from reproduction import figure1, figure2, theorem1
from reproduction.distributions import toy_rows
from reproduction.figure1 import orthogonal
from tests import reference


def test_figure_1_follows_the_naive_iterates():
    rows, seed = 120, 5
    run = figure1.follow(seed=seed, rows=rows, reading="flat")
    sample = orthogonal("flat").sample(rows, np.random.default_rng(seed))
    steps = np.sqrt(figure1.K / np.arange(1, rows + 1))
    pushes = [np.sqrt(step) * row[None] for step, row in zip(steps, sample, strict=True)]
    spectra = [np.linalg.eigvalsh(M)[::-1] for M in reference.msg(pushes, 32, figure1.K)]
    np.testing.assert_array_equal(run["ranks"], [(s > 1e-9).sum() for s in spectra[1:]])
    naive = np.array(spectra)[run["shown"]]
    np.testing.assert_allclose(run["spectrum"], naive, atol=1e-8)


def test_figure_2_gives_all_algorithms_the_same_rows_and_the_same_numbers_again():
    settings = {"seed": 1, "reading": "steep", "rows": 300, "sequences": 2}
    first, second = (
        figure2.compare(**settings, names=(*figure2.ALGORITHMS, "ERM")) for _ in range(2)
    )
    for name in (*figure2.ALGORITHMS, "ERM"):
        np.testing.assert_array_equal(first[f"{name}/2"], second[f"{name}/2"])
        assert (first[f"{name}/2"] >= 0).all()
        alone = figure2.compare(**settings, names=[name])  # groups see the same sequences
        np.testing.assert_array_equal(first[f"{name}/2"], alone[f"{name}/2"])
    assert not np.array_equal(first["MSG/2"][0], first["MSG/2"][1])
    # On its first row every algorithm knows that row and nothing else.
    assert len({first[f"{name}/1"][0, 0] for name in ("MSG", "Capped MSG", "Incremental")}) == 1


def test_the_toy_decides_the_incremental_algorithm_by_two_rows():
    wrong = figure2.toy_ends(seed=0, rows=400, sequences=60)
    for i in range(60):
        first, second = toy_rows(400, np.random.default_rng([0, i]))[:2]
        assert wrong["Incremental"][i] == (first[0] > 0 or second[0] > 0)
    assert not wrong["Capped MSG"].any()


def test_the_exhibit_satisfies_the_theorem_and_exceeds_its_bound():
    p = theorem1.probabilities("exhibit")
    assert p.sum() == pytest.approx(1)  # unit rows: E|x|^2 = E|x|^4 = 1
    run = theorem1.excesses(seed=0, source="exhibit", horizons=[36], sequences=1000)
    mean, error = run["excess"].mean(), run["excess"].std() / np.sqrt(1000)
    assert mean - 3 * error > 0.5
    assert abs(mean - 0.570) < 3 * np.hypot(error, 0.011)  # as found independently
