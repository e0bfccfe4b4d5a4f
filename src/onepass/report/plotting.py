"""The pictures of the page, for notebooks."""

from __future__ import annotations

import importlib.metadata
from html import escape
from typing import Any

import numpy as np

from onepass.report.portrait import Portrait, portray
from onepass.report.style import BLUE, GREY, RED, figure

MOST_COLUMNS, MOST_COMPONENTS, MOST_IMAGES = 30, 10, 12


def plot(model: Any, *, grid: tuple[int, int] | None = None) -> Any:
    """Return a matplotlib figure: variances, learning curve, some rows, and the loadings.

    Parameters
    ----------
    model : estimator
        Fitted.
    grid : tuple of int, optional
        Height and width, where columns are the pixels of images. Square images are recognised.

    Returns
    -------
    matplotlib.figure.Figure
    """
    shown = portray(model, grid)
    with figure(2, 2, 11.0, 8.0) as (drawing, axes):
        _variance(axes[0, 0], shown)
        _curve(axes[0, 1], shown)
        _scatter(axes[1, 0], shown)
        _loadings(drawing, axes[1, 1], shown)
        drawing.suptitle(
            f"{type(model).__name__}: {model.n_components_} components of "
            f"{model.n_features_in_:,} columns, {model.n_samples_seen_:,} rows"
        )
    return drawing


def _variance(axis: Any, shown: Portrait) -> None:
    """Draw the shares of the components, and what they hold together."""
    numbers = np.arange(len(shown.ratio))
    axis.bar(numbers, 100 * shown.ratio, color=BLUE, label="each")
    axis.plot(numbers, 100 * np.cumsum(shown.ratio), color=GREY, marker="o", ms=3, label="together")
    axis.set(xlabel="component", ylabel="share of variance, %")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.set_axisbelow(True)
    axis.legend()


def _curve(axis: Any, shown: Portrait) -> None:
    """Draw the learning curve with its band."""
    axis.set(xlabel="rows", ylabel="captured of new rows, %")
    if len(shown.curve):
        rows, share, error = shown.curve.T
        axis.fill_between(
            rows, 100 * (share - 2 * error), 100 * (share + 2 * error), color=BLUE, alpha=0.2, lw=0
        )
        axis.plot(rows, 100 * share, color=BLUE, marker="o", ms=3)


def _scatter(axis: Any, shown: Portrait) -> None:
    """Draw the sample along the first two components."""
    axis.set(xlabel="component 0", ylabel="component 1")
    if not len(shown.points) or shown.points.shape[1] < 2:
        axis.text(0.5, 0.5, "fewer than two components", ha="center", transform=axis.transAxes)
        return
    axis.scatter(*shown.points[:, :2].T, s=10, color=BLUE, alpha=0.6)
    far = shown.points[shown.largest, :2]
    axis.scatter(*far.T, s=36, facecolor="none", edgecolor=RED, label="largest errors")
    for at, number in zip(far[:5], shown.numbers[shown.largest[:5]], strict=True):
        axis.annotate(f"{number}", at, xytext=(4, 4), textcoords="offset points", fontsize=8)
    if len(far):
        axis.legend()


def _loadings(drawing: Any, axis: Any, shown: Portrait) -> None:
    """Draw the components as images, or the weights of the columns that matter most."""
    axis.grid(visible=False)
    components = shown.components[:MOST_COMPONENTS]
    limit = float(np.abs(components).max()) or 1.0
    style = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
    if shown.grid is not None:
        height, width = shown.grid
        images = shown.components[:MOST_IMAGES].reshape(-1, height, width)
        wide = int(np.ceil(np.sqrt(len(images))))
        high = -(-len(images) // wide)
        wall = np.full((high * (height + 1), wide * (width + 1)), np.nan)
        for i, image in enumerate(images):
            top, left = i // wide * (height + 1), i % wide * (width + 1)
            wall[top : top + height, left : left + width] = image
        axis.imshow(wall, **style)
        axis.set(xticks=[], yticks=[], xlabel="components as images")
        return
    leading = np.sort(np.abs(components).max(axis=0).argsort()[::-1][:MOST_COLUMNS])
    image = axis.imshow(components[:, leading], aspect="auto", **style)
    # A dollar sign would begin a formula.
    labels = [shown.names[j][:16].replace("$", r"\$") for j in leading]
    axis.set_xticks(np.arange(len(leading)), labels, rotation=90, fontsize=8)
    axis.set_yticks(np.arange(len(components)))
    axis.set_ylabel("component")
    drawing.colorbar(image, ax=axis, label="weight")


def summary_html(model: Any) -> str:
    """Return what a notebook shows of an estimator: parameters, results, a link to the docs."""
    changed = repr(model)
    lines = [f"<code>{escape(changed)}</code>"]
    if model.__sklearn_is_fitted__():
        captured = model.captured_
        share = model.explained_variance_ratio_.sum()
        lines.append(
            f"{model.n_components_} components of {model.n_features_in_:,} columns, "
            f"{model.n_samples_seen_:,} rows, {share:.1%} of their variance"
        )
        if np.isfinite(captured.mean):
            lines.append(f"new rows: {captured.mean:.1%} ± {captured.standard_error:.1%} captured")
        if hasattr(model, "chosen_"):
            lines.append(escape(str(model.chosen_)))
    else:
        lines.append("not fitted")
    address = documentation()
    if address:
        page = f"{address.rstrip('/')}/api/onepass.{type(model).__name__}.html"
        lines.append(f'<a href="{escape(page)}" rel="noreferrer">documentation</a>')
    return '<div style="line-height:1.5">' + "<br>".join(lines) + "</div>"


def documentation() -> str | None:
    """Return the address of the site, as the installed package states it."""
    try:
        addresses = importlib.metadata.metadata("onepass").get_all("Project-URL") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    named = dict(entry.split(", ", 1) for entry in addresses)
    return named.get("Documentation")
