"""Outcomes as Markdown tables."""

from __future__ import annotations

import numpy as np

from benchmarks.accuracy.study import STATISTICS, Outcome, Study
from benchmarks.tables import table

OURS = "PCA"


def values_of(outcomes: list[Outcome], study: str, answer: str) -> np.ndarray:
    """Return the values of one answer in a study, as an (n,) array."""
    return np.array([o.value for o in outcomes if (o.study, o.answer) == (study, answer)])


def answers_in(outcomes: list[Outcome]) -> list[str]:
    """Return the names of all answers, ours first."""
    names = list(dict.fromkeys(outcome.answer for outcome in outcomes))
    return sorted(names, key=lambda name: name != OURS)


def of_studies(studies: list[Study], outcomes: list[Outcome]) -> str:
    """Return one row for each study, with what is promised and whether it is kept."""
    answers, rows = answers_in(outcomes), []
    for study in studies:
        if not any(outcome.study == study.name for outcome in outcomes):
            continue
        cells = []
        for answer in answers:
            values = values_of(outcomes, study.name, answer)
            found = [
                f"{STATISTICS[limit.statistic](values):.3g}"
                for limit in study.limits
                if len(values)
            ]
            cells.append(" / ".join(found) or "-")
        ours = values_of(outcomes, study.name, OURS)
        met = [limit.met(STATISTICS[limit.statistic](ours)) for limit in study.limits if len(ours)]
        verdict = "-" if not met else "yes" if all(met) else "NO"
        rows.append([study.title, ", ".join(map(str, study.limits)), *cells, verdict])
    return table(["study", "promised of PCA", *answers, "met"], rows)


def of_cases(outcomes: list[Outcome]) -> str:
    """Return one row for each case and seed."""
    answers = answers_in(outcomes)
    cases: dict[tuple[str, str, int], dict[str, float]] = {}
    for o in outcomes:
        cases.setdefault((o.study, o.label, o.seed), {})[o.answer] = o.value
    rows = [
        [study, label, str(seed), *(f"{found[a]:.3g}" if a in found else "-" for a in answers)]
        for (study, label, seed), found in cases.items()
    ]
    return table(["study", "case", "seed", *answers], rows)
