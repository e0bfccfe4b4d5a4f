"""What happens at half and at twice each statistical constant of `PCA`.

Studies of the accuracy of `PCA` and of the coverage of `captured_` are repeated with a few seeds,
the same for all constants: geometric means, the share that is lost, or the coverage.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks import captured
from benchmarks.accuracy import generated, unseen
from benchmarks.results import Results, Row, chosen, parser
from onepass import OnepassWarning

SEEDS = 1
COVERAGE_RUNS = 40
STUDIES = (
    "t2.5",
    "t5",
    "t3-500",
    "outliers",
    "outliers-late",
    "one-hot",
    "rare",
    "t4-columns",
    "mixtures",
    "unseen-returns",
)
COVERAGE = ("decay-600", "t5-3000", "weak-spikes-600")

Change = Callable[[Any, float], Any]  # (value, factor) -> changed value


def times(value: Any, factor: float) -> Any:
    """Return a number times a factor; whole numbers stay whole."""
    return type(value)(value * factor)


def share(value: float, factor: float) -> float:
    """Return a share of something, of which there is no more than all."""
    return min(value * factor, 1.0)


def above_one(value: float, factor: float) -> float:
    """Return a ratio whose distance from 1 is changed."""
    return 1.0 + factor * (value - 1.0)


def bound(name: str) -> Change:
    """Return the change of one of the bounds on the energy of a row."""
    return lambda bounds, factor: {**bounds, name: factor * bounds[name]}


@dataclass(frozen=True)
class Constant:
    """A number that was chosen.

    Attributes
    ----------
    name : str
        On the command line, and in the table.
    places : tuple of (module, attribute, change)
        Where it is, and how it is changed there.
    """

    name: str
    places: tuple[tuple[str, str, Change], ...]

    @contextmanager
    def at(self, factor: float) -> Iterator[None]:
        """Change the constant wherever a module has it, and put it back."""
        changed: list[tuple[Any, str, Any]] = []
        for home, attribute, change in self.places:
            value = getattr(importlib.import_module(home), attribute)
            new = change(value, factor)
            for name, module in list(sys.modules.items()):
                if name.startswith("onepass.") and module.__dict__.get(attribute) is value:
                    changed.append((module, attribute, value))
                    setattr(module, attribute, new)
        try:
            yield
        finally:
            for module, attribute, value in changed:
                setattr(module, attribute, value)


def one(path: str, change: Change = times) -> Constant:
    """Return the constant at a dotted path."""
    home, _, attribute = path.rpartition(".")
    return Constant(f"{home.rpartition('.')[2]}.{attribute}", ((home, attribute, change),))


BOUNDS = "onepass.pca.bounds"
EVIDENCE = "onepass.pca.evidence"
LEARNER = "onepass.pca.learner"
HELD_OUT = "onepass.evaluation.held_out"
CONSTANTS = [
    Constant(
        "bounds.BOUNDS, mild",
        ((BOUNDS, "BOUNDS", bound("mild")), (EVIDENCE, "CUT", times)),
    ),
    Constant("bounds.BOUNDS, bounded", ((BOUNDS, "BOUNDS", bound("bounded")),)),
    one(f"{BOUNDS}.UNEVEN", above_one),
    one(f"{BOUNDS}.TYPICAL_POWER"),
    one(f"{BOUNDS}.LEAST_LENGTH"),
    one(f"{EVIDENCE}.SURE"),
    one(f"{EVIDENCE}.LEVELS", lambda levels, factor: levels**factor),
    one(f"{EVIDENCE}.TERM_ROWS"),
    one(f"{EVIDENCE}.LATEST", share),
    one(f"{EVIDENCE}.DRIFT_RISK"),
    one("onepass.evaluation.segments.SEGMENTS"),
    one(f"{LEARNER}.FIRST_ROWS"),
    one(f"{LEARNER}.COMPARED_GROWTH"),
    one(f"{HELD_OUT}.LATEST", share),
    one(f"{HELD_OUT}.LEAST_ROWS"),
]


def measured(seed: int, quick: bool) -> dict[str, float]:
    """Return what every study finds now: its mean, the share lost, or the coverage."""
    found: dict[str, float] = {}
    for study in [*generated.STUDIES, *unseen.STUDIES]:
        if study.name in STUDIES[2:3] if quick else study.name in STUDIES:
            row = replace(study, seeds=SEEDS).measure(seed, None, quick=quick)
            found[study.name] = next(iter(row["measured"].values()))
    for coverage in captured.ROWS:
        if coverage.name in COVERAGE[:1] if quick else coverage.name in COVERAGE:
            row = replace(coverage, runs=COVERAGE_RUNS).measure(seed, quick=quick)
            if row["coverage"] is not None:
                found[f"{coverage.name} held"] = row["coverage"]
    return found


def main(arguments: list[str] | None = None) -> None:
    """Measure all constants as they are, then each at half and at twice its value."""
    args = parser("constants", __doc__).parse_args(arguments)
    constants = chosen(CONSTANTS, args)
    results = Results("constants", args)
    warnings.simplefilter("ignore", OnepassWarning)  # which say that a robust candidate answered
    with threadpool_limits(limits=1):
        results.add(
            {"name": "as they are", "at": "", "measured": measured(results.seed, args.quick)}
        )
        for constant in constants:
            for words, factor in (("half", 0.5), ("twice", 2.0)):
                with constant.at(factor):
                    row: Row = {"name": constant.name, "at": words}
                    results.add({**row, "measured": measured(results.seed, args.quick)})


if __name__ == "__main__":
    main()
