"""Runs studies."""

from __future__ import annotations

import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.accuracy.method import Method
from benchmarks.accuracy.study import SEED, Outcome, Study
from benchmarks.runner import progress


def run(
    studies: list[Study], methods: list[Method], seeds: int, folder: Path | None
) -> list[Outcome]:
    """Return the outcomes of studies; those whose files are missing are noted and left out."""
    outcomes: list[Outcome] = []
    with threadpool_limits(limits=1):
        for study in studies:
            for seed in range(SEED, SEED + (1 if study.one_seed else seeds)):
                try:
                    for answer, label, value in study.measure(methods, seed, folder):
                        progress(f"{study.title}, seed {seed}: {label}, {answer}")
                        outcomes.append(Outcome(study.name, answer, label, seed, value))
                except FileNotFoundError as error:
                    print(f"note: {error}", file=sys.stderr)
                    break
    progress("")
    return outcomes
