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
from matplotlib.axes import Axes

OURS, OTHERS = "#c2410c", "#475569"
PEERS = ("sklearn", "gensim", "fbpca", "torch", "naive", "floor")


def colour(solver: str) -> str:
    """Return the colour of our solvers, or that of all others."""
    return OTHERS if solver.startswith(PEERS) else OURS


def speed_and_loss(results: Sequence[Measurement], path: Path) -> None:
    """Draw a panel for each problem: the time of a row and its range, and the variance lost."""
    cases: dict[tuple[str, int, int], list[Measurement]] = {}
    for m in results:
        cases.setdefault((m.dataset, m.d, m.k), []).append(m)
    columns = min(2, len(cases))
    lines = -(-len(cases) // columns)
    size = (7.0 * columns, lines * (1.0 + 0.25 * max(map(len, cases.values()))))
    figure, axes = plt.subplots(lines, columns, figsize=size, squeeze=False, layout="constrained")
    for axis in axes.flat[len(cases) :]:
        axis.remove()
    for axis, ((dataset, d, k), found) in zip(axes.flat, cases.items(), strict=False):
        _speed_panel(axis, sorted(found, key=lambda m: -m.seconds))
        axis.set_title(f"{dataset}, d={d:,}, k={k}")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _speed_panel(axis: Axes, found: list[Measurement]) -> None:
    """Draw the measurements of one problem, the fastest at the top."""
    for height, m in enumerate(found):
        low, middle, high = (1e6 * q for q in np.quantile(m.cpu, [0.0, 0.5, 1.0]))
        axis.plot([low, high], [height, height], color=colour(m.solver), linewidth=2)
        axis.plot(middle, height, "o", color=colour(m.solver))
        lost = "" if np.isnan(m.lost) else f"{100 * m.lost:.2f}% lost".replace("-0.00", "0.00")
        axis.annotate(lost, (high, height), (8, -3), textcoords="offset points", fontsize=8)
    axis.set_yticks(range(len(found)), [m.solver for m in found])
    axis.set_xscale("log")
    axis.set_xlim(right=1e6 * max(m.seconds for m in found) * 6)
    axis.grid(axis="x", alpha=0.3)
    axis.set_xlabel("CPU microseconds per row")


def growth(curve: Curve, results: Sequence[Measurement], path: Path) -> None:
    """Draw time per row against what grows, one line for each solver."""
    figure, axis = plt.subplots(figsize=(9.5, 5), layout="constrained")
    for solver, measured in by_solver(results).items():
        x, y = [curve.value(m) for m in measured], [1e6 * m.seconds for m in measured]
        slope = f"  (exponent {exponent(x, y):.2f})" if len(x) > 1 else ""
        style = "--" if colour(solver) == OTHERS else "-"
        axis.loglog(x, y, style, marker="o", label=solver + slope)
    axis.set_xlabel(curve.name)
    axis.set_ylabel("CPU microseconds per row")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.savefig(path, dpi=130)
    plt.close(figure)
