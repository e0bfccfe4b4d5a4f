"""The command line of the speed benchmark."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import benchmarks.datasets
import benchmarks.solvers
from benchmarks import machine, memory, pictures, tables
from benchmarks.dataset import Dataset, Problem, Size
from benchmarks.registry import choose, discover
from benchmarks.runner import BUDGET, Measurement, measure


def parser() -> argparse.ArgumentParser:
    """Return what the command line understands."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("--solvers", default="*", help="comma-separated names or patterns (default: all)")
    add("--datasets", default="*", help="comma-separated names or patterns (default: all)")
    add("--sizes", help="comma-separated K, DxK or NxDxK (default: each data set's own)")
    add("--repeat", type=int, default=3, help="turns of every solver (default: 3)")
    add("--threads", type=int, default=1, help="of BLAS and OpenMP (default: 1)")
    add("--budget", type=float, default=BUDGET, help="seconds of a streaming solver's turn")
    add("--data", type=Path, help="a folder with mnist/ and 20news/")
    add("--memory", action="store_true", help="peak memory too, each in a process of its own")
    add("--json", type=Path, metavar="FILE", help="write every number there")
    add("--plot", type=Path, metavar="FILE", help="draw there: time against variance lost")
    add("--list", action="store_true", help="list solvers and data sets")
    return parser


def problems(datasets: list[Dataset], args: argparse.Namespace) -> list[Problem]:
    """Load what was asked for; say what cannot be."""
    sizes = [Size.parse(text) for text in args.sizes.split(",")] if args.sizes else None
    loaded = []
    for dataset in datasets:
        for size in dataset.sizes if sizes is None else dataset.fitting(sizes):
            try:
                loaded.append(dataset.load(size, args.data))
            except FileNotFoundError as error:
                print(f"note: {error}", file=sys.stderr)
                break
    return loaded


def main(arguments: list[str] | None = None) -> None:
    """Run, print, and write what was asked for."""
    args = parser().parse_args(arguments)
    solvers, notes = discover(benchmarks.solvers, "SOLVERS")
    datasets, _ = discover(benchmarks.datasets, "DATASETS")
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    if args.list:
        print("solvers:", *solvers, "datasets:", *datasets, sep="\n  ")
        return
    described = machine.describe(args.threads)
    print(", ".join(f"{key} {value}" for key, value in described.items()))
    results: list[Measurement] = []
    for problem in problems(choose(datasets, args.datasets), args):
        chosen = choose(solvers, args.solvers)
        found = measure(
            problem, chosen, repeat=args.repeat, threads=args.threads, budget=args.budget
        )
        if args.memory:
            memory.add(found, problem, args.data)
        print(f"\n{problem}\n\n{tables.of_measurements(found)}", flush=True)
        results += found
    write(args, described, results)


def write(args: argparse.Namespace, described: dict[str, Any], results: list[Measurement]) -> None:
    """Write the files that were asked for."""
    if args.json:
        content = {"machine": described, "measurements": [asdict(result) for result in results]}
        args.json.write_text(json.dumps(content, indent=1) + "\n")
    if args.plot:
        pictures.speed_and_loss(results, args.plot)
