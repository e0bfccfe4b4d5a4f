"""The pictures and tables of Figure 3."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from onepass.paper.figure3 import BEYOND, KS, PAPER
from onepass.paper.figure3_summary import Summary
from onepass.paper.tables import write_csv
from onepass.report import style

AXES = {"iterations": "Iterations", "cost": "Est. runtime", "seconds": "CPU seconds"}
COSTED = ("MSG", "Capped MSG", "Incremental", "Warmuth-Kuzmin")


def draw(summary: Summary, out: Path, stem: str) -> None:
    """Write the paper's figure, the one with more algorithms and seconds, and the numbers."""
    _picture(summary, out / stem, {"iterations": PAPER, "cost": COSTED})
    everything = tuple(name for name in (*PAPER, *BEYOND) if name in summary.names)
    timed = tuple(name for name in everything if name != "ERM")
    _picture(summary, out / f"{stem}-beyond", {"iterations": everything, "seconds": timed})
    write_csv(
        out / f"{stem}.csv",
        ["k", "algorithm", "iteration", "suboptimality", "estimated_runtime", "cpu_seconds"],
        (
            [k, name, *(float(value) for value in row)]
            for k in KS
            for name in summary.names
            for row in np.column_stack(
                [
                    summary.marks,
                    *(summary.curve(name, k, w) for w in ("suboptimality", "cost", "seconds")),
                ]
            )
        ),
    )
    write_csv(out / f"{stem}-summary.csv", COLUMNS, table(summary))


def _picture(summary: Summary, stem: Path, rows: dict[str, tuple[str, ...]]) -> None:
    """Draw one row of axes per quantity, one column per k."""
    with style.figure(len(rows), len(KS), 12, 7.2, sharey="col") as (drawing, axes):
        for line, (what, names) in zip(axes, rows.items(), strict=True):
            for axis, k in zip(line, KS, strict=True):
                for name in names:
                    curve = summary.curve(name, k, "suboptimality")
                    across = summary.marks if what == "iterations" else summary.curve(name, k, what)
                    axis.plot(across, curve, label=name, **style.LINES[name])
                style.logarithmic(axis, "x")
                style.logarithmic(axis, "y")
                axis.set_xlabel(AXES[what])
                if what == "iterations":
                    axis.set_title(f"$k={k}$")
            line[0].set_ylabel("Suboptimality")
        style.legend_below(drawing, axes, 5)
        style.save(drawing, stem)


COLUMNS = [
    "k",
    "algorithm",
    "average suboptimality",
    "suboptimality at the end",
    "rms rank",
    "c chosen",
    "CPU seconds",
]


def table(summary: Summary) -> list[list[str]]:
    """Return a row per k and algorithm, in the order of `COLUMNS`."""
    rows = []
    for k in KS:
        for name in sorted(summary.names, key=lambda name: summary.average[name, k]):
            exponents = np.log2(summary.steps(name, k))
            chosen = (
                f"2^{exponents.min():.0f} .. 2^{exponents.max():.0f}" if len(exponents) else "-"
            )
            rank, seconds = summary.rank[name, k], summary.curve(name, k, "seconds")[-1]
            rows.append(
                [
                    str(k),
                    name,
                    f"{summary.average[name, k]:.3g}",
                    f"{summary.end[name, k]:.3g}",
                    "-" if np.isnan(rank) else f"{rank:.1f}",
                    chosen,
                    "-" if np.isnan(seconds) else f"{seconds:.2f}",
                ]
            )
    return rows
