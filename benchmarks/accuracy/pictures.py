"""Pictures of the accuracy study."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

from benchmarks.accuracy.study import OURS, Outcome, Study
from benchmarks.accuracy.tables import values_of

matplotlib.use("Agg")

import matplotlib.pyplot as plt

ANSWERS = {
    OURS: "#c2410c",
    "spatial sign": "#fdba74",
    "IncrementalPCA": "#94a3b8",
    "IncrementalPCA 100": "#475569",
}


def over_batch(studies: list[Study], outcomes: list[Outcome], path: Path) -> None:
    """Draw every run as a dot: what it loses over what batch PCA loses."""
    shown = [s for s in studies if s.over_batch and len(values_of(s, outcomes, OURS))]
    figure, axis = plt.subplots(figsize=(9, 1 + 0.6 * len(shown)), layout="constrained")
    for row, study in enumerate(reversed(shown)):
        for lane, (answer, colour) in enumerate(ANSWERS.items()):
            values = values_of(study, outcomes, answer)
            heights = np.full(len(values), row + 0.3 - 0.15 * lane)
            label = answer if row == 0 else None
            axis.plot(values, heights, "o", color=colour, alpha=0.6, markersize=4, label=label)
    axis.axvline(1.0, color="black", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_yticks(range(len(shown)), [study.title for study in reversed(shown)])
    axis.set_xlabel("loss over that of batch PCA on the same rows: left of 1 is better")
    axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.savefig(path, dpi=130)
    plt.close(figure)


def drift(seed: int, path: Path) -> None:
    """Draw what is captured of the next rows while the subspace turns."""
    from benchmarks.accuracy.studies.drift import AHEAD, HALF_LIFE, curves

    figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
    for name, shares in curves(seed).items():
        label = f"PCA, half_life={HALF_LIFE}" if name == OURS else name
        axis.plot(AHEAD * (1 + np.arange(len(shares))), shares, marker=".", label=label)
    axis.set_xlabel("rows seen")
    axis.set_ylabel("captured of the next 1000 rows,\nas a share of the best possible")
    axis.set_ylim(0, 1.05)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=3)
    figure.savefig(path, dpi=130)
    plt.close(figure)
