"""Charts as SVG that takes its colours from the page, so that they suit light, dark and print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 440, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 24, 14, 42


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about `count` round numbers between two limits.

    Examples
    --------
    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / count
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * m for m in (1, 2, 5, 10) if unit * m >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


class Axes:
    """A frame with two linear scales, and the shapes in it.

    Parameters
    ----------
    x, y : tuple of float
        The limits of the scales.
    labels : tuple of str
        What they show.
    whole : bool
        Whether only whole numbers are marked along x.
    """

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        labels: tuple[str, str],
        whole: bool = False,
    ) -> None:
        self.x_limits, self.y_limits, self.shapes = x, y, list[str]()
        for value in ticks(*x):
            if not whole or value == int(value):
                at = self.x(value)
                self.shapes.append(
                    f'<text x="{at:.1f}" y="{HEIGHT - 24}" class="mid">{value:,g}</text>'
                )
        for value in ticks(*y):
            at = self.y(value)
            self.shapes.append(
                f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" class="grid"/>'
                f'<text x="{LEFT - 6}" y="{at + 4:.1f}" class="end">{value:,g}</text>'
            )
        middle = (TOP + HEIGHT - BOTTOM) / 2
        self.shapes.append(
            f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" class="mid" data-label="x">'
            f"{escape(labels[0])}</text>"
            f'<text x="13" y="{middle}" class="mid" data-label="y" '
            f'transform="rotate(-90 13 {middle})">{escape(labels[1])}</text>'
        )

    def x(self, value: float) -> float:
        """Return where a value is along x."""
        low, high = self.x_limits
        return LEFT + (value - low) / ((high - low) or 1.0) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Return where a value is along y."""
        low, high = self.y_limits
        return HEIGHT - BOTTOM - (value - low) / ((high - low) or 1.0) * (HEIGHT - TOP - BOTTOM)

    def add(self, shape: str) -> None:
        """Add a shape."""
        self.shapes.append(shape)

    def path(self, xs: Sequence[float], ys: Sequence[float]) -> str:
        """Return the points of a line."""
        return " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs, ys, strict=True))

    def svg(self, title: str, name: str = "") -> str:
        """Return the chart; the title is for those who cannot see it."""
        extra = f' id="{name}"' if name else ""
        return (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}"{extra}>'
            + "".join(self.shapes)
            + "</svg>"
        )


def variance_chart(ratio: NDArray[np.floating]) -> str:
    """Draw the share of each component as bars, and the sum so far as a line."""
    together = 100.0 * np.cumsum(ratio)
    axes = Axes(
        (-0.6, len(ratio) - 0.4), (0.0, max(float(together[-1]) * 1.05, 1e-9)),
        ("component", "share of variance, %"), whole=True,
    )  # fmt: skip
    width = max(0.72 * (axes.x(1) - axes.x(0)), 1.0)
    for i, share in enumerate(100.0 * ratio):
        top = axes.y(float(share))
        axes.add(
            f'<rect x="{axes.x(i) - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" '
            f'height="{max(axes.y(0) - top, 0.5):.1f}" class="bar">'
            f"<title>component {i}: {share:.3g}%</title></rect>"
        )
    axes.add(f'<polyline points="{axes.path(range(len(ratio)), list(together))}" class="line2"/>')
    if len(ratio) <= 40:
        for i, share in enumerate(together):
            axes.add(
                f'<circle cx="{axes.x(i):.1f}" cy="{axes.y(share):.1f}" r="3.2" class="dot2">'
                f"<title>components 0 to {i}: {share:.4g}%</title></circle>"
            )
    return axes.svg("Share of the variance along each component, and together")


def curve_chart(curve: NDArray[np.float64]) -> str:
    """Draw captured shares against rows; curve has rows, share and standard error, shape (p, 3)."""
    rows, share, error = curve.T
    low, high = 100 * (share - 2 * error), 100 * (share + 2 * error)
    spread = max(float(high.max() - low.min()), 1.0)
    limits = (max(float(low.min()) - 0.1 * spread, 0.0), min(float(high.max()) + 0.1 * spread, 100))
    axes = Axes((0.0, float(rows.max())), limits, ("rows", "captured of new rows, %"))
    low, high = low.clip(*limits), high.clip(*limits)
    band = axes.path(list(rows), list(high)) + " " + axes.path(list(rows[::-1]), list(low[::-1]))
    axes.add(f'<polygon points="{band}" class="band"/>')
    axes.add(f'<polyline points="{axes.path(list(rows), list(100 * share))}" class="line1"/>')
    for at, value, doubt in curve:
        axes.add(
            f'<circle cx="{axes.x(at):.1f}" cy="{axes.y(100 * value):.1f}" r="3" class="dot1">'
            f"<title>by row {at:,.0f}: {value:.2%} ± {doubt:.2%}</title></circle>"
        )
    return axes.svg("Share of variance captured of rows before they were learned from")


def view(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the limits between which most values are: a few far ones must not hide the others.

    Examples
    --------
    >>> import numpy as np
    >>> bool(view(np.append(np.arange(100.0), 1e6))[1] < 150)
    True
    """
    low, high = (float(limit) for limit in np.quantile(values, [0.02, 0.98], method="nearest"))
    margin = 0.35 * (high - low) or 1.0
    return (
        max(low - margin, float(values.min()) - 0.2 * margin),
        min(high + margin, float(values.max()) + 0.2 * margin),
    )


def scatter_chart(
    points: NDArray[np.float64],
    numbers: NDArray[np.int64],
    errors: NDArray[np.float64],
    largest: NDArray[np.intp],
    arrows: dict[str, NDArray[np.float64]],
) -> str:
    """Draw points (s, m) along the first two coordinates, with arrows (m,) for columns."""
    limits = [view(points[:, axis]) for axis in range(2)]
    points = np.column_stack([points[:, axis].clip(*limits[axis]) for axis in range(2)])
    axes = Axes(limits[0], limits[1], ("component 0", "component 1"))
    marked = set(largest.tolist())
    order = [i for i in range(len(points)) if i not in marked] + largest[::-1].tolist()
    for i in order:
        kind = "far" if i in marked else "point"
        axes.add(
            f'<circle cx="{axes.x(points[i, 0]):.1f}" cy="{axes.y(points[i, 1]):.1f}" '
            f'r="{5 if i in marked else 3}" class="{kind}" data-i="{i}">'
            f"<title>row {numbers[i]:,}, error {errors[i]:.4g}</title></circle>"
        )
    if arrows:
        reach = 0.8 * min(abs(limit) for pair in limits for limit in pair)
        scale = reach / (max(float(np.hypot(a[0], a[1])) for a in arrows.values()) or 1.0)
        for name, arrow in arrows.items():
            x, y = axes.x(scale * arrow[0]), axes.y(scale * arrow[1])
            axes.add(
                f'<g class="arrow"><line x1="{axes.x(0):.1f}" y1="{axes.y(0):.1f}" x2="{x:.1f}" '
                f'y2="{y:.1f}"/><text x="{x:.1f}" y="{y - 4:.1f}" class="mid">'
                f"{escape(name[:18])}</text></g>"
            )
    return axes.svg("Some rows along the first two components", "scatter")
