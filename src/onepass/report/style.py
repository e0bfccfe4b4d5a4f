"""The common style of all pictures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

from onepass.extras import require

# Okabe and Ito's palette for colour-blind readers, without its yellow, which is faint on white.
BLACK, ORANGE, SKY, GREEN, BLUE, RED, PINK, GREY = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F",
)  # fmt: skip

GRID = "#E3E3E3"
MOST_HALVED = 4.0  # decades of a logarithmic scale: there is no room for more labels

RC: dict[Any, Any] = {
    "font.size": 12,
    "axes.titlesize": 13,
    "axes.labelsize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.9,
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 150,
    "svg.hashsalt": "onepass",  # the same numbers give the same file
    "svg.fonttype": "none",
}


def require_report(*packages: str) -> None:
    """Raise ImportError if a package that reports need is missing; by default, look for all."""
    require("a report", "report", *(packages or ("matplotlib", "jinja2")))


@contextmanager
def figure(rows: int, columns: int, width: float, height: float, **kwargs: Any) -> Iterator[Any]:
    """Give a new matplotlib figure and its axes, of shape (rows, columns), in the common style.

    It needs no display and does not touch the state of ``matplotlib.pyplot``.
    """
    require_report("matplotlib")
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(RC):
        drawing = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(drawing)
        yield drawing, drawing.subplots(rows, columns, squeeze=False, **kwargs)


def logarithmic(axis: Any, which: str, decades: float = 1.0) -> None:
    """Make the "x" or "y" scale logarithmic; "y" of few decades is also labelled at 3 10^n."""
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter

    axis.set(**{f"{which}scale": "log"})
    scale = getattr(axis, f"{which}axis")
    scale.set_minor_formatter(NullFormatter())
    if which == "y" and decades < MOST_HALVED:
        scale.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        both = LogFormatterSciNotation(labelOnlyBase=False, minor_thresholds=(inf, inf))
        scale.set_major_formatter(both)
