"""The command line of the speed benchmark."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import benchmarks.datasets
import benchmarks.solvers
from benchmarks import growth, machine, memory, pictures, targets
from benchmarks.dataset import Dataset, Problem, Size
from benchmarks.registry import choose, discover
from benchmarks.runner import BUDGET, Measurement, measure
from benchmarks.tables import number, table

GROWING = (
    "capped-msg",
    "capped-msg-batches",
    "pca",
    "sklearn-incremental-100",
    "sklearn-pca-randomized",
    "floor",
)


def parser() -> argparse.ArgumentParser:
    """Return what the command line understands."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("--solvers", help="comma-separated names or patterns (default: all)")
    add("--datasets", default="*", help="comma-separated names or patterns (default: all)")
    add(
        "--sizes", type=sizes, help="comma-separated K, DxK or NxDxK (default: each data set's own)"
    )
    add("--repeat", type=int, default=3, help="turns of every solver (default: 3)")
    add("--threads", type=int, default=1, help="of BLAS and OpenMP (default: 1)")
    add("--budget", type=float, default=BUDGET, help="seconds of a streaming solver's turn")
    add("--data", type=Path, metavar="DIR", help="a folder with mnist/ and 20news/")
    add("--memory", action="store_true", help="peak memory too, each in a process of its own")
    add("--growth", choices=growth.CURVES, help="time a row against columns, directions or rows")
    add("--targets", nargs="?", const="*", metavar="NAMES", help="what is promised, all or some")
    add("--json", type=Path, metavar="FILE", help="write every number there")
    add("--plot", type=Path, metavar="FILE", help="draw there")
    add("--list", action="store_true", help="list solvers, data sets and targets")
    return parser


def sizes(text: str) -> list[Size]:
    """Read comma-separated sizes."""
    try:
        return [Size.parse(size) for size in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def problems(datasets: list[Dataset], args: argparse.Namespace) -> Iterator[Problem]:
    """Load what was asked for, one after the other; say what cannot be."""
    for dataset in datasets:
        for size in dataset.fitting(args.sizes) if args.sizes else dataset.sizes:
            try:
                yield dataset.load(size, args.data)
            except FileNotFoundError as error:
                print(f"note: {error}", file=sys.stderr)
                break


def run_problems(args: argparse.Namespace, solvers: Any, datasets: Any) -> list[Measurement]:
    """Time solvers on problems, and print a table for each problem."""
    chosen, results = choose(solvers, args.solvers or "*"), []
    how = {"repeat": args.repeat, "threads": args.threads, "budget": args.budget}
    for problem in problems(choose(datasets, args.datasets), args):
        found = measure(problem, chosen, **how)
        if args.memory:
            memory.add(found, problem, args.data)
        print(f"\n### {problem}\n\n{of_measurements(found)}", flush=True)
        results += found
    if args.plot:
        pictures.speed_and_loss(results, args.plot)
    return results


def run_growth(args: argparse.Namespace, solvers: Any) -> list[Measurement]:
    """Time solvers along a curve, and print its table."""
    curve = growth.CURVES[args.growth]
    names = args.solvers or ",".join(name for name in GROWING if name in solvers)
    how = {"repeat": args.repeat, "threads": args.threads, "budget": args.budget}
    results = growth.grow(curve, choose(solvers, names), **how)
    print(
        f"\n### CPU microseconds per row against {curve.name}\n\n{growth.of_curve(curve, results)}"
    )
    if args.plot:
        pictures.growth(curve, results, args.plot)
    return results


def run_targets(args: argparse.Namespace, solvers: Any, datasets: Any) -> list[targets.Target]:
    """Measure what is promised, and print the table."""
    bench = targets.Bench(solvers, datasets, args.data, args.repeat, args.budget)
    found: list[targets.Target] = []
    for group in choose(targets.GROUPS, args.targets):
        try:
            found += group(bench)
        except FileNotFoundError as error:
            print(f"note: {error}", file=sys.stderr)
    print(f"\n{targets.of_targets(found)}")
    return found


def main(arguments: list[str] | None = None) -> None:
    """Run, print, and write what was asked for."""
    args = parser().parse_args(arguments)
    solvers, notes = discover(benchmarks.solvers, "SOLVERS")
    datasets, _ = discover(benchmarks.datasets, "DATASETS")
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    if args.list:
        for kind, names in {"solvers": solvers, "data sets": datasets}.items():
            print(f"{kind}:", *names, sep="\n  ")
        print("targets:", *targets.GROUPS, sep="\n  ")
        return
    described = machine.describe(args.threads)
    print(", ".join(f"{key} {value}" for key, value in described.items()))
    results: list[Any]
    if args.targets:
        results = run_targets(args, solvers, datasets)
    elif args.growth:
        results = run_growth(args, solvers)
    else:
        results = run_problems(args, solvers, datasets)
    if args.json:
        content = {"machine": described, "results": [asdict(result) for result in results]}
        args.json.write_text(json.dumps(content, indent=1) + "\n")


def microseconds(times: Sequence[float]) -> str:
    """Return the median of seconds, and their range."""
    low, median, high = (number(1e6 * q) for q in np.quantile(times, [0.0, 0.5, 1.0]))
    return f"{median} ({low}..{high})"


def of_measurements(measurements: Sequence[Measurement]) -> str:
    """Return the table of one problem, fastest first."""
    ordered = sorted(measurements, key=lambda m: m.seconds)
    header = [
        "solver",
        "CPU us per row (range)",
        "wall us per row (range)",
        "rows",
        "variance lost",
    ]
    with_memory = any(m.memory is not None for m in ordered)
    rows = []
    for m in ordered:
        lost = "-" if np.isnan(m.lost) else f"{100 * m.lost:.3f}%"
        row = [m.solver, microseconds(m.cpu), microseconds(m.wall), str(m.n), lost]
        if with_memory:
            row.append("-" if m.memory is None else f"{m.memory / 1e6:.1f} MB")
        rows.append(row)
    return table([*header, "peak memory"] if with_memory else header, rows)
