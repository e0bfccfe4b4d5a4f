"""The toy distribution of Section 5.2: where the incremental algorithm gets stuck."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from onepass.paper.algorithms import make_rule
from onepass.paper.runs import Arrays, Run, complete, seed_of
from onepass.paper.tables import write_csv
from onepass.paper.trajectory import trajectory
from onepass.schedules import AdaGradNorm
from onepass.sources.synthetic import Toy

ALGORITHMS = ("Incremental", "Capped MSG")


def ends(seed: int, rows: int, sequences: int) -> Arrays:
    """Return, under the name of each algorithm, whether each run ended at [1, 0]: (sequences,)."""
    wrong = {name: np.empty(sequences, dtype=bool) for name in ALGORITHMS}
    for i in range(sequences):
        sample = Toy().sample(rows, np.random.default_rng([seed, i]))
        for name in ALGORITHMS:
            rule = make_rule(name, 1, 2)
            (moment,) = trajectory(rule, sample, AdaGradNorm(), [rows], block_rows=rows)
            leading = moment.iterate.top(1)[0]
            wrong[name][i] = abs(leading[0]) > abs(leading[1])
    return wrong


def run_all(out: Path, rows: int, sequences: int, jobs: int, seed: int) -> Arrays:
    """Run all sequences, in two pieces of work."""
    sizes = [sequences - sequences // 2, sequences // 2]
    runs = [
        Run(
            f"toy-{i}",
            ends,
            {"seed": seed_of(seed, "toy", i), "rows": rows, "sequences": size},
        )
        for i, size in enumerate(sizes)
    ]
    results = complete(runs, out / "runs", jobs, "The toy")
    wrong = {name: np.concatenate([part[name] for part in results]) for name in ALGORITHMS}
    write_csv(
        out / "toy.csv",
        ["algorithm", "sequences", "rows", "ended_at_1_0", "share"],
        ([n, sequences, rows, int(w.sum()), float(w.mean())] for n, w in wrong.items()),
    )
    return wrong
