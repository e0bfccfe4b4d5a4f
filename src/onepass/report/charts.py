"""The pictures of a model, drawn by matplotlib for `plot`, and as SVG for a page."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.report.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    GRID,
    ORANGE,
    PINK,
    RED,
    SKY,
    figure,
    logarithmic,
)
from onepass.report.summary import Summary, describe

PLOT_BARS, PLOT_COMPONENTS = 12, 6  # in a plot; pages have more room
IMAGES = 16  # of components
MOST_VARIANCES = 200  # in the scree chart: points of more would cover each other
LEAST_VARIANCE = 1e-8  # of the largest, in the scree chart: what is less is rounding
LEAST_MARGIN = 1e-5  # of the values, at the border: they are shown with six digits
MOST_NUMBERED = 5  # of the rows with the largest errors: labels of more cover each other
# Of columns: the longest, as the labels of more cover each other, and none far shorter than others.
MOST_ARROWS, LEAST_ARROW = 8, 0.2
LETTERS = 22  # of a name in a picture
CATEGORIES = (BLUE, ORANGE, GREEN, PINK, SKY, RED)  # of the most frequent values; others are grey
SCALE = np.array([[0x3B, 0x7D, 0xD8], [0xB0, 0x5F, 0xA8], [0xE6, 0x9F, 0x00]]) / 255  # of numbers
WIDTH, HEIGHT, BAR_HEIGHT = 370, 260, 15  # pixels of a picture in a page, and of a bar in one

# Colours that a page defines three times: for light and dark screens and for print.
VARIABLES = {BLUE: "blue", RED: "red", GREY: "grey", GRID: "rule", BLACK: "soft"}

Draw = Callable[[Any, Summary], None]


def plot(model: Any, X: Any = None, *, grid: tuple[int, int] | None = None) -> Any:
    """Return a matplotlib figure: variances, learning curve, some rows, and the loadings.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : array, table or source of n rows and d columns, optional
        Rows of which some become points.
    grid : tuple of int, optional
        Height and width of the images, if columns are pixels. Square images are recognised.

    Returns
    -------
    matplotlib.figure.Figure
    """
    shown = Summary(model, X, grid)
    drawn: list[Draw] = [scree, curve, scatter()]
    if shown.grid is not None:
        drawn.append(images)
    else:
        drawn += [bars(j, PLOT_BARS) for j in range(min(len(shown.ratio), PLOT_COMPONENTS))]
    wide = 2 if len(drawn) == 4 else 3
    high = -(-len(drawn) // wide)
    with figure(high, wide, 5.0 * wide, 4.0 * high) as (drawing, axes):
        for axis, draw in zip(axes.flat, drawn, strict=False):
            draw(axis, shown)
        for axis in axes.flat[len(drawn) :]:
            axis.remove()
        drawing.suptitle(f"{type(model).__name__}: {describe(model)}")
    return drawing


def svg(draw: Draw, shown: Summary, title: str, height: int = HEIGHT) -> str:
    """Return what one of the functions below draws, as SVG with the colours of the page.

    Each gid becomes a class. Screen readers read the title.
    """
    file = io.StringIO()
    with figure(1, 1, WIDTH / 72, height / 72) as (drawing, axes):
        draw(axes[0, 0], shown)
        drawing.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    text = re.sub(r"<metadata>.*?</metadata>|<style .*?</style>", "", file.getvalue(), flags=re.S)
    text = re.sub(r' id="[\w.]+_\d+"', "", text)  # numbered ids, which other pictures have as well
    text = re.sub(r'<g id="([\w-]+)"', r'<g class="\1"', text)
    text = re.sub(r"font(-family)?: ([\d.]+px)? ?'[^;\"]*", r"font-size: \2", text)
    for colour, name in VARIABLES.items():
        text = text.replace(colour.lower(), f"var(--{name})")
    attributes = f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}"'
    return f"<svg {attributes}>" + text[text.index(">", text.index("<svg")) + 1 :].strip()


def scree(axis: Any, shown: Summary) -> None:
    """Draw all variances that are known, and those of the components with their intervals."""
    known, k = shown.known_variances[:MOST_VARIANCES], len(shown.variance)
    axis.plot(np.arange(len(known)), known, "o-", color=GREY, ms=3, lw=1, gid="scree")
    own = shown.variance[:MOST_VARIANCES].astype(np.float64)
    margins = np.nan_to_num(shown.variance_margins[: len(own)])
    low = np.maximum(own - margins, own * 1e-3)  # on a logarithmic scale
    ends = np.array([own - low, margins])
    axis.errorbar(np.arange(len(own)), own, ends, fmt="o", color=BLUE, ms=4, capsize=3, lw=1.5)
    axis.axvline(k - 0.5, color=RED, ls="--", lw=1.5, gid="fitted")
    axis.annotate(
        f"k = {k}", (k - 0.5, 1.0), (4, -12), xycoords=("data", "axes fraction"),
        textcoords="offset points", color=RED,
    )  # fmt: skip
    axis.set(xlabel="component", ylabel="variance", xlim=(-0.5, max(len(known), k) - 0.4))
    if known.max(initial=0.0) > 0.0:
        least = max(float(known.max()) * LEAST_VARIANCE, float(known[known > 0.0].min()) / 2)
        logarithmic(axis, "y", decades=np.log10(float(known.max()) / least))
        axis.set_ylim(bottom=least)
    axis.xaxis.get_major_locator().set_params(integer=True)


def curve(axis: Any, shown: Summary) -> None:
    """Draw the share that the components capture along the stream, with two standard errors."""
    axis.set(xlabel="rows that count" if shown.fades else "rows", ylabel="captured, %")
    axis.xaxis.get_major_locator().set_params(nbins=4)
    axis.xaxis.set_major_formatter("{x:,.0f}")
    if len(shown.sure.curve):
        rows, share, error = shown.sure.curve.T
        middles = rows - np.diff(rows, prepend=0.0) / 2
        low, high = np.clip([share - 2 * error, share + 2 * error], 0.0, 1.0)
        axis.fill_between(middles, 100 * low, 100 * high, color=BLUE, alpha=0.2, lw=0)
        axis.plot(middles, 100 * share, "o-", color=BLUE, ms=4, gid="curve")
        axis.set_xlim(0.0, rows[-1])


def bars(component: int, most: int) -> Draw:
    """Return what draws the largest weights of a component as bars, with 95% intervals."""

    def draw(axis: Any, shown: Summary) -> None:
        columns = shown.largest(component, most)
        weights, margins = shown.components[component], shown.margins[component]
        colours = np.where(shown.is_zero[component, columns], GREY, BLUE).tolist()
        places = np.arange(len(columns))
        axis.barh(places, weights[columns], color=colours, height=0.65, alpha=0.75, gid="bars")
        known = np.isfinite(margins[columns])
        axis.errorbar(
            weights[columns][known], places[known], xerr=margins[columns][known], fmt="none",
            ecolor=BLACK, elinewidth=1.3, capsize=2,
        )  # fmt: skip
        axis.axvline(0.0, color=BLACK, lw=0.8)
        names = [short(shown.names[j]) for j in columns]
        axis.set_yticks(places, names, fontsize=10, parse_math=False)
        for name, colour in zip(axis.get_yticklabels(), colours, strict=True):
            name.set_color(GREY if colour == GREY else "black")
        axis.spines["left"].set_visible(False)
        axis.xaxis.get_major_locator().set_params(nbins=5)
        axis.grid(visible=False, axis="y")
        axis.set(xlabel=f"weight in component {component}", ylim=(len(columns) - 0.4, -0.6))
        axis.tick_params(axis="y", length=0)

    return draw


def bars_height(count: int) -> int:
    """Return the height of a picture of so many bars, in pixels."""
    return 55 + BAR_HEIGHT * count


def short(name: str) -> str:
    """Return a name that fits into a picture."""
    return name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…"


def images(axis: Any, shown: Summary) -> None:
    """Draw the components as images."""
    assert shown.grid is not None
    axis.grid(visible=False)
    limit = float(np.abs(shown.components[:IMAGES]).max()) or 1.0
    pictures = shown.components[:IMAGES].reshape(-1, *shown.grid)
    framed = np.pad(pictures, ((0, 0), (0, 1), (0, 1)), constant_values=np.nan)
    wide = int(np.ceil(np.sqrt(len(pictures))))
    empty = np.full((-len(pictures) % wide, *framed.shape[1:]), np.nan)
    lines = np.concatenate([framed, empty]).reshape(-1, wide, *framed.shape[1:])
    joined = np.vstack([np.hstack(list(line)) for line in lines])
    axis.imshow(joined, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
    axis.spines[:].set_visible(False)
    axis.set(xticks=[], yticks=[], xlabel="components as images")


def scatter(across: int = 0, up: int = 1) -> Draw:
    """Return what draws rows along two components; points further out are at the border."""

    def draw(axis: Any, shown: Summary) -> None:
        axis.set(xlabel=f"component {across}", ylabel=f"component {up}")
        rows, pair = shown.rows, [across, up]
        if rows is None or not shown.has_points:
            why = "no rows were given" if rows is None else "fewer than two components"
            axis.text(0.5, 0.5, why, ha="center", transform=axis.transAxes)
            return
        views = [view(coordinates) for coordinates in rows.points[:, pair].T]
        points = rows.points[:, pair].clip(*np.transpose(views))
        far = points[rows.largest]
        colours, _ = colouring(shown.beside.colours, len(points))
        axis.scatter(
            *points.T, s=25, linewidths=0, c=colours, alpha=0.65, gid="points", clip_on=False
        )
        axis.plot(*far.T, "o", ms=9, mfc="none", mec=RED, mew=2, gid="far", clip_on=False)
        axis.set(xlim=views[0], ylim=views[1])
        # Arrows begin at the mean, which is 0; far rows may have moved it out of the picture.
        start = np.array([0.0 if low < 0.0 < high else (low + high) / 2 for low, high in views])
        weights = shown.components[pair].T.astype(np.float64)  # (d, 2)
        lengths = np.hypot(*weights.T)
        chosen = np.argsort(-lengths, kind="stable")
        chosen = chosen[lengths[chosen] > LEAST_ARROW * lengths.max(initial=0.0)]
        chosen = chosen[: 0 if shown.grid else MOST_ARROWS]  # a pixel says nothing by itself
        reach = 0.7 * np.abs(np.transpose(views) - start).min() / (lengths.max(initial=0.0) or 1.0)
        labels = []
        for j in chosen:
            line = {"arrowstyle": "-|>", "color": BLACK, "lw": 1.5, "shrinkA": 0, "shrinkB": 0}
            drawn = axis.annotate("", start + weights[j] * reach, start, arrowprops=line)
            drawn.arrow_patch.set_gid("arrow")
            labels.append((short(shown.names[j]), start + weights[j] * reach, weights[j], "name"))
        for at, i in zip(far[:MOST_NUMBERED], rows.largest, strict=False):
            labels.append((short(shown.labels[i]), at, np.array([1.0, 1.0]), "number"))
        _label(axis, labels)

    return draw


def _label(axis: Any, labels: list[tuple[str, Any, Any, str]]) -> None:
    """Write labels near points, each in a direction, where they cover no other and are inside.

    What finds no place is left out.
    """
    axis.figure.draw_without_rendering()
    inside = axis.get_window_extent()
    taken: list[Any] = []
    for text, at, direction, kind in labels:
        label = axis.annotate(
            text, at, (0, 0), textcoords="offset points", ha="center", va="center",
            fontsize=9, gid=kind, parse_math=False, annotation_clip=False,
        )  # fmt: skip
        size = label.get_window_extent()
        half = np.array([size.width, size.height]) / 2 * 72 / axis.figure.dpi
        angle = np.arctan2(direction[1], direction[0])
        turns = [0.0, 0.4, -0.4, 0.8, -0.8, 1.3, -1.3, np.pi]
        for away, turn in ((away, angle + turn) for away in (6, 18, 30) for turn in turns):
            label.xyann = tuple(np.array([np.cos(turn), np.sin(turn)]) * (half + away))
            box = label.get_window_extent()
            is_inside = inside.x0 <= box.x0 and box.x1 <= inside.x1
            is_inside = is_inside and inside.y0 <= box.y0 and box.y1 <= inside.y1
            if is_inside and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
        else:
            label.remove()


def colouring(values: list[Any] | None, count: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the colours of points, and a legend: pairs of text and colour.

    Many different numbers have a scale, of which the legend has five steps. Other values have a
    colour each, and the rarer ones share one.
    """
    if values is None:
        return [BLUE] * count, []
    texts = ["missing" if value is None or value == "" else str(value) for value in values]
    try:
        numbers = np.array([float("nan" if text == "missing" else text) for text in texts])
    except ValueError:
        numbers = np.zeros(0)
    known = numbers[np.isfinite(numbers)]
    if len(set(known.tolist())) > len(CATEGORIES):
        low, high = np.quantile(known, [0.02, 0.98])
        legend = [(f"{step:.4g}", _on_scale(step, low, high)) for step in np.linspace(low, high, 5)]
        return [_on_scale(number, low, high) for number in numbers], legend
    most = [text for text, _ in Counter(texts).most_common(len(CATEGORIES))]
    chosen = dict(zip(sorted(most), CATEGORIES, strict=False))
    legend = list(chosen.items()) + [("others", GREY)] * (len(set(texts)) > len(most))
    return [chosen.get(text, GREY) for text in texts], legend


def _on_scale(number: float, low: float, high: float) -> str:
    """Return the colour of a number between two others."""
    if not np.isfinite(number):
        return GREY
    share = float(np.clip((number - low) / ((high - low) or 1.0), 0.0, 1.0))
    parts = [np.interp(share, [0.0, 0.5, 1.0], part) for part in SCALE.T]
    return "#" + "".join(f"{round(255 * part):02X}" for part in parts)


def view(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return limits that hold most values, so that a few far ones do not hide the others.

    >>> bool(view(np.append(np.arange(100.0), 1e6))[1] < 150)
    True
    """
    low, high = np.quantile(values, [0.02, 0.98], method="nearest")
    margin = max(0.35 * (high - low), LEAST_MARGIN * max(abs(low), abs(high))) or 1.0
    least, most = values.min() - 0.2 * margin, values.max() + 0.2 * margin
    return float(max(low - margin, least)), float(min(high + margin, most))
