"""The pictures of a model, drawn by matplotlib for `plot`, and as SVG for a page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.report.style import BLACK, BLUE, GREY, GRID, RED, figure, logarithmic
from onepass.report.summary import Summary, describe

PLOT_COLUMNS, PLOT_COMPONENTS, PLOT_IMAGES = 30, 10, 12  # in a plot; pages have more room
MOST_VARIANCES = 200  # in the scree chart: points of more would cover each other
LEAST_VARIANCE = 1e-8  # of the largest, in the scree chart: what is less is rounding
LEAST_MARGIN = 1e-5  # of the values, at the border: they are shown with six digits
MOST_NUMBERED = 5  # of the rows with the largest errors: labels of more cover each other
WIDTH, HEIGHT = 370, 260  # pixels of a picture in a page, two of which stand side by side

# Colours that a page defines three times: for light and dark screens and for print.
VARIABLES = {BLUE: "blue", RED: "red", GREY: "grey", GRID: "rule", BLACK: "soft"}


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
    with figure(2, 2, 11.0, 8.0) as (drawing, axes):
        for axis, draw in zip(axes.flat, (variance, curve, scatter, loadings), strict=True):
            draw(axis, shown)
        drawing.suptitle(f"{type(model).__name__}: {describe(model)}")
    return drawing


def svg(draw: Callable[[Any, Summary], None], shown: Summary, title: str) -> str:
    """Return what one of the functions below draws, as SVG with the colours of the page.

    Each gid becomes an id. Screen readers read the title.
    """
    file = io.StringIO()
    with figure(1, 1, WIDTH / 72, HEIGHT / 72) as (drawing, axes):
        draw(axes[0, 0], shown)
        drawing.savefig(file, format="svg", transparent=True, metadata={"Date": None})
        place = axes[0, 0].get_position()
    box = (place.x0 * WIDTH, (1 - place.y1) * HEIGHT, place.x1 * WIDTH, (1 - place.y0) * HEIGHT)
    text = re.sub(r"<metadata>.*?</metadata>|<style .*?</style>", "", file.getvalue(), flags=re.S)
    text = re.sub(r' id="[xy]tick_\d+"', ' class="tick"', text)
    text = re.sub(r' id="[\w.]+_\d+"', "", text)  # numbered ids, which other pictures have as well
    text = re.sub(r"font(-family)?: ([\d.]+px)? ?'[^;\"]*", r"font-size: \2", text)
    for colour, name in VARIABLES.items():
        text = text.replace(colour.lower(), f"var(--{name})")
    attributes = (
        f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}" '
        f'data-box="{" ".join(f"{edge:.1f}" for edge in box)}"'
    )
    return f"<svg {attributes}>" + text[text.index(">", text.index("<svg")) + 1 :].strip()


def variance(axis: Any, shown: Summary) -> None:
    """Draw the share of each component, and the sum so far."""
    numbers = np.arange(len(shown.ratio))
    axis.bar(numbers, 100 * shown.ratio, color=BLUE, label="each")
    together = 100 * np.cumsum(shown.ratio)
    axis.plot(numbers, together, "o--", color=GREY, ms=4, label="together", gid="together")
    axis.set(xlabel="component", ylabel="share of variance, %")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.grid(visible=False, axis="x")
    axis.set_axisbelow(True)
    axis.legend()


def scree(axis: Any, shown: Summary) -> None:
    """Draw all variances that are known, and where the fitted components end."""
    known = shown.known_variances[:MOST_VARIANCES]
    axis.plot(np.arange(len(known)), known, "o-", color=BLUE, ms=3, lw=1, gid="scree")
    k = len(shown.ratio)
    axis.axvline(k - 0.5, color=RED, ls="--", lw=1.5, gid="fitted")
    axis.annotate(
        f"k = {k}", (k - 0.5, 1.0), (4, -12), xycoords=("data", "axes fraction"),
        textcoords="offset points", color=RED,
    )  # fmt: skip
    axis.set(xlabel="component" + " of ordinary PCA" * shown.is_robust, ylabel="variance")
    if known.max(initial=0.0) > 0.0:
        logarithmic(axis, "y")
        axis.set_ylim(bottom=max(known.max() * LEAST_VARIANCE, known[known > 0.0].min() / 2))
    axis.xaxis.get_major_locator().set_params(integer=True)


def curve(axis: Any, shown: Summary) -> None:
    """Draw the learning curve, with a band of two standard errors."""
    axis.set(xlabel="rows", ylabel="captured of new rows, %")
    axis.xaxis.get_major_locator().set_params(nbins=5)
    axis.xaxis.set_major_formatter("{x:,.0f}")
    if len(shown.curve):
        rows, share, error = shown.curve.T
        low, high = np.clip([share - 2 * error, share + 2 * error], 0.0, 1.0)
        axis.fill_between(rows, 100 * low, 100 * high, color=BLUE, alpha=0.2, lw=0)
        axis.plot(rows, 100 * share, "o-", color=BLUE, ms=4, gid="curve")


def scatter(axis: Any, shown: Summary) -> None:
    """Draw a sample of rows along two components; points further out are at the border."""
    axis.set(xlabel="component 0", ylabel="component 1")
    axis.xaxis.label.set_gid("across-label")
    axis.yaxis.label.set_gid("up-label")
    rows = shown.rows
    if rows is None or not shown.has_points:
        why = "no rows were given" if rows is None else "fewer than two components"
        axis.text(0.5, 0.5, why, ha="center", transform=axis.transAxes)
        return
    views = [view(coordinates) for coordinates in rows.points[:, :2].T]
    points = rows.points[:, :2].clip(*np.transpose(views))
    far = points[rows.largest]
    axis.plot(*points.T, "o", ms=5, mew=0, color=BLUE, alpha=0.6, gid="points", clip_on=False)
    axis.plot(*far.T, "o", ms=9, mfc="none", mec=RED, mew=2, gid="far", clip_on=False)
    axis.set(xlim=views[0], ylim=views[1])
    text = {"textcoords": "offset points", "parse_math": False}
    numbers = [
        axis.annotate(shown.labels[i], at, (6, 5), fontsize=9, gid="number", **text)
        for at, i in zip(far[:MOST_NUMBERED], rows.largest, strict=False)
    ]
    longest = max((np.hypot(*arrow) for arrow in shown.arrows.values()), default=1.0) or 1.0
    # Arrows begin at the mean, which is 0; far rows may have moved it out of the picture.
    start = np.array([0.0 if low < 0.0 < high else (low + high) / 2 for low, high in views])
    reach = 0.8 * np.abs(np.transpose(views) - start).min() / longest
    for arrow in shown.arrows.values():
        line = {"arrowstyle": "-|>", "color": BLACK, "lw": 1.5, "shrinkA": 0, "shrinkB": 0}
        drawn = axis.annotate("", start + arrow * reach, start, arrowprops=line)
        drawn.arrow_patch.set_gid("arrow")
    names = []
    # Drawn after the arrows, to be above them; those near an axis first, since later labels move.
    for name, arrow in sorted(shown.arrows.items(), key=lambda item: abs(item[1][1])):
        beyond = 9 * arrow / (np.hypot(*arrow) or 1.0)
        side = "left" if beyond[0] > 4 else "right" if beyond[0] < -4 else "center"
        place = {"ha": side, "va": "center", **text}
        names.append(axis.annotate(name[:18], start + arrow * reach, beyond, gid="name", **place))
    _separate(axis, names, numbers)


def _separate(axis: Any, names: list[Any], numbers: list[Any]) -> None:
    """Move names off each other, away from the centre, and hide numbers that cover a label."""
    axis.figure.draw_without_rendering()
    taken: list[Any] = []
    for label in [*names, *numbers]:
        up = 1 if label.xyann[1] >= 0 else -1
        while any(label.get_window_extent().overlaps(other) for other in taken):
            if label in numbers:
                label.set_visible(False)
                break
            label.xyann = (label.xyann[0], label.xyann[1] + up)
        else:
            taken.append(label.get_window_extent())


def loadings(axis: Any, shown: Summary) -> None:
    """Draw the components as images, or the columns with the largest weights."""
    axis.grid(visible=False)
    limit = float(np.abs(shown.components[:PLOT_COMPONENTS]).max()) or 1.0
    style = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
    if shown.grid is not None:
        images = shown.components[:PLOT_IMAGES].reshape(-1, *shown.grid)
        framed = np.pad(images, ((0, 0), (0, 1), (0, 1)), constant_values=np.nan)
        wide = int(np.ceil(np.sqrt(len(images))))
        empty = np.full((-len(images) % wide, *framed.shape[1:]), np.nan)
        lines = np.concatenate([framed, empty]).reshape(-1, wide, *framed.shape[1:])
        axis.imshow(np.vstack([np.hstack(list(line)) for line in lines]), **style)
        axis.set(xticks=[], yticks=[], xlabel="components as images")
        return
    names, weights = shown.leading(PLOT_COLUMNS, PLOT_COMPONENTS)
    image = axis.imshow(weights, aspect="auto", **style)
    labels = [name[:16] for name in names]
    axis.set_xticks(np.arange(len(names)), labels, rotation=90, fontsize=8, parse_math=False)
    axis.set_yticks(np.arange(len(weights)))
    axis.set_ylabel("component")
    axis.figure.colorbar(image, ax=axis, label="weight")


def view(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return limits that hold most values, so that a few far ones do not hide the others.

    >>> bool(view(np.append(np.arange(100.0), 1e6))[1] < 150)
    True
    """
    low, high = np.quantile(values, [0.02, 0.98], method="nearest")
    margin = max(0.35 * (high - low), LEAST_MARGIN * max(abs(low), abs(high))) or 1.0
    least, most = values.min() - 0.2 * margin, values.max() + 0.2 * margin
    return float(max(low - margin, least)), float(min(high + margin, most))
