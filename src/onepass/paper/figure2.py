"""Figure 2: suboptimality against iterations on the orthogonal distribution, k in {1, 2, 4}."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onepass.paper.readings import ORTHOGONAL, orthogonal
from onepass.paper.runs import Arrays, Run, seed_of, write_csv
from onepass.paper.trajectory import WIDER, average_over_run, checkpoints, make_rule, trajectory
from onepass.report import style
from onepass.schedules import AdaGradNorm

KS = (1, 2, 4)
ALGORITHMS = ("MSG", "Capped MSG", WIDER, "Incremental", "Warmuth-Kuzmin")
FLOOR = 1e-3  # below the smallest difference of two eigenvalues; what is optimal is drawn here
SEQUENCES_PER_RUN = 10
ROW_SECONDS = {1: 7e-6, 2: 9e-6, 4: 13e-6}  # by k, of all algorithms together


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


def make_runs(rows: int, sequences: int, seed: int) -> list[Run]:
    """Return the runs of both readings and all k, some sequences each."""
    return [
        Run(
            f"figure2-{reading.key}-k{k}-{start}",
            compare,
            {
                "seed": seed_of(seed, "figure 2", reading.key, start),
                "reading": reading.key,
                "k": k,
                "rows": rows,
                "sequences": min(SEQUENCES_PER_RUN, sequences - start),
            },
            expected_seconds=rows * min(SEQUENCES_PER_RUN, sequences - start) * ROW_SECONDS[k],
        )
        for start in range(0, sequences, SEQUENCES_PER_RUN)
        for reading in ORTHOGONAL
        for k in KS
    ]
