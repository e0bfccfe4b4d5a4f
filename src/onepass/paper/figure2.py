"""Figure 2: suboptimality on the orthogonal distribution, k in {1, 2, 4}; and the toy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.paper.claims import Measured, Quantity, expectation, ratio_of_means, share
from onepass.paper.part import Curve, Part, Scope, draw_panels
from onepass.paper.readings import ORTHOGONAL, TAU, D, orthogonal
from onepass.paper.runs import Arrays, Run, seed_of
from onepass.paper.trajectory import WIDER, checkpoints, make_rule, run_weights, trajectory
from onepass.report.page import Table
from onepass.schedules import AdaGradNorm
from onepass.sources.synthetic import Toy

KS = (1, 2, 4)
CONVEX = ("MSG", "Warmuth-Kuzmin")
ALGORITHMS = ("MSG", "Capped MSG", WIDER, "Incremental", "Warmuth-Kuzmin")
TOY_ALGORITHMS = ("Incremental", "Capped MSG")
FLOOR = 1e-3  # below the smallest difference of two eigenvalues; what is optimal is drawn here
SEQUENCES_PER_RUN = 10
ROW_SECONDS = {1: 14e-6, 2: 15e-6, 4: 17e-6}  # by k, of all algorithms together
TOY_SECONDS = 5e-4  # per sequence

Curves = dict[tuple[str, int], Arrays]  # by reading and k, what `compare` returns
Flags = Callable[[Arrays, str], NDArray[np.bool_]]  # of the runs of an algorithm


def compare(seed: int, reading: str, k: int, rows: int, sequences: int) -> Arrays:
    """Run all algorithms on the same sequences.

    Returns
    -------
    dict
        `marks` (s,) and, under the name of each algorithm and "ERM", which is batch PCA of the
        rows so far, suboptimality (sequences, s).
    """
    source = orthogonal(reading)
    p = source.probabilities
    marks = np.union1d(checkpoints(1, rows, 160), [rows // 10])
    curves = {name: np.empty((sequences, len(marks))) for name in ALGORITHMS}
    erm = np.empty((sequences, len(marks)))
    for i in range(sequences):
        sample = source.sample(rows, np.random.default_rng([seed, i]))
        erm[i] = batch(sample, k, marks, p)
        for name, curve in curves.items():
            rule = make_rule(name, k, source.d)
            run = trajectory(rule, sample, AdaGradNorm(), marks, chunk_rows=rows)
            for j, at in enumerate(run):
                missing = p[:k].sum() - (at.iterate.top(k) ** 2 @ p).sum()
                curve[i, j] = missing if missing > 1e-12 else 0.0
    return {"marks": marks, "ERM": erm, **curves}


def batch(
    sample: NDArray[np.float64], k: int, marks: NDArray[np.int64], p: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the suboptimality of batch PCA at the marks: it takes the most frequent axes."""
    starts = np.concatenate([[0], marks[:-1]])
    counts = np.add.reduceat(np.abs(sample[: marks[-1]]), starts, axis=0).cumsum(axis=0)
    leading = np.argsort(-counts, axis=1, kind="stable")[:, :k]
    return np.maximum(p[:k].sum() - p[leading].sum(axis=1), 0.0).round(12)


def toy_ends(seed: int, rows: int, sequences: int) -> Arrays:
    """Run Section 5.2's toy: whether each run ended at [1, 0], under the name of the algorithm."""
    wrong = {name: np.empty(sequences, dtype=bool) for name in TOY_ALGORITHMS}
    for i in range(sequences):
        sample = Toy().sample(rows, np.random.default_rng([seed, i]))
        for name in TOY_ALGORITHMS:
            rule = make_rule(name, 1, 2)
            (end,) = trajectory(rule, sample, AdaGradNorm(), [rows], chunk_rows=rows)
            first, second = np.abs(end.iterate.top(1)[0])
            wrong[name][i] = first > second
    return wrong


def make_runs(scope: Scope) -> list[Run]:
    """Return the toy, and the runs of both readings and all k, some sequences each."""
    rows, sequences = scope.toy_rows, scope.toy_sequences
    seed = seed_of(scope.seed, "toy")
    settings: dict[str, Any] = {"seed": seed, "rows": rows, "sequences": sequences}
    runs = [Run("toy", toy_ends, settings, expected_seconds=sequences * TOY_SECONDS)]
    rows, sequences = scope.figure2_rows, scope.figure2_sequences
    starts = range(0, sequences, SEQUENCES_PER_RUN)
    for start, reading, k in itertools.product(starts, ORTHOGONAL, KS):
        count = min(SEQUENCES_PER_RUN, sequences - start)
        settings = {
            "seed": seed_of(scope.seed, "figure 2", reading.key, start),
            "reading": reading.key,
            "k": k,
            "rows": rows,
            "sequences": count,
        }
        name, seconds = f"figure2-{reading.key}-k{k}-{start}", rows * count * ROW_SECONDS[k]
        runs.append(Run(name, compare, settings, expected_seconds=seconds))
    return runs


def report(results: Mapping[str, Arrays], scope: Scope, out: Path) -> Part:
    """Draw the figure and measure what Section 5.2 says about it."""
    curves, starts = {}, range(0, scope.figure2_sequences, SEQUENCES_PER_RUN)
    for reading, k in itertools.product(ORTHOGONAL, KS):
        parts = [results[f"figure2-{reading.key}-k{k}-{start}"] for start in starts]
        stacked = {name: np.vstack([part[name] for part in parts]) for name in (*ALGORITHMS, "ERM")}
        curves[reading.key, k] = {"marks": parts[0]["marks"], **stacked}
    draw(curves, out)
    toy, rows = results["toy"], scope.figure2_rows
    measured = {r.name: measure({k: curves[r.key, k] for k in KS}) for r in ORTHOGONAL}
    measured["toy"] = {
        "toy incremental": [share(toy["Incremental"])],
        "toy capped": [share(toy["Capped MSG"])],
    }
    facts = {"d": D, "tau": TAU, "rows": rows, "count": scope.figure2_sequences}
    facts["toy_count"] = scope.toy_sequences
    return Part("figure2", measured, facts, [tabulate(curves, (rows // 10, rows))])


def measure(runs: Mapping[int, Arrays]) -> Measured:
    """Return what the claims are about, from runs by k."""

    def shares(what: Flags, *names: str, ks: Sequence[int] = KS) -> list[Quantity]:
        return [
            share(what(runs[k], name), f"{name}, k={k}" if len(names) > 1 else f"k={k}")
            for name, k in itertools.product(names, ks)
        ]

    def over_msg(name: str) -> list[Quantity]:
        averages = {k: (average(run, name), average(run, "MSG")) for k, run in runs.items()}
        return [ratio_of_means(*pair, f"k={k}") for k, pair in averages.items()]

    def fewer_stuck(run: Arrays) -> NDArray[np.float64]:
        return stuck(run, "Incremental").astype(float) - stuck(run, "Capped MSG")

    return {
        "incremental stuck": shares(stuck, "Incremental", ks=(1, 4)),
        "plateaus": shares(plateaued, *CONVEX, "Capped MSG"),
        "convex stuck": shares(stuck, *CONVEX),
        "capped stuck": shares(stuck, "Capped MSG"),
        "wider stuck": shares(stuck, WIDER),
        "less prone": [expectation(fewer_stuck(run), f"k={k}") for k, run in runs.items()],
        "convex optimum": shares(learned, *CONVEX),
        "capped optimum": shares(learned, "Capped MSG"),
        "similar": over_msg("Warmuth-Kuzmin"),
        "barely faster": over_msg("Capped MSG"),
    }


def learned(run: Arrays, name: str) -> NDArray[np.bool_]:
    """Return which runs of an algorithm end no worse than batch PCA of the same rows."""
    return run[name][:, -1] <= run["ERM"][:, -1] + 1e-9


def stuck(run: Arrays, name: str) -> NDArray[np.bool_]:
    """Return which of them end worse, and have not moved in the last nine tenths of the rows."""
    late = run[name][:, run["marks"] >= run["marks"][-1] / 10]
    return ~learned(run, name) & (np.ptp(late, axis=1) < 1e-12)


def plateaued(run: Arrays, name: str) -> NDArray[np.bool_]:
    """Return which of them stood still while the rows doubled, from row 100 on, then improved."""
    late = run["marks"] >= 100
    marks, found = run["marks"][late], []
    for curve in run[name][:, late]:
        ends = np.flatnonzero(np.diff(curve))  # the last mark of every stretch but the last
        starts = np.append(0, ends + 1)[:-1]
        better = curve[ends + 1] < curve[ends]
        found.append(bool((better & (marks[ends] >= 2 * marks[starts])).any()))
    return np.array(found)


def average(run: Arrays, name: str) -> NDArray[np.float64]:
    """Return the average suboptimality over each run."""
    return run[name] @ run_weights(run["marks"])


def tabulate(curves: Curves, lengths: Sequence[int]) -> Table:
    """Return shares of runs and averages after some numbers of rows."""
    lines = []
    for reading, rows in itertools.product(ORTHOGONAL, lengths):
        runs = []
        for k in KS:
            run = curves[reading.key, k]
            seen = run["marks"] <= rows
            runs.append({name: values[..., seen] for name, values in run.items()})
        for name in ALGORITHMS:
            cells = [
                ", ".join(f"{what(run, name).mean():.0%}" for run in runs)
                for what in (stuck, learned)
            ]
            averages = ", ".join(f"{average(run, name).mean():.2g}" for run in runs)
            lines.append([reading.name, f"{rows:,}", name, *cells, averages])
    columns = ["Stuck (k=1, 2, 4)", "As good as batch PCA", "Average suboptimality"]
    return Table(["Reading", "Rows", "Algorithm", *columns], lines)


def draw(curves: Curves, out: Path) -> None:
    """Draw one sequence, and the mean of all."""
    for stem, chosen in (("figure2", slice(1)), ("figure2-mean", slice(None))):

        def curve(reading: str, k: int, name: str, chosen: slice = chosen) -> Curve:
            run = curves[reading, k]
            return run["marks"], np.maximum(run[name][chosen].mean(axis=0), FLOOR)

        draw_panels(out / stem, ORTHOGONAL, KS, ALGORITHMS, curve, "Iterations", "Suboptimality")
