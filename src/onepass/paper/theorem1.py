"""Theorem 1: the regret of MSG against its bound, for two choices of the step.

With eta = sqrt(k/T) and rows of at most unit norm the proof of the theorem gives, on every
sequence, a regret of at most sqrt(kT): an excess of sqrt(k/T) for the average of the iterates. The
theorem prints half of it. With AdaGrad-norm steps the bound is 2 sqrt(kT), for all T at once.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onepass.paper.algorithms import make_rule
from onepass.paper.runs import Arrays, Run, complete, seed_of
from onepass.paper.tables import write_csv
from onepass.report import style
from onepass.schedules import AdaGradNorm, Constant, Schedule
from onepass.sources.synthetic import Orthogonal

K, D = 4, 32
BOUNDS = {"sqrt(k/T)": 1.0, "AdaGrad-norm": 2.0}  # in units of sqrt(kT)


def played(rows: NDArray[np.float64], k: int, schedule: Schedule) -> NDArray[np.float64]:
    """Return x_t' M(t) x_t, shape (T,), for M(t) held before unit row t; rows of shape (T, d)."""
    d = rows.shape[1]
    rule = make_rule("MSG", k, d)
    number = np.arange(1.0, len(rows) + 1)
    steps = schedule.steps(number, np.sqrt(number), rule.diameter())
    state, nothing = rule.start(np.dtype(float)), np.empty((0, 0))
    gains = np.empty(len(rows))
    for t, row in enumerate(rows):
        gains[t] = (state.basis @ row) ** 2 @ state.weights
        state = rule.rows(state, rows[t : t + 1], d, steps[t : t + 1], nothing)[0]
    return gains


def regret(rows: NDArray[np.float64], k: int, gains: NDArray[np.float64]) -> float:
    """Return what the best k directions for these rows gain more than was gained."""
    best = np.linalg.eigvalsh(rows.T @ rows)[-k:].sum()
    return float(best - gains.sum())


def regrets(seed: int, horizons: list[int], sequences: int) -> Arrays:
    """Return the regret on the orthogonal distribution in units of sqrt(kT), (sequences, T's)."""
    found = {name: np.empty((sequences, len(horizons))) for name in BOUNDS}
    for i in range(sequences):
        rows = Orthogonal(D).sample(horizons[-1], np.random.default_rng([seed, i]))
        anytime = played(rows, K, AdaGradNorm())
        for j, T in enumerate(horizons):
            fixed = played(rows[:T], K, Constant(np.sqrt(K / T)))
            for name, gains in (("sqrt(k/T)", fixed), ("AdaGrad-norm", anytime[:T])):
                found[name][i, j] = regret(rows[:T], K, gains) / np.sqrt(K * T)
    return {**found, "horizons": np.array(horizons)}


def printed(seed: int, horizons: list[int], sequences: int) -> Arrays:
    """Return the mean excess in units of sqrt(k/T) for k = 1 and rows e_1 or e_2.

    e_1 comes with probability p. `excess` (p's, T's) is the excess E x'(M* - M)x of the average
    of the iterates held before each row, the average that the proof is about.
    """
    shares = np.array([1.0, 0.98, 0.9, 0.75, 0.6])
    excess = np.empty((len(shares), len(horizons)))
    for a, p in enumerate(shares):
        for b, T in enumerate(horizons):
            rng = np.random.default_rng([seed, a, b])
            captured = 0.0
            for _ in range(sequences):
                rows = np.eye(2)[(rng.random(T) >= p).astype(int)]
                captured += _mean_captured(rows, np.array([p, 1 - p]))
            excess[a, b] = (p - captured / sequences) * np.sqrt(T)
    return {"shares": shares, "horizons": np.array(horizons), "excess": excess}


def _mean_captured(rows: NDArray[np.float64], p: NDArray[np.float64]) -> float:
    """Return tr(diag(p) M) of the average M of the iterates with eta = sqrt(1/T), k = 1."""
    T = len(rows)
    total = np.zeros((2, 2))
    rule = make_rule("MSG", 1, 2)
    rule.rows(rule.start(np.dtype(float)), rows, 2, np.full(T, np.sqrt(1 / T)), total)
    return float(total.diagonal() @ p) / T


def run_all(
    out: Path, horizons: list[int], sequences: int, jobs: int, seed: int
) -> dict[str, Arrays]:
    """Run both experiments."""
    runs = [
        Run(
            "theorem1-regret",
            regrets,
            {"seed": seed_of(seed, "regret"), "horizons": horizons, "sequences": sequences},
        ),
        Run(
            "theorem1-printed",
            printed,
            {"seed": seed_of(seed, "printed"), "horizons": [16, 100, 400], "sequences": 200},
        ),
    ]
    results = complete(runs, out / "runs", jobs, "Theorem 1")
    return {"regret": results[0], "printed": results[1]}


def draw(results: dict[str, Arrays], out: Path) -> None:
    """Write the picture and its numbers."""
    run = results["regret"]
    horizons = run["horizons"]
    with style.figure(1, 1, 6.5, 4.2) as (drawing, axes):
        axis = axes[0, 0]
        for (name, bound), color in zip(BOUNDS.items(), (style.BLUE, style.ORANGE), strict=True):
            scale = np.sqrt(K * horizons)
            axis.plot(horizons, bound * scale, color=color, linestyle="--", label=f"bound, {name}")
            mean = run[name].mean(axis=0) * scale
            axis.plot(horizons, mean, color=color, marker="o", label=f"measured, {name}")
        axis.set(xlabel="Iterations $T$", ylabel="Regret")
        style.logarithmic(axis, "x")
        style.logarithmic(axis, "y")
        style.legend_below(drawing, axes, 2)
        style.save(drawing, out / "theorem1")
    write_csv(
        out / "theorem1.csv",
        ["step", "sequence", "T", "regret_over_sqrt_kT", "bound"],
        (
            [name, i, int(T), float(value), bound]
            for name, bound in BOUNDS.items()
            for i, row in enumerate(run[name])
            for T, value in zip(horizons, row, strict=True)
        ),
    )
