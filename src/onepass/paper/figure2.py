"""Figure 2: suboptimality on the orthogonal distribution, k in {1, 2, 4}; and the toy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.paper.algorithms import RULES, WIDER, checkpoints, run_weights, trajectory
from onepass.paper.claims import (
    Measured,
    Part,
    Quantity,
    Reading,
    Table,
    expectation,
    ratio_of_means,
    share,
)
from onepass.paper.figure1 import ORTHOGONAL, TAU, D, orthogonal
from onepass.paper.runs import Arrays, Run, Scope, repetitions, seed_of
from onepass.report import style
from onepass.schedules import AdaGradNorm
from onepass.sources.synthetic import Toy

KS = (1, 2, 4)
CONVEX = ("MSG", "Warmuth-Kuzmin")
ALGORITHMS = ("MSG", "Capped MSG", WIDER, "Incremental", "Warmuth-Kuzmin")
# Algorithms that are run together, the cheapest first: seconds per row for all k. ERM is batch PCA
# of the rows so far.
GROUPS: dict[tuple[str, ...], float] = {
    ("Capped MSG", "Incremental", "ERM"): 5e-6,
    (WIDER,): 6e-6,
    CONVEX: 34e-6,
}
TOY_ALGORITHMS = ("Incremental", "Capped MSG")
# Zero is drawn here: below the smallest difference of two eigenvalues, and for means below that
# divided by the number of sequences.
FLOOR, MEAN_FLOOR = 1e-3, 1e-5
SEQUENCES_PER_RUN = 10
TOY_SECONDS = 5e-4  # per sequence

Curves = dict[tuple[str, int], Arrays]  # by reading and k: marks, and curves by algorithm
Flags = Callable[[Arrays, str], NDArray[np.bool_]]  # of the runs of an algorithm


def compare(seed: int, reading: str, rows: int, sequences: int, names: Sequence[str]) -> Arrays:
    """Run some algorithms for all k on the same sequences.

    Returns
    -------
    dict
        `marks` (s,) and, under "algorithm/k", suboptimality (sequences, s).
    """
    source = orthogonal(reading)
    p = source.probabilities
    marks = np.union1d(checkpoints(1, rows, 160), [rows // 10])
    curves: dict[str, list[Any]] = {f"{name}/{k}": [] for name in names for k in KS}
    for i in range(sequences):
        sample = source.sample(rows, np.random.default_rng([seed, i]))
        for name, k in itertools.product(names, KS):
            if name == "ERM":
                captured = p[most_frequent(sample, marks, k)].sum(axis=1)
            else:
                rule = RULES[name](k, D, 0)
                run = trajectory(rule, sample, AdaGradNorm(), marks, chunk_rows=rows)
                captured = np.array([(at.iterate.top(k) ** 2 @ p).sum() for at in run])
            missing = p[:k].sum() - captured
            curves[f"{name}/{k}"].append(np.where(missing > 1e-12, missing, 0.0))
    return {"marks": marks, **{key: np.array(found) for key, found in curves.items()}}


def most_frequent(
    sample: NDArray[np.float64], marks: NDArray[np.int64], k: int
) -> NDArray[np.int64]:
    """Return the k axes that were drawn most often up to each mark, shape (s, k)."""
    rows, axes = np.nonzero(sample[: marks[-1]])
    counts = np.zeros((len(marks), sample.shape[1]))
    np.add.at(counts, (np.searchsorted(marks, rows, side="right"), axes), 1)
    return np.argsort(-counts.cumsum(axis=0), axis=1, kind="stable")[:, :k]


def toy_ends(seed: int, rows: int, sequences: int) -> Arrays:
    """Run Section 5.2's toy: whether each run ended at [1, 0], under the name of the algorithm."""
    wrong = {name: np.empty(sequences, dtype=bool) for name in TOY_ALGORITHMS}
    for i in range(sequences):
        sample = Toy().sample(rows, np.random.default_rng([seed, i]))
        for name in TOY_ALGORITHMS:
            rule = RULES[name](1, Toy.d, 0)
            (end,) = trajectory(rule, sample, AdaGradNorm(), [rows], chunk_rows=rows)
            first, second = np.abs(end.iterate.top(1)[0])
            wrong[name][i] = first > second
    return wrong


def make_runs(scope: Scope) -> list[Run]:
    """Return the toy, and the runs of both readings and all k, some sequences each."""
    rows, sequences = scope.toy_rows, scope.toy_sequences
    seed = seed_of(scope.seed, "toy")
    settings: dict[str, Any] = {"seed": seed, "rows": rows, "sequences": sequences}
    runs = [Run("toy", toy_ends, settings, sequences * TOY_SECONDS)]
    rows, starts = scope.figure2_rows, range(0, scope.figure2_sequences, SEQUENCES_PER_RUN)
    for names, start, reading in itertools.product(GROUPS, starts, ORTHOGONAL):
        count = min(SEQUENCES_PER_RUN, scope.figure2_sequences - start)
        settings = {
            "seed": seed_of(scope.seed, "figure 2", reading.key, start),
            "reading": reading.key,
            "rows": rows,
            "sequences": count,
            "names": names,
        }
        name, seconds = f"figure2-{reading.key}-{names[0]}-{start}", rows * count * GROUPS[names]
        runs.append(Run(name, compare, settings, seconds))
    return runs


def report(results: Mapping[str, Arrays], scope: Scope, out: Path) -> Part:
    """Draw the figure and measure what Section 5.2 says about it."""
    curves: Curves = {}
    for reading, names in itertools.product(ORTHOGONAL, GROUPS):
        done = repetitions(results, f"figure2-{reading.key}-{names[0]}", SEQUENCES_PER_RUN)
        for name, k in itertools.product(names, KS):
            run = curves.setdefault((reading.key, k), {"marks": done[0]["marks"]})
            run[name] = np.vstack([part[f"{name}/{k}"] for part in done])
    draw(curves, out)
    toy, rows = results["toy"], scope.figure2_rows
    measured = {r.name: measure({k: curves[r.key, k] for k in KS}) for r in ORTHOGONAL}
    measured["toy"] = {
        "toy incremental": [share(toy["Incremental"])],
        "toy capped": [share(toy["Capped MSG"])],
    }
    facts = {
        "d": D,
        "tau": TAU,
        "rows": rows,
        "counts": {n: min(len(run[n]) for run in curves.values()) for n in ALGORITHMS},
        "toy_count": scope.toy_sequences,
    }
    return Part("figure2", measured, facts, [tabulate(curves, (rows // 10, rows))])


def measure(runs: Mapping[int, Arrays]) -> Measured:
    """Measure the claims, from runs by k."""

    def shares(what: Flags, *names: str, ks: Sequence[int] = KS) -> list[Quantity]:
        return [
            share(what(runs[k], name), f"{name}, k={k}" if len(names) > 1 else f"k={k}")
            for name, k in itertools.product(names, ks)
        ]

    def over_msg(name: str) -> list[Quantity]:
        pairs = {k: (average(run, name), average(run, "MSG")) for k, run in runs.items()}
        return [ratio_of_means(a[: len(b)], b, f"k={k}") for k, (a, b) in pairs.items()]

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
        "wider optimum": shares(learned, WIDER),
        "similar": over_msg("Warmuth-Kuzmin"),
        "barely faster": over_msg("Capped MSG"),
    }


def learned(run: Arrays, name: str) -> NDArray[np.bool_]:
    """Return which runs of an algorithm end no worse than batch PCA of the same rows."""
    ends = run[name][:, -1]
    return ends <= run["ERM"][: len(ends), -1] + 1e-9


def stuck(run: Arrays, name: str) -> NDArray[np.bool_]:
    """Return which runs end worse, and have not moved in the last nine tenths of the rows."""
    late = run[name][:, run["marks"] >= run["marks"][-1] / 10]
    return ~learned(run, name) & (np.ptp(late, axis=1) < 1e-12)


def plateaued(run: Arrays, name: str) -> NDArray[np.bool_]:
    """Return which runs stood still while the rows doubled, from row 100 on, then improved."""
    late = run["marks"] >= 100
    marks, found = run["marks"][late], []
    for curve in run[name][:, late]:
        ends = np.flatnonzero(np.diff(curve))  # the last mark of each plateau but the last
        starts = np.append(0, ends + 1)[:-1]
        better = curve[ends + 1] < curve[ends]
        found.append(bool((better & (marks[ends] >= 2 * marks[starts])).any()))
    return np.array(found)


def average(run: Arrays, name: str) -> NDArray[np.float64]:
    """Return the average suboptimality over each run."""
    return run[name] @ run_weights(run["marks"])


def tabulate(curves: Curves, lengths: Sequence[int]) -> Table:
    """Return shares of runs, and averages, after each number of rows."""
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
    return {"columns": ["Reading", "Rows", "Algorithm", *columns], "lines": lines}


def draw(curves: Curves, out: Path) -> None:
    """Draw one sequence, and the mean of all."""

    def one(reading: str, k: int, name: str) -> Curve:
        run = curves[reading, k]
        return run["marks"], np.maximum(run[name][0], FLOOR)

    def mean(reading: str, k: int, name: str) -> Curve:
        run = curves[reading, k]
        return run["marks"], np.maximum(run[name].mean(axis=0), MEAN_FLOOR)

    for stem, curve in (("figure2", one), ("figure2-mean", mean)):
        draw_panels(out / stem, ORTHOGONAL, KS, ALGORITHMS, curve, "Iterations", "Suboptimality")


Curve = tuple[NDArray, NDArray]  # x and y

# An algorithm has the same colour and dash in every picture.
LINES: dict[str, dict[str, str]] = {
    "MSG": {"color": style.BLUE, "linestyle": "-"},
    "Capped MSG": {"color": style.RED, "linestyle": "-"},
    WIDER: {"color": style.SKY, "linestyle": "-"},
    "Incremental": {"color": style.GREEN, "linestyle": "--"},
    "Warmuth-Kuzmin": {"color": style.ORANGE, "linestyle": "-."},
    "Grassmannian SGD": {"color": style.PINK, "linestyle": "-"},
    "ERM": {"color": style.BLACK, "linestyle": ":"},
}


def draw_panels(
    stem: Path,
    readings: Sequence[Reading],
    ks: Sequence[int],
    names: Sequence[str],
    curve: Callable[[str, int, str], Curve],
    xlabel: str,
    ylabel: str,
) -> None:
    """Draw a column per reading and a row per k, both scales logarithmic.

    `curve` is called with the key of a reading, k and the name of an algorithm.
    """
    size = (5 * len(readings), 3.6 * len(ks) + 0.8)
    shape = (len(ks), len(readings))
    with style.figure(*shape, *size, sharex="col", sharey="col") as (drawing, axes):
        for (i, k), (j, reading) in itertools.product(enumerate(ks), enumerate(readings)):
            axis = axes[i, j]
            for name in names:
                label = "Capped MSG, K=k+1" if name == "Capped MSG" else name
                axis.plot(*curve(reading.key, k, name), label=label, **LINES[name], lw=1.5)
            style.logarithmic(axis, "x")
            style.logarithmic(axis, "y")
            axis.set_title(f"{reading.label}\n$k={k}$" if i == 0 else f"$k={k}$")
            if i == len(ks) - 1:
                axis.set_xlabel(xlabel)
            if j == 0:
                axis.set_ylabel(ylabel)
        style.legend_below(drawing, axes, 3 * (len(readings) - 1))
        style.save(drawing, stem)
