"""What figures are made from, what they hand to the page, and the kind of picture they share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.paper.claims import Measured
from onepass.paper.readings import Reading
from onepass.report import style
from onepass.report.page import Table


@dataclass(frozen=True)
class Scope:
    """How much is run: rows of a run, sequences, and splits of MNIST."""

    figure1_rows: int = 100_000
    figure1_sequences: int = 10
    figure2_rows: int = 300_000
    figure2_sequences: int = 100
    toy_rows: int = 1000
    toy_sequences: int = 10_000
    horizons: tuple[int, ...] = (10, 30, 100, 300, 1000, 3000, 10_000)  # the T of Theorem 1
    excess_sequences: int = 200
    exhibit_sequences: int = 4000
    train_rows: int = 28_000
    marks: int = 45  # checkpoints of a run on MNIST
    every_image: int = 1  # one image in so many is used
    images: NDArray[np.uint8] | None = None  # MNIST's, (n, d)
    splits: int = 10
    seed: int = 0


FULL = Scope()
QUICK = Scope(
    figure1_rows=10_000,
    figure1_sequences=2,
    figure2_rows=20_000,
    figure2_sequences=6,
    toy_rows=500,
    toy_sequences=1000,
    horizons=(10, 30, 100, 300, 1000),
    excess_sequences=20,
    exhibit_sequences=300,
    train_rows=700,
    marks=16,
    every_image=10,
    splits=2,
)


@dataclass(frozen=True)
class Part:
    """A figure or theorem, measured."""

    name: str  # of its section in ``claims.toml``
    measured: Mapping[str, Measured]  # by reading, what its claims are about
    facts: Mapping[str, Any]  # what fills the braces in the section's text
    tables: Sequence[Table] = ()


Curve = tuple[NDArray, NDArray]  # what is drawn across and up


def draw_panels(
    stem: Path,
    readings: Sequence[Reading],
    ks: Sequence[int],
    names: Sequence[str],
    curve: Callable[[str, int, str], Curve],
    xlabel: str,
    ylabel: str,
) -> None:
    """Draw a column per reading and a row per k, both scales logarithmic.

    `curve` is called with the key of a reading, k and the name of an algorithm.
    """
    size = (5 * len(readings), 3.6 * len(ks) + 0.8)
    shape = (len(ks), len(readings))
    with style.figure(*shape, *size, sharex="col", sharey="col") as (drawing, axes):
        for (i, k), (j, reading) in itertools.product(enumerate(ks), enumerate(readings)):
            axis = axes[i, j]
            for name in names:
                axis.plot(*curve(reading.key, k, name), label=name, **style.LINES[name], lw=1.5)
            style.logarithmic(axis, "x")
            style.logarithmic(axis, "y")
            axis.set_title(f"{reading.label}\n$k={k}$" if i == 0 else f"$k={k}$")
            if i == len(ks) - 1:
                axis.set_xlabel(xlabel)
            if j == 0:
                axis.set_ylabel(ylabel)
        style.legend_below(drawing, axes, 3 * (len(readings) - 1))
        style.save(drawing, stem)
