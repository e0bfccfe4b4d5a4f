"""A page about one model: what it captures, what it is made of, which rows stand out."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from importlib import resources
from itertools import combinations
from typing import Any

import numpy as np

from onepass.persistence.atomic import replacing
from onepass.report import charts
from onepass.report.style import require_report
from onepass.report.summary import Beside, Summary, describe, shortened

PAGE_BARS, PAGE_COMPONENTS = 24, 12  # what can be read on a screen
PAIRED_COMPONENTS = 4  # that rows are drawn along, two at a time: six pictures


def model_page(
    model: Any,
    path: str | os.PathLike[str],
    X: Any = None,
    *,
    title: str,
    data: Sequence[str] = (),
    command: str | None = None,
    grid: tuple[int, int] | None = None,
    beside: Beside | None = None,
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
    beside : callable, optional
        Takes the numbers of rows, an array that counts from 0, and returns the `RowTexts` of
        these rows: their lines in files, and the values that label and colour them. By default,
        rows are counted from 1.

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

    shown = Summary(model, X, grid, beside)
    k = len(shown.ratio)

    def picture(draw: charts.Draw, text: str, height: int = charts.HEIGHT) -> Markup:
        return Markup(charts.svg(draw, shown, text, height))

    bars = charts.bars_height(min(len(shown.names), PAGE_BARS))
    drawn = [(charts.bars(j, PAGE_BARS), bars) for j in range(min(k, PAGE_COMPONENTS))]
    if shown.grid is not None:
        drawn = [(charts.images, charts.WIDTH)]
    files = f" ({shortened(data)})" if data else ""
    template = resources.files("onepass.report").joinpath("model_page.html").read_text("utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    html = environment.from_string(template).render(
        title=title,
        lead=f"{type(model).__name__}: {describe(model)}{files}.",
        shown=shown,
        scree=picture(charts.scree, "Variances, largest first"),
        curve=picture(charts.curve, "Share captured along the stream"),
        bars=[picture(draw, f"Weights of component {j}", h) for j, (draw, h) in enumerate(drawn)],
        scatters=[
            (pair, picture(charts.scatter(*pair), f"Rows along components {pair[0]} and {pair[1]}"))
            for pair in combinations(range(min(k, PAIRED_COMPONENTS)), 2)
            if shown.has_points
        ],
        legend=charts.colouring(shown.beside.colours, 0)[1],
        variables=charts.VARIABLES,
        outliers=_outliers(shown),
        most_bars=PAGE_BARS,
        together=np.cumsum(shown.ratio),
        command=command,
        model=repr(model),
        versions=f"onepass {onepass.__version__}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}",
        data=Markup(_data(shown)),
    )
    with replacing(path) as file:
        file.write(html.encode(errors="backslashreplace"))  # names of files may be no text


def _outliers(shown: Summary) -> list[tuple[str, str, float, float, str]]:
    """Return place, label, error, its multiple of the median and the columns of outliers."""
    rows = shown.rows
    if rows is None or not len(rows.largest):
        return []
    median = float(np.median(rows.errors[rows.errors > 0.0]))
    return [
        (
            shown.places[i],
            shown.labels[i],
            float(rows.errors[i]),
            float(rows.errors[i]) / median,
            ", ".join(f"{shown.names[j]} ({share:.0%})" for j, share in parts),
        )
        for i, parts in zip(rows.largest, rows.parts, strict=True)
    ]


def _data(shown: Summary) -> str:
    """Return what is told of points, as JSON that can stand in HTML."""
    rows, beside = shown.rows, shown.beside
    if rows is None:
        return json.dumps({"points": [], "far": []})
    kind = "row" if beside.lines is None else "line"
    told = [f"{kind} {place}" for place in shown.places]
    for name, values in ((beside.label, beside.labels), (beside.colour, beside.colours)):
        if values is not None:
            told = [f"{text}, {name} {value}" for text, value in zip(told, values, strict=True)]
    told = [f"{text}, error {error:.4g}" for text, error in zip(told, rows.errors, strict=True)]
    found = {"points": told, "far": [told[i] for i in rows.largest]}
    return json.dumps(found).replace("<", "\\u003c")
