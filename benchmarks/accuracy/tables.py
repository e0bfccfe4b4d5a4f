"""Outcomes as Markdown tables."""

from __future__ import annotations

import numpy as np

from benchmarks.accuracy.study import BATCH, OURS, STATISTICS, Outcome, Study
from benchmarks.tables import table


def values_of(study: Study, outcomes: list[Outcome], answer: str) -> np.ndarray:
    """Return the values (n,) of one answer in a study: one for each case and seed.

    Losses are divided by those of batch PCA. Where a case is repeated with a seed, it is sum over
    sum, for distributions on which batch PCA is now and then exactly right.
    """
    found: dict[str, dict[tuple[str, int], float]] = {answer: {}, BATCH: {}}
    for o in outcomes:
        if o.study == study.name and o.answer in found:
            cases = found[o.answer]
            cases[o.label, o.seed] = cases.get((o.label, o.seed), 0.0) + o.value
    if not study.over_batch:
        return np.array(list(found[answer].values()))
    both = found[answer].keys() & found[BATCH].keys()
    return np.array(
        [found[answer][case] / found[BATCH][case] for case in found[answer] if case in both]
    )


def answers_in(outcomes: list[Outcome]) -> list[str]:
    """Return the names of all answers, ours first."""
    names = list(dict.fromkeys(outcome.answer for outcome in outcomes))
    return sorted(names, key=lambda name: name != OURS)


def of_studies(studies: list[Study], outcomes: list[Outcome]) -> str:
    """Return one row for each study, with what is promised and whether it is kept."""
    answers, rows = answers_in(outcomes), []
    for study in studies:
        values = {answer: values_of(study, outcomes, answer) for answer in answers}
        if not any(map(len, values.values())):
            continue
        cells = [_cell(study, values[answer]) for answer in answers]
        ours = values.get(OURS, np.zeros(0))
        met = [limit.met(STATISTICS[limit.statistic](ours)) for limit in study.limits if len(ours)]
        verdict = "-" if not met else "yes" if all(met) else "NO"
        promised = ", ".join(map(str, study.limits))
        rows.append([study.title, promised, str(len(ours)), *cells, verdict])
    return table(["study", "promised of PCA", "runs", *answers, "met"], rows)


def _cell(study: Study, values: np.ndarray) -> str:
    """Return the statistics of the values (n,) of one answer."""
    if not len(values):
        return "-"
    return " / ".join(f"{STATISTICS[limit.statistic](values):.3g}" for limit in study.limits)


def of_cases(outcomes: list[Outcome]) -> str:
    """Return one row for each case and seed, with losses as they are."""
    answers = answers_in(outcomes)
    cases: dict[tuple[str, str, int], dict[str, float]] = {}
    for o in outcomes:
        cases.setdefault((o.study, o.label, o.seed), {})[o.answer] = o.value
    rows = [
        [study, label, str(seed), *(f"{found[a]:.4g}" if a in found else "-" for a in answers)]
        for (study, label, seed), found in cases.items()
    ]
    return table(["study", "case", "seed", *answers], rows)
