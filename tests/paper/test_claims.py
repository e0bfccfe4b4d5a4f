"""Claims hold or fail by the numbers."""

import numpy as np

from onepass.paper import claims
from onepass.paper.figure3_summary import Summary

MARKS = np.array([10, 50, 100])


def holding(found):
    return [claim.holds for claim in found]


def test_the_toy():
    nine = np.arange(9)
    good = {"Incremental": nine < 5, "Capped MSG": nine < 0}
    assert holding(claims.about_toy({n: np.tile(w, 100) for n, w in good.items()})) == [True, True]
    bad = {"Incremental": nine < 3, "Capped MSG": nine < 1}
    assert holding(claims.about_toy({n: np.tile(w, 100) for n, w in bad.items()})) == [False, False]


def figure1_run(rank, jump=1):
    ranks = np.minimum(np.arange(1, 1001) * jump, rank)
    spectrum = np.zeros((10, 32))
    spectrum[:, :4], spectrum[:, 4:rank] = 0.9, 0.01
    return {"ranks": ranks, "spectrum": spectrum, "stays": np.full(50, 12)}


def test_figure_1():
    found = claims.about_figure1({"text": figure1_run(20), "signed": figure1_run(14)})
    assert holding(found) == [False, True, True, True, True, True]
    assert "median 20" in found[0].measured
    found = claims.about_figure1({"text": figure1_run(30, jump=2), "signed": figure1_run(30)})
    assert holding(found)[:4] == [False, False, False, False]


def figure2_run(capped):
    still, learning = np.full((4, 3), 0.05), np.tile([0.05, 0.01, 0.0], (4, 1))
    return {
        "marks": MARKS,
        "MSG": learning,
        "Warmuth-Kuzmin": learning,
        "Capped MSG": learning if capped else still,
        "Incremental": still,
        "ERM": learning,
    }


def test_figure_2():
    assert all(holding(claims.about_figure2({k: figure2_run(True) for k in (1, 2, 4)})))
    found = claims.about_figure2({k: figure2_run(False) for k in (1, 2, 4)})
    assert holding(found) == [True, True, False, False, True, False]
    assert "100% (k=4) of 4 runs" in found[2].measured


def figure3_split(levels, ranks):
    """Return a split where each algorithm has a constant suboptimality and rank - k."""
    split = {"marks": MARKS}
    for k in Summary.ks:
        for name, level in levels.items():
            split[f"{name}/{k}/suboptimality"] = np.full(3, level * (1 + 0.1 * k))
            split[f"{name}/{k}/cost"] = MARKS * (k + ranks.get(name, 0)) ** 2.0
            split[f"{name}/{k}/seconds"] = MARKS / 100
            split[f"{name}/{k}/limited"] = np.array(name == "MSG" and k == 8)
            split[f"{name}/{k}/c"] = np.array(0.5)
    return split


def test_figure_3_orders_the_algorithms():
    levels = {
        "Incremental": 1.0,
        "MSG": 1.2,
        "Capped MSG": 1.3,
        "Grassmannian SGD": 3.0,
        "Warmuth-Kuzmin": 4.0,
    }
    split = figure3_split(levels, {"MSG": 1, "Capped MSG": 1, "Warmuth-Kuzmin": 5})
    summary = Summary([split, split])
    found = {claim.claim: claim for claim in claims.about_figure3(summary, "here")}
    assert len(found) == 11
    failing = [claim for claim, value in found.items() if not value.holds]
    assert failing == [
        "Capped MSG is significantly faster than MSG",  # the same rank here
        "Warmuth and Kuzmin's algorithm fares well with k=1",  # 4.0 against 1.2
        "... but its performance drops for higher k",  # the same ratio for all k
    ]
    larger = "MSG often keeps a slightly larger representation than the incremental algorithm"
    assert found[larger].measured == (
        "2.0 (k=1), 5.0 (k=4), 9.0 (k=8) (rank cut in 2 of 6 chosen runs)"
    )
    reversed_order = {name: 5 - level for name, level in levels.items()}
    other = Summary([figure3_split(reversed_order, {"MSG": 300})])
    outcome = [claim.holds for claim in claims.about_figure3(other, "here")]
    assert outcome[:4] == [False, False, True, False]


def test_theorem_1():
    def results(regret, excess):
        return {
            "regret": {
                "horizons": np.array([10, 100]),
                "sqrt(k/T)": np.array([[0.5, regret]]),
                "AdaGrad-norm": np.array([[0.5, 2 * regret]]),
            },
            "printed": {
                "shares": np.array([1.0, 0.75]),
                "horizons": np.array([16]),
                "excess": np.array([[0.4], [excess]]),
            },
        }

    assert holding(claims.about_theorem1(results(0.9, 0.5))) == [True, True, True]
    found = claims.about_theorem1(results(1.1, 0.7))
    assert holding(found) == [False, False, False]
    assert "probability 0.75" in found[2].measured
    assert found[0].to_json()["holds"] is False
