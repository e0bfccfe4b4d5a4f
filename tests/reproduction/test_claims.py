"""Intervals of measured numbers, and the verdicts that follow from them."""

import numpy as np
import pytest

from reproduction import figure2
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
    found = verdicts("figure2", figure2.measure(figure2_run(False)))
    failing = [name for name, verdict in found.items() if verdict == "fails" and name != "plateaus"]
    assert failing == ["capped stuck", "less prone", "capped optimum", "barely faster"]
