"""Intervals of measured numbers, and the verdicts that follow from them."""

import numpy as np
import pytest

from reproduction import figure2, figure3
from reproduction.claims import (
    Claim,
    Quantity,
    across,
    claims_of,
    exact,
    expectation,
    ratio,
    ratio_of_means,
    share,
)
from reproduction.runs import gather

MARKS = np.array([10, 50, 100])


def claim(**bounds):
    return Claim("It is so.", "length", **bounds)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(1.1, 1.9, "holds"), (1.0, 2.0, "holds"), (2.1, 3, "fails"), (0, 0.9, "fails"),
     (0.9, 1.1, "undecided"), (1.9, 2.1, "undecided"), (0, 3, "undecided")],
)  # fmt: skip
def test_a_claim_is_undecided_where_its_margin_is_within_the_spread(low, high, verdict):
    entry = claim(least=1, most=2).judge([Quantity("k=1", (low + high) / 2, low, high)])
    assert entry["verdict"] == entry["measured"][0]["verdict"] == verdict


def test_a_claim_holds_only_if_all_its_quantities_do():
    good, bad, open_ = exact(1, "k=1"), exact(3, "k=4"), Quantity("k=8", 2, 1, 3)

    def verdict(*quantities):
        return claim(most=2).judge(quantities)["verdict"]

    assert verdict(good) == "holds"
    assert verdict(good, open_) == "undecided"
    assert verdict(good, open_, bad) == "fails"


def test_intervals():
    rng = np.random.default_rng(0)
    values = rng.normal(5, 2, size=4000)
    assert across([1, 3]) == Quantity("", 2, 2 - 2**0.5, 2 + 2**0.5)
    assert across(values).high == pytest.approx(7, abs=0.1)
    assert expectation(values).high - expectation(values).value == pytest.approx(
        1.96 * 2 / 4000**0.5, rel=0.05
    )
    with pytest.raises(ValueError, match="no spread"):
        across([1.0])
    doubled = ratio([2.0, 8.0], [1.0, 1.0])
    assert doubled.value == pytest.approx(4)
    assert doubled.high / doubled.value == pytest.approx(doubled.value / doubled.low)
    none = share(np.zeros(100, bool))
    assert (none.value, none.low) == (0, 0)
    assert none.high == pytest.approx(0.037, abs=1e-3)


def test_the_ratio_of_means_covers_the_ratio_of_expected_values():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        under = rng.exponential(size=100)
        over = 3 * under * rng.exponential(size=100) * (rng.random(100) < 0.5)  # half of it zero
        found = ratio_of_means(over, under)
        covered += found.low <= 1.5 <= found.high
    assert 0.88 <= covered / 400 <= 0.98


def verdicts(part, measured):
    """Return the verdicts of the claims that were measured."""
    said = claims_of(part)
    return {name: said[name].judge(each)["verdict"] for name, each in measured.items()}


def figure2_run(capped):
    still = np.full((100, 4), 0.05)
    learning = np.tile([0.05, 0.05, 0.01, 0.0], (100, 1))
    curves = {
        "MSG": learning,
        "Warmuth-Kuzmin": learning,
        "Capped MSG": learning if capped else still,
        "Capped MSG, K=2k+2": learning,
        "Incremental": still,
        "ERM": learning,
    }
    found = {f"{name}/{k}": curve for name, curve in curves.items() for k in figure2.KS}
    return {"marks": np.array([10, 150, 400, 1000]), **found}


def test_figure_2():
    found = verdicts("figure2", figure2.measure(figure2_run(True)))
    assert found.pop("plateaus") == "fails"  # nobody stands still from row 100 on
    assert set(found.values()) == {"holds"}
    measured = figure2.measure(figure2_run(False))
    found = verdicts("figure2", measured)
    del found["plateaus"]
    failing = [name for name, verdict in found.items() if verdict == "fails"]
    assert failing == ["capped stuck", "less prone", "capped optimum", "barely faster"]
    assert measured["capped stuck"][2].text(".0%") == "100% [96%, 100%]"


def figure3_split(levels, ranks):
    """Return a split where each algorithm has a constant suboptimality and rank - k."""
    split = {"marks": MARKS}
    for k in figure3.KS:
        for name, level in levels.items():
            split[f"{name}/{k}/suboptimality"] = np.full(3, level * (1 + 0.1 * k))
            split[f"{name}/{k}/cost"] = MARKS * (k + ranks.get(name, 0)) ** 2.0
            split[f"{name}/{k}/limited"] = np.array(name == "MSG" and k == 8)
            split[f"{name}/{k}/c"] = np.array(0.5)
    return split


def test_figure_3_orders_the_algorithms():
    levels = dict.fromkeys(figure3.ALGORITHMS, 1.0) | {
        "Incremental": 1.0,
        "MSG": 1.2,
        "Capped MSG": 1.3,
        "Grassmannian SGD": 3.0,
        "Warmuth-Kuzmin": 4.0,
    }
    split = figure3_split(levels, {"MSG": 1, "Capped MSG": 1, "Warmuth-Kuzmin": 5})
    splits = gather([split, split])
    found = verdicts("figure3", figure3.measure(splits))
    failing = [name for name, verdict in found.items() if verdict == "fails"]
    assert failing == [
        "capped faster",  # the same rank here
        "entropy k=1",  # 4.0 against 1.2
        "entropy drops",  # the same ratio for all k
    ]
    table = figure3.tabulate({figure3.UNIT: splits})
    lines = {tuple(line[:3]): line[3:] for line in table["lines"]}
    assert lines["s_j sqrt(d)", "8", "MSG"] == ["2.16", "2.16", "9.0, cut in 2", "2^-1 .. 2^-1"]
    reversed_order = {name: 5 - level for name, level in levels.items()}
    other = gather([figure3_split(reversed_order, {"MSG": 300})] * 2)
    found = verdicts("figure3", figure3.measure(other))
    assert found["incremental progress"] == found["representation"] == "fails"
    assert found["capped faster"] == "holds"
