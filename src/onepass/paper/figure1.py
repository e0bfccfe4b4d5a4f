"""Figure 1: rank and spectrum of MSG's iterates on the orthogonal distribution.

The rows are unit vectors e_i, so every iterate is diagonal and a direction is an axis: how long it
stays can be followed exactly.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onepass.paper.algorithms import make_rule
from onepass.paper.runs import Arrays, Run, complete, seed_of
from onepass.paper.tables import write_csv
from onepass.paper.trajectory import checkpoints
from onepass.report import style
from onepass.schedules import AdaGradNorm
from onepass.sources.synthetic import Orthogonal

D, TAU, K = 32, 1.1, 4
VARIANTS = {"text": False, "signed": True}


def follow(seed: int, rows: int, signed: bool, k: int = K) -> Arrays:
    """Run MSG row by row.

    Returns
    -------
    dict
        `ranks` (T,): k_t' after every row. `shown` (s,) and `spectrum` (s, 32): all eigenvalues
        after some rows, descending. `stays` (v,): rows between entering and leaving, for every
        direction that left.
    """
    rule = make_rule("MSG", k, D)
    sample = Orthogonal(D, TAU, signed=signed).sample(rows, np.random.default_rng(seed))
    steps = AdaGradNorm().steps(
        np.arange(1.0, rows + 1), np.sqrt(np.arange(1.0, rows + 1)), rule.diameter()
    )
    shown = checkpoints(1, rows, 600)
    ranks, spectrum = np.empty(rows, np.int64), np.zeros((len(shown), D))
    entered = np.full(D, -1)
    stays: list[int] = []
    state, nothing, place = rule.start(np.dtype(float)), np.empty((0, 0)), 0
    for t in range(rows):
        state = rule.rows(state, sample[t : t + 1], D, steps[t : t + 1], nothing)[0]
        ranks[t] = state.rank
        present = np.zeros(D, dtype=bool)
        present[np.abs(state.basis).argmax(axis=1)] = True
        left = ~present & (entered >= 0)
        stays.extend(t - entered[left])
        entered[left] = -1
        entered[present & (entered < 0)] = t
        if t + 1 == shown[place]:
            spectrum[place, : state.rank] = state.weights
            place += 1
    return {"ranks": ranks, "shown": shown, "spectrum": spectrum, "stays": np.array(stays)}


def settled(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ranks after the first tenth of the run, where the trace has long been full."""
    return ranks[len(ranks) // 10 :]


def extras(spectrum: NDArray[np.float64], k: int = K) -> NDArray[np.float64]:
    """Return the eigenvalues that are not zero and not among the k largest, at all times shown."""
    beyond = spectrum[len(spectrum) // 2 :, k:]
    return beyond[beyond > 0]


def run_all(out: Path, rows: int, jobs: int, seed: int) -> dict[str, Arrays]:
    """Run both variants of the distribution."""
    runs = [
        Run(
            f"figure1-{name}",
            follow,
            {"seed": seed_of(seed, "figure 1", name), "rows": rows, "signed": signed},
        )
        for name, signed in VARIANTS.items()
    ]
    results = complete(runs, out / "runs", jobs, "Figure 1")
    return dict(zip(VARIANTS, results, strict=True))


def draw(results: dict[str, Arrays], out: Path) -> None:
    """Write the figure and its numbers."""
    run = results["text"]
    seen = checkpoints(1, len(run["ranks"]), 500)
    lines = {
        "text": ("$p_i \\propto \\tau^{-i/2}$, as in the text", style.BLUE),
        "signed": ("$p_i \\propto \\tau^{-i}$", style.GREEN),
    }
    with style.figure(1, 2, 10, 4.6) as (drawing, axes):
        left, right = axes[0]
        for name, (label, color) in lines.items():
            ranks = results[name]["ranks"][seen - 1]
            left.plot(seen, ranks, color=color, label=label, linewidth=1.0)
        left.axhline(15, color=style.BLACK, linestyle="--", linewidth=1.2, label="15")
        left.set(title="$k_t'$", xlabel="Iterations", xscale="log", ylim=(0, D))
        for i, eigenvalues in enumerate(run["spectrum"].T):
            named = {0: f"the $k={K}$ largest", K: "the other eigenvalues"}.get(i)
            color = style.RED if i < K else style.ORANGE
            right.plot(run["shown"], eigenvalues, color=color, label=named, linewidth=0.7)
        right.set(title="Spectrum", xlabel="Iterations", xscale="log", ylim=(0, 1.02))
        style.legend_below(drawing, axes, 3)
        style.save(drawing, out / "figure1")
    columns = ["variant", "iteration", "rank", *(f"eigenvalue_{i + 1}" for i in range(D))]
    write_csv(
        out / "figure1.csv",
        columns,
        (
            [name, int(t), int(run["ranks"][t - 1]), *spectrum]
            for name, run in results.items()
            for t, spectrum in zip(run["shown"], run["spectrum"], strict=True)
        ),
    )
