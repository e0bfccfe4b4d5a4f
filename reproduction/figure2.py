"""Figure 2: suboptimality on the orthogonal distribution, k in {1, 2, 4}; and the toy."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.report import charts
from onepass.schedules import AdaGradNorm
from reproduction.algorithms import RULES, WIDER, checkpoints, run_weights, trajectory
from reproduction.claims import (
    Measured,
    Part,
    Quantity,
    Reading,
    Table,
    expectation,
    ratio_of_means,
    share,
)
from reproduction.distributions import toy_rows
from reproduction.drawing import legend_below, save
from reproduction.figure1 import ORTHOGONAL, TAU, D, orthogonal
from reproduction.runs import Arrays, Run, Scope, gather, repetitions, seed_of

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

Curves = dict[Reading, Arrays]  # `marks`, and suboptimality (sequences, s) under "algorithm/k"
Measure = Callable[[Arrays, str, int], NDArray[Any]]  # of an algorithm and k, a number per run
Panels = dict[
    tuple[Reading, int], dict[str, tuple[NDArray[Any], NDArray[Any]]]
]  # for each k, x and y

# An algorithm has the same colour and dash in every picture.
LINES: dict[str, dict[str, str]] = {
    "MSG": {"color": charts.BLUE, "linestyle": "-"},
    "Capped MSG": {"color": charts.RED, "linestyle": "-"},
    WIDER: {"color": charts.SKY, "linestyle": "-"},
    "Incremental": {"color": charts.GREEN, "linestyle": "--"},
    "Warmuth-Kuzmin": {"color": charts.ORANGE, "linestyle": "-."},
    "Grassmannian SGD": {"color": charts.PINK, "linestyle": "-"},
    "AdaOja": {"color": charts.GREY, "linestyle": "--"},
    "ERM": {"color": charts.BLACK, "linestyle": ":"},
}


def compare(seed: int, reading: str, rows: int, sequences: int, names: Sequence[str]) -> Arrays:
    """Run some algorithms for all k on the same sequences; return `Curves` of the reading."""
    source = orthogonal(reading)
    p = source.probabilities
    marks = np.union1d(checkpoints(1, rows, 160), [rows // 10])
    curves = defaultdict(list)
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
        sample = toy_rows(rows, np.random.default_rng([seed, i]))
        for name in TOY_ALGORITHMS:
            rule = RULES[name](1, 2, 0)
            (end,) = trajectory(rule, sample, AdaGradNorm(), [rows], chunk_rows=rows)
            first, second = np.abs(end.iterate.top(1)[0])
            wrong[name][i] = first > second
    return wrong


def make_runs(scope: Scope) -> Iterator[Run]:
    """Give the toy, and the runs of both readings and all k, some sequences each."""
    rows, sequences = scope.toy_rows, scope.toy_sequences
    seed = seed_of(scope.seed, "toy")
    settings: dict[str, Any] = {"seed": seed, "rows": rows, "sequences": sequences}
    yield Run("toy", toy_ends, settings, sequences * TOY_SECONDS)
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
        yield Run(name, compare, settings, seconds)


def report(results: Mapping[str, Arrays], scope: Scope, out: Path) -> Part:
    """Draw the figure and measure what Section 5.2 says about it."""
    curves: Curves = {reading: {} for reading in ORTHOGONAL}
    for reading, names in itertools.product(ORTHOGONAL, GROUPS):
        done = repetitions(results, f"figure2-{reading.key}-{names[0]}", SEQUENCES_PER_RUN)
        curves[reading].update(gather(done))
    draw(curves, out)
    toy, rows = results["toy"], scope.figure2_rows
    measured = {reading.name: measure(run) for reading, run in curves.items()}
    measured["toy"] = {
        "toy incremental": [share(toy["Incremental"])],
        "toy capped": [share(toy["Capped MSG"])],
    }
    facts = {
        "d": D,
        "tau": TAU,
        "rows": rows,
        "counts": {n: min(len(run[f"{n}/1"]) for run in curves.values()) for n in ALGORITHMS},
        "toy_count": scope.toy_sequences,
    }
    return Part("figure2", measured, facts, [tabulate(curves, (rows // 10, rows))])


def measure(run: Arrays) -> Measured:
    """Measure the claims."""

    def shares(what: Measure, *names: str, ks: Sequence[int] = KS) -> list[Quantity]:
        return [
            share(what(run, name, k), f"{name}, k={k}" if len(names) > 1 else f"k={k}")
            for name, k in itertools.product(names, ks)
        ]

    def over_msg(name: str) -> list[Quantity]:
        under = {k: average(run, "MSG", k) for k in KS}
        over = {k: average(run, name, k)[: len(under[k])] for k in KS}
        return [ratio_of_means(over[k], under[k], f"k={k}") for k in KS]

    def fewer_stuck(k: int) -> NDArray[np.float64]:
        return stuck(run, "Incremental", k).astype(float) - stuck(run, "Capped MSG", k)

    return {
        "incremental stuck": shares(stuck, "Incremental", ks=(1, 4)),
        "plateaus": shares(plateaued, *CONVEX, "Capped MSG"),
        "convex stuck": shares(stuck, *CONVEX),
        "capped stuck": shares(stuck, "Capped MSG"),
        "wider stuck": shares(stuck, WIDER),
        "less prone": [expectation(fewer_stuck(k), f"k={k}") for k in KS],
        "convex optimum": shares(learned, *CONVEX),
        "capped optimum": shares(learned, "Capped MSG"),
        "wider optimum": shares(learned, WIDER),
        "similar": over_msg("Warmuth-Kuzmin"),
        "barely faster": over_msg("Capped MSG"),
    }


def learned(run: Arrays, name: str, k: int) -> NDArray[np.bool_]:
    """Return which runs of an algorithm end no worse than batch PCA of the same rows."""
    ends = run[f"{name}/{k}"][:, -1]
    return ends <= run[f"ERM/{k}"][: len(ends), -1] + 1e-9


def stuck(run: Arrays, name: str, k: int) -> NDArray[np.bool_]:
    """Return which runs end worse, and have not moved in the last nine tenths of the rows."""
    late = run[f"{name}/{k}"][:, run["marks"] >= run["marks"][-1] / 10]
    return ~learned(run, name, k) & (np.ptp(late, axis=1) < 1e-12)


def plateaued(run: Arrays, name: str, k: int) -> NDArray[np.bool_]:
    """Return which runs stood still while the rows doubled, from row 100 on, then improved."""
    late = run["marks"] >= 100
    marks, found = run["marks"][late], []
    for curve in run[f"{name}/{k}"][:, late]:
        ends = np.flatnonzero(np.diff(curve))  # the last mark of each plateau but the last
        starts = np.append(0, ends + 1)[:-1]
        better = curve[ends + 1] < curve[ends]
        found.append(bool((better & (marks[ends] >= 2 * marks[starts])).any()))
    return np.array(found)


def average(run: Arrays, name: str, k: int) -> NDArray[np.float64]:
    """Return the average suboptimality over each run."""
    return run[f"{name}/{k}"] @ run_weights(run["marks"])


def tabulate(curves: Curves, lengths: Sequence[int]) -> Table:
    """Return shares of runs, and averages, after each number of rows."""
    columns: dict[str, tuple[Measure, str]] = {
        "Stuck (k=1, 2, 4)": (stuck, ".0%"),
        "As good as batch PCA": (learned, ".0%"),
        "Average suboptimality": (average, ".2g"),
    }
    lines = []
    for (reading, run), rows in itertools.product(curves.items(), lengths):
        seen = run["marks"] <= rows
        start = {key: values[..., seen] for key, values in run.items()}
        for name in ALGORITHMS:
            cells = [
                ", ".join(format(what(start, name, k).mean(), form) for k in KS)
                for what, form in columns.values()
            ]
            lines.append([reading.name, f"{rows:,}", name, *cells])
    return {"columns": ["Reading", "Rows", "Algorithm", *columns], "lines": lines}


def draw(curves: Curves, out: Path) -> None:
    """Draw one sequence, and the mean of all."""
    for stem, count, floor in (("figure2", 1, FLOOR), ("figure2-mean", None, MEAN_FLOOR)):
        panels: Panels = defaultdict(dict)
        for (reading, run), k, name in itertools.product(curves.items(), KS, ALGORITHMS):
            curve = run[f"{name}/{k}"][:count].mean(axis=0)
            panels[reading, k][name] = run["marks"], np.maximum(curve, floor)
        draw_panels(out / stem, panels, "Iterations", "Suboptimality")


def draw_panels(stem: Path, panels: Panels, xlabel: str, ylabel: str) -> None:
    """Draw a column per reading and a row per k, both scales logarithmic."""
    readings, ks = (list(dict.fromkeys(each)) for each in zip(*panels, strict=True))
    size = (5 * len(readings), 3.6 * len(ks) + 0.8)
    shape = (len(ks), len(readings))
    with charts.figure(*shape, *size, sharex="col", sharey="col") as (drawing, axes):
        for (i, k), (j, reading) in itertools.product(enumerate(ks), enumerate(readings)):
            axis = axes[i, j]
            for name, curve in panels[reading, k].items():
                label = "Capped MSG, K=k+1" if name == "Capped MSG" else name
                axis.plot(*curve, label=label, **LINES[name], lw=1.5)
            charts.logarithmic(axis, "x")
            charts.logarithmic(axis, "y")
            axis.set_title(f"{reading.label}\n$k={k}$" if i == 0 else f"$k={k}$")
        for axis in axes[-1]:
            axis.set_xlabel(xlabel)
        for axis in axes[:, 0]:
            axis.set_ylabel(ylabel)
        legend_below(drawing, axes, 3 * (len(readings) - 1))
        save(drawing, stem)
