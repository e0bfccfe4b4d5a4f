"""The command line of the accuracy study."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import benchmarks.accuracy.methods
import benchmarks.accuracy.studies
from benchmarks.accuracy import pictures, tables
from benchmarks.accuracy.runner import run
from benchmarks.registry import choose, discover


def parser() -> argparse.ArgumentParser:
    """Return what the command line understands."""
    parser = argparse.ArgumentParser("python -m benchmarks.accuracy", description=__doc__)
    add = parser.add_argument
    add("--only", default="*", help="comma-separated names or patterns of studies (default: all)")
    add("--methods", default="*", help="comma-separated names or patterns (default: all)")
    add("--seeds", type=int, default=1, help="how many (default: 1; the documentation has 4)")
    add("--data", type=Path, metavar="DIR", help="a folder with mnist/, covtype/ and kdd99/")
    add("--cases", action="store_true", help="print the cases one by one too")
    add("--json", type=Path, metavar="FILE", help="write every number there")
    add("--plot", type=Path, metavar="FILE", help="draw the excess errors there")
    add("--plot-drift", type=Path, metavar="FILE", help="draw the study of drift there")
    add("--list", action="store_true", help="list studies and methods")
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Run, print, and write what was asked for."""
    args = parser().parse_args(arguments)
    methods, notes = discover(benchmarks.accuracy.methods, "METHODS")
    studies, more = discover(benchmarks.accuracy.studies, "STUDIES")
    for note in notes + more:
        print(f"note: {note}", file=sys.stderr)
    if args.list:
        for kind, names in {"studies": studies, "methods": methods}.items():
            print(f"{kind}:", *names, sep="\n  ")
        return
    chosen = choose(studies, args.only)
    outcomes = run(chosen, choose(methods, args.methods), args.seeds, args.data)
    print(tables.of_studies(chosen, outcomes))
    if args.cases:
        print(f"\n{tables.of_cases(outcomes)}")
    if args.json:
        content = [outcome._asdict() for outcome in outcomes]
        args.json.write_text(json.dumps(content, indent=1) + "\n")
    if args.plot:
        pictures.excess(chosen, outcomes, args.plot)
    if args.plot_drift:
        pictures.drift(args.plot_drift)
