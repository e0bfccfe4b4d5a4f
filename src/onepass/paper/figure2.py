"""Figure 2: suboptimality against iterations on the orthogonal distribution, k in {1, 2, 4}."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onepass.paper.algorithms import make_rule
from onepass.paper.runs import Arrays, Run, complete, seed_of
from onepass.paper.tables import write_csv
from onepass.paper.trajectory import checkpoints, run_weights, trajectory
from onepass.report import style
from onepass.schedules import AdaGradNorm
from onepass.sources.synthetic import Orthogonal

KS = (1, 2, 4)
ALGORITHMS = ("MSG", "Capped MSG", "Incremental", "Warmuth-Kuzmin")
D, TAU = 32, 1.1
BLOCK_ROWS = 1000  # the small space is the whole space here: any number of rows is as good
FLOOR = 1e-3  # below the smallest difference of two eigenvalues; what is optimal is drawn here
PER_RUN = 10  # sequences that make one piece of work


def compare(seed: int, k: int, rows: int, sequences: int) -> Arrays:
    """Run all algorithms on the same sequences.

    Returns
    -------
    dict
        `marks` (s,) and, under the name of each algorithm and "ERM", which is batch PCA of the
        rows so far, suboptimality (sequences, s).
    """
    source = Orthogonal(D, TAU)
    p = source.probabilities
    marks = checkpoints(1, rows, 120)
    curves = {name: np.empty((sequences, len(marks))) for name in ALGORITHMS}
    erm = np.empty((sequences, len(marks)))
    for i in range(sequences):
        sample = source.sample(rows, np.random.default_rng([seed, i]))
        erm[i] = batch(sample, k, marks, p)
        for name, curve in curves.items():
            rule = make_rule(name, k, D)
            moments = trajectory(rule, sample, AdaGradNorm(), marks, block_rows=BLOCK_ROWS)
            for j, moment in enumerate(moments):
                leading = moment.iterate.top(k)
                missing = p[:k].sum() - (leading**2 @ p).sum()
                curve[i, j] = missing if missing > 1e-12 else 0.0
    return {"marks": marks, "ERM": erm, **curves}


def batch(
    sample: NDArray[np.float64], k: int, marks: NDArray[np.int64], p: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the suboptimality of batch PCA at the marks: it takes the most frequent axes."""
    counts = np.cumsum(np.abs(sample), axis=0)[marks - 1]
    leading = np.argsort(-counts, axis=1, kind="stable")[:, :k]
    return np.maximum(p[:k].sum() - p[leading].sum(axis=1), 0.0).round(12)


def learned(run: Arrays, name: str) -> NDArray[np.bool_]:
    """Which runs of an algorithm end no worse than batch PCA of the same rows."""
    return run[name][:, -1] <= run["ERM"][:, -1] + 1e-9


def stuck(run: Arrays, name: str) -> NDArray[np.bool_]:
    """Which of them end worse, and have not moved in the last nine tenths of the rows."""
    late = run[name][:, run["marks"] >= run["marks"][-1] / 10]
    return ~learned(run, name) & (np.ptp(late, axis=1) < 1e-12)


def average_over_run(marks: NDArray[np.int64], curves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the average suboptimality over each run, of curves of shape (n, s)."""
    return curves @ run_weights(marks)


def run_all(out: Path, rows: int, sequences: int, jobs: int, seed: int) -> dict[int, Arrays]:
    """Run everything; the curves of k under k, sequences stacked."""
    runs = [
        Run(
            f"figure2-k{k}-{start}",
            compare,
            {
                "seed": seed_of(seed, "figure 2", start),
                "k": k,
                "rows": rows,
                "sequences": min(PER_RUN, sequences - start),
            },
        )
        for k in KS
        for start in range(0, sequences, PER_RUN)
    ]
    results = complete(runs, out / "runs", jobs, "Figure 2")
    gathered: dict[int, Arrays] = {}
    for k in KS:
        parts = [found for run, found in zip(runs, results, strict=True) if run.settings["k"] == k]
        stacked = {name: np.vstack([part[name] for part in parts]) for name in (*ALGORITHMS, "ERM")}
        gathered[k] = {"marks": parts[0]["marks"], **stacked}
    return gathered


def draw(results: dict[int, Arrays], out: Path) -> None:
    """Write the figure and its numbers."""
    with style.figure(2, 3, 12, 7, sharex=True, sharey=True) as (drawing, axes):
        for column, (k, run) in enumerate(results.items()):
            single, many = axes[:, column]
            for name in ALGORITHMS:
                line = style.LINES[name]
                curves = np.maximum(run[name], FLOOR)
                single.plot(run["marks"], curves[0], label=name, drawstyle="steps-post", **line)
                low, middle, high = np.quantile(curves, [0.25, 0.5, 0.75], axis=0)
                many.plot(run["marks"], middle, label=name, **line)
                many.fill_between(run["marks"], low, high, color=line["color"], alpha=0.15, lw=0)
            style.logarithmic(single, "x")
            style.logarithmic(single, "y")
            single.set_title(f"$k={k}$")
            many.set(xlabel="Iterations")
            many.set_ylim(FLOOR * 0.9, 0.4)
        count = len(next(iter(results.values()))["MSG"])
        axes[0, 0].set_ylabel("Suboptimality\n(one sequence)")
        axes[1, 0].set_ylabel(f"Suboptimality\n(median, quartiles of {count})")
        style.legend_below(drawing, axes, 4)
        style.save(drawing, out / "figure2")
    write_csv(
        out / "figure2.csv",
        ["k", "algorithm", "sequence", "iteration", "suboptimality"],
        (
            [k, name, i, int(t), float(value)]
            for k, run in results.items()
            for name in ALGORITHMS
            for i, curve in enumerate(run[name])
            for t, value in zip(run["marks"], curve, strict=True)
        ),
    )
    write_csv(
        out / "figure2-summary.csv",
        ["k", "algorithm", "share_stuck", "share_as_good_as_batch", "average_suboptimality"],
        (
            [
                k,
                name,
                float(stuck(run, name).mean()),
                float(learned(run, name).mean()),
                float(average_over_run(run["marks"], run[name]).mean()),
            ]
            for k, run in results.items()
            for name in ALGORITHMS
        ),
    )
