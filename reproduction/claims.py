"""Measured numbers, and whether they meet the conditions that stand for the paper's claims.

The claims are in ``claims.toml``. Each number comes with an interval: a claim holds if the whole
interval meets the condition, fails if none of it does, and is undecided otherwise.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
NORMAL_95 = 1.96  # standard errors to each side


@dataclass(frozen=True)
class Reading:
    """One way to read the text, where it leaves room or contradicts itself."""

    key: str  # in names of files
    name: str  # in tables and in ``claims.json``
    label: str  # above a column of a figure


@dataclass(frozen=True)
class Quantity:
    """A measured number and its interval."""

    what: str  # the case, such as "k=4"
    value: float
    low: float
    high: float

    def verdict(self, least: float, most: float) -> str:
        """Say whether the number is within bounds."""
        if least <= self.low and self.high <= most:
            return HOLDS
        return FAILS if self.high < least or self.low > most else UNDECIDED

    def text(self, form: str) -> str:
        """Return the number with its interval, as `format` writes it."""
        low, value, high = (format(number, form) for number in (self.low, self.value, self.high))
        return value if low == high else f"{value} [{low}, {high}]"


Values = Sequence[float] | NDArray[Any]  # one per split or run
Measured = dict[str, list[Quantity]]  # by the name of the claim
Table = dict[str, Sequence[Any]]  # the names of the "columns", and "lines" of cells


@dataclass(frozen=True)
class Part:
    """What was measured for a figure or theorem."""

    name: str  # of its section in ``claims.toml``
    measured: Mapping[str, Measured]  # for each reading, by claim
    facts: Mapping[str, Any]  # how much was run
    tables: list[Table] = field(default_factory=list)


def exact(value: float, what: str = "") -> Quantity:
    """Return a number without an interval."""
    return Quantity(what, float(value), float(value), float(value))


def across(values: Values, what: str = "") -> Quantity:
    """Return the mean over splits or runs, one standard deviation to each side."""
    if np.size(values) < 2:
        raise ValueError("one run or split shows no spread: finish another one first")
    mean, deviation = float(np.mean(values)), float(np.std(values, ddof=1))
    return Quantity(what, mean, mean - deviation, mean + deviation)


def ratio(over: Values, under: Values, what: str = "") -> Quantity:
    """Return the geometric mean of ratios over splits or runs, one standard deviation each side."""
    middle = across(np.log(np.asarray(over) / np.asarray(under)))
    return Quantity(what, *(float(np.exp(v)) for v in (middle.value, middle.low, middle.high)))


def expectation(values: Values, what: str = "") -> Quantity:
    """Return the mean over independent runs with the 95% interval of the expected value."""
    mean = float(np.mean(values))
    error = NORMAL_95 * float(np.std(values, ddof=1)) / np.sqrt(np.size(values))
    return Quantity(what, mean, mean - error, mean + error)


def ratio_of_means(over: Values, under: Values, what: str = "") -> Quantity:
    """Return a ratio of means over the same independent runs, with its 95% interval."""
    over, under = np.asarray(over), np.asarray(under)
    value = float(over.mean() / under.mean())
    error = expectation((over - value * under) / under.mean()).high
    return Quantity(what, value, value - error, value + error)


def share(flags: Values, what: str = "") -> Quantity:
    """Return the share of runs for which something is true, with Wilson's 95% interval."""
    from scipy.stats import binomtest

    true, count = int(np.sum(flags)), int(np.size(flags))
    interval = binomtest(true, count).proportion_ci(method="wilson")
    return Quantity(what, true / count, float(interval.low), float(interval.high))


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and the condition on a quantity that stands for it."""

    words: str
    quantity: str
    least: float = -inf
    most: float = inf
    form: str = ".2f"  # of its numbers, for `format`

    def judge(self, quantities: Sequence[Quantity]) -> dict[str, Any]:
        """Return the claim, its condition in words, the numbers, their verdicts and its own."""
        bounds = f"{self.least:{self.form}} to {self.most:{self.form}}"
        if self.least == -inf:
            bounds = f"at most {self.most:{self.form}}"
        elif self.most == inf:
            bounds = f"at least {self.least:{self.form}}"
        verdicts = [each.verdict(self.least, self.most) for each in quantities]
        return {
            "claim": self.words,
            "condition": f"{self.quantity}: {bounds}",
            "verdict": next(v for v in (FAILS, UNDECIDED, HOLDS) if v in verdicts),
            "measured": [
                asdict(each) | {"text": each.text(self.form), "verdict": verdict}
                for each, verdict in zip(quantities, verdicts, strict=True)
            ],
        }


def claims_of(part: str) -> dict[str, Claim]:
    """Return the claims about a figure or theorem by name, from ``claims.toml``."""
    table = tomllib.loads(Path(__file__).with_name("claims.toml").read_text("utf-8"))[part]
    return {name: Claim(*line) for name, line in table.items()}


def judge(part: Part) -> list[dict[str, Any]]:
    """Return the entries of ``claims.json``: each claim under each reading."""
    said = claims_of(part.name)
    return [
        {"part": part.name, "name": name, "reading": reading, **said[name].judge(quantities)}
        for reading, measured in part.measured.items()
        for name, quantities in measured.items()
    ]
