"""The pictures of a model, drawn by matplotlib for `plot`, and as SVG for a page."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.extras import require
from onepass.report.rows import Beside, draw_rows
from onepass.report.summary import column_names, describe, find_grid, known_variances

# Okabe and Ito's palette for colour-blind readers, without its yellow, which is faint on white.
BLACK, ORANGE, SKY, GREEN, BLUE, RED, PINK, GREY = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F",
)  # fmt: skip
GRID = "#E3E3E3"
CATEGORIES = (BLUE, ORANGE, GREEN, PINK, SKY, RED)  # of the most frequent values; others are grey
SCALE = ("#3B7DD8", "#B05FA8", "#E69F00")  # of numbers
# Colours that a page defines twice: for light and for dark screens.
VARIABLES = {BLUE: "blue", RED: "red", GREY: "grey", GRID: "rule", BLACK: "soft"}

PLOT_BARS, PLOT_COMPONENTS = 12, 6  # in a plot; pages have more room
IMAGES = 16  # of components
MOST_VARIANCES = 200  # in the scree chart: points of more would cover each other
LEAST_VARIANCE = 1e-8  # of the largest, in the scree chart: what is less is rounding
MOST_HALVED = 4.0  # decades of a logarithmic scale: there is no room for more labels
LEAST_MARGIN = 1e-5  # of the values, at the border: they are shown with six digits
MOST_NUMBERED = 5  # of the rows with the largest errors: labels of more cover each other
# Of columns: the longest, as the labels of more cover each other, and none far shorter than others.
MOST_ARROWS, LEAST_ARROW = 8, 0.2
LETTERS = 22  # of a name in a picture
WIDTH, HEIGHT = 370, 260  # pixels of a picture in a page

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

Draw = Callable[..., None]  # of axes, what is shown, and which component or components


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


def logarithmic(axis: Any, which: str, decades: float = inf) -> None:
    """Make the "x" or "y" scale logarithmic; one of few decades is also labelled at 3 10^n."""
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter

    axis.set(**{f"{which}scale": "log"})
    scale = getattr(axis, f"{which}axis")
    scale.set_minor_formatter(NullFormatter())
    if decades < MOST_HALVED:
        scale.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        both = LogFormatterSciNotation(labelOnlyBase=False, minor_thresholds=(inf, inf))
        scale.set_major_formatter(both)


class Shown:
    """What pictures of a fitted estimator show: the model, and some rows along its components.

    Parameters
    ----------
    model : estimator
    X : array, table or source, optional
        Rows of which some are drawn.
    grid : tuple of int, optional
        Height and width of images, if columns are pixels.
    beside : callable, optional
        See `onepass.report.model_page`.
    """

    def __init__(
        self,
        model: Any,
        X: Any = None,
        grid: tuple[int, int] | None = None,
        beside: Beside | None = None,
    ) -> None:
        self.model, self.sure = model, model.model_.standard_errors
        self.components: NDArray[np.floating] = model.components_  # (k, d)
        self.names = column_names(model)
        if grid is None and all(name[-1:].isdigit() for name in self.names):  # as those of pixels
            grid = find_grid(self.components)
        self.grid = grid
        # Half of an interval that holds the variance of the population with 95% probability.
        self.margins = self.sure.quantile * self.sure.variances  # (k,)
        self.rows = None if X is None else draw_rows(model, X, beside)


def plot(model: Any, X: Any = None, *, grid: tuple[int, int] | None = None) -> Any:
    """Return a matplotlib figure: variances, learning curve, some rows, and the loadings.

    `Estimator.plot` describes the parameters.
    """
    shown = Shown(model, X, grid)
    drawn: list[tuple[Any, ...]] = [(scree,), (curve,), (scatter, 0, 1), (images,)]
    if shown.grid is None:
        count = min(len(shown.components), PLOT_COMPONENTS)
        drawn[3:] = [(bars, component, PLOT_BARS) for component in range(count)]
    wide = 2 if len(drawn) == 4 else 3
    high = -(-len(drawn) // wide)
    with figure(high, wide, 5.0 * wide, 4.0 * high) as (drawing, axes):
        for axis, (draw, *which) in zip(axes.flat, drawn, strict=False):
            draw(axis, shown, *which)
        for axis in axes.flat[len(drawn) :]:
            axis.remove()
        drawing.suptitle(f"{type(model).__name__}: {describe(model)}")
    return drawing


def svg(shown: Shown, title: str, height: int, draw: Draw, *which: int) -> str:
    """Return what one of the functions below draws, as SVG with the colours of the page.

    Each gid becomes a class. Screen readers read the title.
    """
    file = io.StringIO()
    with figure(1, 1, WIDTH / 72, height / 72) as (drawing, axes):
        draw(axes[0, 0], shown, *which)
        drawing.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    text = re.sub(r"<metadata>.*?</metadata>|<style .*?</style>", "", file.getvalue(), flags=re.S)
    text = re.sub(r' id="[\w.]+_\d+"', "", text)  # numbered ids, which other pictures have as well
    text = re.sub(r'<g id="([\w-]+)"', r'<g class="\1"', text)
    text = re.sub(r"font(-family)?: ([\d.]+px)? ?'[^;\"]*", r"font-size: \2", text)
    for colour, name in VARIABLES.items():
        text = text.replace(colour.lower(), f"var(--{name})")
    attributes = f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}"'
    return f"<svg {attributes}>" + text[text.index(">", text.index("<svg")) + 1 :].strip()


def scree(axis: Any, shown: Shown) -> None:
    """Draw all variances that are known, and those of the components with their intervals."""
    known, k = known_variances(shown.model)[:MOST_VARIANCES], len(shown.components)
    axis.plot(np.arange(len(known)), known, "o-", color=GREY, ms=3, lw=1, gid="scree")
    own = shown.model.explained_variance_[:MOST_VARIANCES].astype(np.float64)
    margins = np.nan_to_num(shown.margins[: len(own)])
    ends = np.array([np.minimum(margins, own * 0.999), margins])  # on a logarithmic scale
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


def curve(axis: Any, shown: Shown) -> None:
    """Draw the share that the components capture along the stream, with two standard errors."""
    fades = getattr(shown.model, "half_life", None) is not None
    axis.set(xlabel="rows that count" if fades else "rows", ylabel="captured, %")
    axis.xaxis.get_major_locator().set_params(nbins=4)
    axis.xaxis.set_major_formatter("{x:,.0f}")
    if len(shown.sure.curve):
        rows, share, error = shown.sure.curve.T
        middles = rows - np.diff(rows, prepend=0.0) / 2
        low, high = np.clip([share - 2 * error, share + 2 * error], 0.0, 1.0)
        axis.fill_between(middles, 100 * low, 100 * high, color=BLUE, alpha=0.2, lw=0)
        axis.plot(middles, 100 * share, "o-", color=BLUE, ms=4, gid="curve")
        axis.set_xlim(0.0, rows[-1])


def bars(axis: Any, shown: Shown, component: int, most: int) -> None:
    """Draw the largest weights of a component as bars, with 95% intervals."""
    columns = np.argsort(-np.abs(shown.components[component]), kind="stable")[:most]
    weights = shown.components[component, columns]
    margins = shown.sure.quantile * shown.sure.components[component, columns]
    is_zero = shown.sure.may_be_zero(shown.components)[component, columns]
    places, known = np.arange(len(columns)), np.isfinite(margins)
    colours = np.where(is_zero, GREY, BLUE).tolist()
    axis.barh(places, weights, color=colours, height=0.65, alpha=0.75, gid="bars")
    axis.errorbar(
        weights[known], places[known], xerr=margins[known], fmt="none", ecolor=BLACK,
        elinewidth=1.3, capsize=2,
    )  # fmt: skip
    axis.axvline(0.0, color=BLACK, lw=0.8)
    names = [short(shown.names[j]) for j in columns]
    axis.set_yticks(places, names, fontsize=10, parse_math=False)
    for name, grey in zip(axis.get_yticklabels(), is_zero, strict=True):
        name.set_color(GREY if grey else "black")
    axis.spines["left"].set_visible(False)
    axis.xaxis.get_major_locator().set_params(nbins=5)
    axis.grid(visible=False, axis="y")
    axis.set(xlabel=f"weight in component {component}", ylim=(len(columns) - 0.4, -0.6))
    axis.tick_params(axis="y", length=0)


def short(name: str) -> str:
    """Return a name that fits into a picture."""
    return name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…"


def images(axis: Any, shown: Shown) -> None:
    """Draw the components as images."""
    assert shown.grid is not None
    axis.grid(visible=False)
    pictures = shown.components[:IMAGES].reshape(-1, *shown.grid)
    limit = float(np.abs(pictures).max()) or 1.0
    framed = np.pad(pictures, ((0, 0), (0, 1), (0, 1)), constant_values=np.nan)
    wide = int(np.ceil(np.sqrt(len(pictures))))
    empty = np.full((-len(pictures) % wide, *framed.shape[1:]), np.nan)
    lines = np.concatenate([framed, empty]).reshape(-1, wide, *framed.shape[1:])
    joined = np.vstack([np.hstack(list(line)) for line in lines])
    axis.imshow(joined, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
    axis.spines[:].set_visible(False)
    axis.set(xticks=[], yticks=[], xlabel="components as images")


def scatter(axis: Any, shown: Shown, across: int, up: int) -> None:
    """Draw rows along two components; points further out are at the border."""
    axis.set(xlabel=f"component {across}", ylabel=f"component {up}")
    rows, pair = shown.rows, [across, up]
    if rows is None or len(shown.components) < 2:
        why = "no rows were given" if rows is None else "fewer than two components"
        axis.text(0.5, 0.5, why, ha="center", transform=axis.transAxes)
        return
    views = [view(coordinates) for coordinates in rows.points[:, pair].T]
    points = rows.points[:, pair].clip(*np.transpose(views))
    far = points[rows.largest]
    colours, _ = colouring(rows.texts.colours, len(points))
    axis.scatter(*points.T, s=25, linewidths=0, c=colours, alpha=0.65, gid="points", clip_on=False)
    axis.plot(*far.T, "o", ms=9, mfc="none", mec=RED, mew=2, gid="far", clip_on=False)
    axis.set(xlim=views[0], ylim=views[1])
    # Arrows begin at the mean, which is 0; far rows may have moved it out of the picture.
    start = np.array([0.0 if low < 0.0 < high else (low + high) / 2 for low, high in views])
    weights = shown.components[pair].T.astype(np.float64)  # (d, 2)
    lengths = np.hypot(*weights.T)
    chosen = np.argsort(-lengths, kind="stable")[: 0 if shown.grid else MOST_ARROWS]
    reach = 0.7 * np.abs(np.transpose(views) - start).min() / (lengths.max() or 1.0)
    labels = []
    for j in chosen[lengths[chosen] > LEAST_ARROW * lengths.max()]:
        end = start + weights[j] * reach
        line = {"arrowstyle": "-|>", "color": BLACK, "lw": 1.5, "shrinkA": 0, "shrinkB": 0}
        axis.annotate("", end, start, arrowprops=line).arrow_patch.set_gid("arrow")
        labels.append((short(shown.names[j]), end, weights[j], "name"))
    for at, i in zip(far[:MOST_NUMBERED], rows.largest, strict=False):
        labels.append((short(rows.labels[i]), at, np.ones(2), "number"))
    _label(axis, labels)


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
            is_inside = (inside.min <= box.min).all() and (box.max <= inside.max).all()
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
        from matplotlib.colors import LinearSegmentedColormap, Normalize, to_hex

        low, high = np.quantile(known, [0.02, 0.98])
        scale, norm = LinearSegmentedColormap.from_list("", SCALE), Normalize(low, high, clip=True)
        colours = [to_hex(scale(norm(v))) if np.isfinite(v) else GREY for v in numbers]
        return colours, [(f"{v:.4g}", to_hex(scale(norm(v)))) for v in np.linspace(low, high, 5)]
    most = [text for text, _ in Counter(texts).most_common(len(CATEGORIES))]
    chosen = dict(zip(sorted(most), CATEGORIES, strict=False))
    legend = list(chosen.items()) + [("others", GREY)] * (len(set(texts)) > len(most))
    return [chosen.get(text, GREY) for text in texts], legend


def view(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return limits that hold most values, so that a few far ones do not hide the others.

    >>> bool(view(np.append(np.arange(100.0), 1e6))[1] < 150)
    True
    """
    low, high = np.quantile(values, [0.02, 0.98], method="nearest")
    margin = max(0.35 * (high - low), LEAST_MARGIN * max(abs(low), abs(high))) or 1.0
    least, most = values.min() - 0.2 * margin, values.max() + 0.2 * margin
    return float(max(low - margin, least)), float(min(high + margin, most))
