"""What a figure or theorem hands to the page, and the kind of picture that figures share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from onepass.paper.claims import Quantities
from onepass.paper.readings import Reading
from onepass.report import style
from onepass.report.page import Table


@dataclass(frozen=True)
class Part:
    """A figure or theorem, measured.

    Attributes
    ----------
    name : str
        Its section in ``claims.toml``.
    quantities : dict
        What its claims are about.
    facts : mapping
        What fills the braces in the section's text.
    tables : sequence of Table
        More numbers.
    """

    name: str
    quantities: Quantities
    facts: Mapping[str, Any]
    tables: Sequence[Table] = ()


def draw_panels(
    stem: Path,
    readings: Sequence[Reading],
    ks: Sequence[int],
    names: Sequence[str],
    curve: Callable[[str, int, str], tuple[NDArray, NDArray]],
    xlabel: str,
    ylabel: str,
) -> None:
    """Draw a column per reading and a row per k, both scales logarithmic.

    `curve` returns what is drawn across and up for the key of a reading, k and the name of an
    algorithm.
    """
    size = (5 * len(readings), 3.6 * len(ks) + 0.8)
    shape = (len(ks), len(readings))
    with style.figure(*shape, *size, sharex="col", sharey="col") as (drawing, axes):
        for (i, k), (j, reading) in itertools.product(enumerate(ks), enumerate(readings)):
            axis = axes[i, j]
            for name in names:
                axis.plot(*curve(reading.key, k, name), label=name, **style.LINES[name])
            style.logarithmic(axis, "x")
            style.logarithmic(axis, "y")
            axis.set_title(f"{reading.label}\n$k={k}$" if i == 0 else f"$k={k}$")
            if i == len(ks) - 1:
                axis.set_xlabel(xlabel)
            if j == 0:
                axis.set_ylabel(ylabel)
        style.legend_below(drawing, axes, 3 * (len(readings) - 1))
        style.save(drawing, stem)
