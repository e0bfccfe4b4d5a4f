"""Pictures of measurements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np

from benchmarks.growth import Curve, by_solver, exponent
from benchmarks.runner import Measurement

matplotlib.use("Agg")

import matplotlib.pyplot as plt

OURS, OTHERS = "#c2410c", "#475569"
PEERS = ("sklearn", "gensim", "fbpca", "torch", "naive", "floor")


def colour(solver: str) -> str:
    """Return the colour of our solvers, or that of all others."""
    return OTHERS if solver.startswith(PEERS) else OURS


def speed_and_loss(results: Sequence[Measurement], path: Path) -> None:
    """Draw one panel for each problem: bars of time per row, with the variance lost beside."""
    cases = list(dict.fromkeys((m.dataset, m.d, m.k) for m in results))
    tallest = max(sum((m.dataset, m.d, m.k) == case for m in results) for case in cases)
    size = (6.0 * len(cases), 0.8 + 0.27 * tallest)
    figure, axes = plt.subplots(1, len(cases), figsize=size, squeeze=False, layout="constrained")
    for axis, case in zip(axes[0], cases, strict=True):
        here = sorted(
            (m for m in results if (m.dataset, m.d, m.k) == case), key=lambda m: -m.seconds
        )
        times = [1e6 * m.seconds for m in here]
        axis.barh([m.solver for m in here], times, color=[colour(m.solver) for m in here])
        for height, (time, m) in enumerate(zip(times, here, strict=True)):
            lost = "" if np.isnan(m.lost) else f"  {100 * m.lost:.2g}% lost"
            axis.text(time, height, lost, va="center", fontsize=8)
        axis.set_xscale("log")
        axis.set_xlim(min(times) / 2, max(times) * 12)
        axis.set_title(f"{case[0]}, d={case[1]:,}, k={case[2]}")
        axis.set_xlabel("CPU microseconds per row")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def growth(curve: Curve, results: Sequence[Measurement], path: Path) -> None:
    """Draw time per row against what grows, one line for each solver."""
    figure, axis = plt.subplots(figsize=(8, 5), layout="constrained")
    for solver, measured in by_solver(results).items():
        x, y = [curve.value(m) for m in measured], [1e6 * m.seconds for m in measured]
        slope = f"  (exponent {exponent(x, y):.2f})" if len(x) > 1 else ""
        style = "--" if colour(solver) == OTHERS else "-"
        axis.loglog(x, y, style, marker="o", label=solver + slope)
    axis.set_xlabel(curve.name)
    axis.set_ylabel("CPU microseconds per row")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)
