"""A page about one model: what it captures, what it is made of, which rows stand out."""

from __future__ import annotations

import importlib.metadata
import io
import json
import os
import platform
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import Any

import numpy as np

from onepass.persistence.atomic import replacing
from onepass.report import charts
from onepass.report.style import require_report
from onepass.report.summary import Lines, Summary, describe, shortened

# In the tables and pictures of a page: what can be read on a screen.
PAGE_COLUMNS, PAGE_COMPONENTS, PAGE_IMAGES = 30, 12, 24
PAIRED_COMPONENTS = 8  # that rows can be drawn along, two at a time


def model_page(
    model: Any,
    path: str | os.PathLike[str],
    X: Any = None,
    *,
    title: str,
    data: Sequence[str] = (),
    command: str | None = None,
    grid: tuple[int, int] | None = None,
    lines: Lines | None = None,
) -> None:
    """Write a page of HTML about a fitted estimator, in one file that needs no others.

    Parameters
    ----------
    model : estimator
        Fitted.
    path : str or path-like
        The file to write.
    X : array, table or source of n rows and d columns, optional
        Rows of which some become points, and some a list of outliers. It is read once.
    title : str
        The heading.
    data : sequence of str
        The files that the model was fitted on.
    command : str, optional
        The command that fitted the model.
    grid : tuple of int, optional
        Height and width of the images, if columns are pixels. Square images are recognised.
    lines : callable, optional
        Takes the numbers of rows, an array that counts from 0, and returns a list of their lines
        in the files, as text, or None if there are no lines. By default, rows are counted from 1.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from onepass import CappedMSG
    >>> from onepass.report import model_page
    >>> X = np.random.default_rng(0).normal(size=(500, 5))
    >>> model = CappedMSG(2).fit(X)
    >>> path = os.path.join(tempfile.mkdtemp(), "page.html")
    >>> model_page(model, path, X, title="Noise")
    >>> os.path.getsize(path) > 10_000
    True
    """
    require_report()
    import jinja2
    from markupsafe import Markup

    import onepass

    shown = Summary(model, X, grid, lines)
    names, weights = shown.leading(PAGE_COLUMNS, PAGE_COMPONENTS)
    files = f" ({shortened(data)})" if data else ""
    template = resources.files("onepass.report").joinpath("model_page.html").read_text("utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    html = environment.from_string(template).render(
        title=title,
        lead=f"{type(model).__name__}: {describe(model)}{files}.",
        shown=shown,
        picture=lambda name, text: Markup(charts.svg(getattr(charts, name), shown, text)),
        outliers=_outliers(shown),
        images=_images(shown),
        loadings=list(zip(names, weights.T.tolist(), strict=True)),
        limit=float(np.abs(shown.components).max()) or 1.0,
        together=np.cumsum(shown.ratio),
        command=command,
        model=repr(model),
        versions=f"onepass {onepass.__version__}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}",
        data=Markup(_data(shown)),
    )
    with replacing(path) as file:
        file.write(html.encode(errors="backslashreplace"))  # names of files may be no text


def _outliers(shown: Summary) -> list[tuple[str, float, float, str]]:
    """Return the label, the error, its multiple of the median and the columns of outliers."""
    rows = shown.rows
    if rows is None or not len(rows.largest):
        return []
    median = float(np.median(rows.errors[rows.errors > 0.0]))
    return [
        (
            shown.labels[i],
            float(rows.errors[i]),
            float(rows.errors[i]) / median,
            ", ".join(f"{shown.names[j]} ({share:.0%})" for j, share in parts),
        )
        for i, parts in zip(rows.largest, rows.parts, strict=True)
    ]


def _images(shown: Summary) -> list[str]:
    """Return the components as pictures, if columns are pixels."""
    if shown.grid is None:
        return []
    from matplotlib.image import imsave

    sources = []
    for component in shown.components[:PAGE_IMAGES]:
        limit, file = float(np.abs(component).max()) or 1.0, io.BytesIO()
        image = component.reshape(shown.grid)
        imsave(file, image, cmap="RdBu_r", vmin=-limit, vmax=limit, format="png")
        sources.append("data:image/png;base64," + b64encode(file.getvalue()).decode())
    return sources


def _data(shown: Summary) -> str:
    """Return what the scripts of the page need, as JSON that can stand in HTML."""
    kind, drawn = "line" if shown.counts_lines else "row", shown.rows
    points = np.zeros((0, 0)) if drawn is None else drawn.points[:, :PAIRED_COMPONENTS]
    largest = [] if drawn is None else drawn.largest.tolist()
    numbered = [] if drawn is None else zip(shown.labels, drawn.errors, strict=True)
    rows = [f"{kind} {label}, error {error:.4g}" for label, error in numbered]
    shares = zip(shown.ratio, np.cumsum(shown.ratio), strict=True)
    found = {
        "points": [[float(f"{value:.6g}") for value in row] for row in points.tolist()],
        "views": [charts.view(axis) for axis in points.T],
        "far": largest,
        "titles": {
            "points": rows,
            "far": [rows[i] for i in largest],
            "together": [
                f"component {i}: {share:.2%}, together {together:.2%}"
                for i, (share, together) in enumerate(shares)
            ],
            "scree": [
                f"component {i}{' of ordinary PCA' * shown.is_robust}: variance {variance:.4g}"
                for i, variance in enumerate(shown.known_variances[: charts.MOST_VARIANCES])
            ],
            "curve": [
                f"by row {row:,.0f}: {share:.2%} ± {error:.2%}" for row, share, error in shown.curve
            ],
        },
    }
    return json.dumps(found).replace("<", "\\u003c")


def summary_html(model: Any) -> str:
    """Return what a notebook shows of an estimator: parameters, results, a link to the docs."""
    lines = [f"<code>{escape(repr(model))}</code>"]
    if model.__sklearn_is_fitted__():
        captured, share = model.captured_, model.explained_variance_ratio_.sum()
        lines.append(f"{describe(model)}, {share:.1%} of their variance")
        if np.isfinite(captured.mean):
            lines.append(f"new rows: {captured.mean:.1%} ± {captured.standard_error:.1%} captured")
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
    return dict(entry.split(", ", 1) for entry in addresses).get("Documentation")
