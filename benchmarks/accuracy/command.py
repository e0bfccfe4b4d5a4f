"""The command line of the accuracy study."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from threadpoolctl import threadpool_limits

import benchmarks.accuracy.studies
from benchmarks.accuracy import pictures, tables
from benchmarks.accuracy.methods import METHODS, Method
from benchmarks.accuracy.study import Outcome, Study
from benchmarks.registry import choose, discover
from benchmarks.runner import progress

SEED = 730_000  # the first seed of every study; these are used nowhere else
QUICK_SEEDS = 2


def parser() -> argparse.ArgumentParser:
    """Return what the command line understands."""
    parser = argparse.ArgumentParser("python -m benchmarks.accuracy", description=__doc__)
    add = parser.add_argument
    add("--only", default="*", help="comma-separated names or patterns of studies (default: all)")
    add("--methods", default="*", help="comma-separated names or patterns (default: all)")
    add("--seeds", type=int, help=f"at most so many (default: {QUICK_SEEDS})")
    add("--full", action="store_true", help="as many seeds as the documentation has")
    add("--first-seed", type=int, default=SEED, metavar="SEED", help=f"(default: {SEED})")
    add("--data", type=Path, metavar="DIR", help="a folder with mnist/, covtype/, 20news/, ...")
    add("--cases", action="store_true", help="print the cases one by one too")
    add("--json", type=Path, metavar="FILE", help="write every number there, after each study")
    add("--read", type=Path, nargs="+", default=[], metavar="FILE", help="run nothing, print these")
    add("--plot", type=Path, metavar="FILE", help="draw the losses over batch PCA's there")
    add("--plot-drift", type=Path, metavar="FILE", help="draw the study of drift there")
    add("--list", action="store_true", help="list studies and methods")
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Run, print, and write what was asked for."""
    args = parser().parse_args(arguments)
    methods = {method.name: method for method in METHODS}
    studies, notes = discover(benchmarks.accuracy.studies, "STUDIES")
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    if args.list:
        for kind, names in {"studies": studies, "methods": methods}.items():
            print(f"{kind}:", *names, sep="\n  ")
        return
    chosen = choose(studies, args.only)
    if args.read:
        outcomes = read(args.read)
    else:
        outcomes = []
        for study in chosen:
            limit = args.seeds or (study.seeds if args.full else QUICK_SEEDS)
            seeds = range(args.first_seed, args.first_seed + min(limit, study.seeds))
            outcomes += run(study, choose(methods, args.methods), seeds, args.data)
            if args.json:
                content = [outcome._asdict() for outcome in outcomes]
                args.json.write_text(json.dumps(content, indent=1) + "\n")
    print(tables.of_studies(chosen, outcomes))
    if args.cases:
        print(f"\n{tables.of_cases(outcomes)}")
    if args.plot:
        pictures.over_batch(chosen, outcomes, args.plot)
    if args.plot_drift:
        pictures.drift(args.first_seed, args.plot_drift)


def run(
    study: Study, methods: list[Method], seeds: Iterable[int], folder: Path | None
) -> list[Outcome]:
    """Return the outcomes of a study; none, and a note, where its files are missing."""
    outcomes: list[Outcome] = []
    start = time.perf_counter()
    with threadpool_limits(limits=1):
        for seed in seeds:
            try:
                for answer, label, value in study.measure(methods, seed, folder):
                    progress(f"{study.title}, seed {seed}: {label}, {answer}")
                    outcomes.append(Outcome(study.name, answer, label, seed, value))
            except FileNotFoundError as error:
                print(f"note: {error}", file=sys.stderr)
                break
    progress("")
    print(f"{study.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return outcomes


def read(paths: list[Path]) -> list[Outcome]:
    """Return the outcomes in files; of the same run of the same answer the last one counts."""
    found: dict[tuple[str, str, str, int, int], Outcome] = {}
    for path in paths:
        repeated: dict[tuple[str, str, str, int], int] = {}
        for content in json.loads(path.read_text()):
            outcome = Outcome(**content)
            key = outcome[:4]
            repeated[key] = repeated.get(key, 0) + 1
            found[(*key, repeated[key])] = outcome
    return list(found.values())
