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
from onepass.report import charts, summary
from onepass.report.rows import Beside, DrawnRows

PAGE_BARS, PAGE_COMPONENTS = 24, 12  # what can be read on a screen
BAR_HEIGHT = 15  # pixels
PAIRED_COMPONENTS = 4  # that rows are drawn along, two at a time: six pictures
MOST_MISSING = 10  # columns that are listed with their share of missing entries: half a screen


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
    charts.require_report()
    import jinja2
    from markupsafe import Markup

    import onepass

    shown = charts.Shown(model, X, grid, beside)
    k, count = len(shown.components), min(len(shown.names), PAGE_BARS)

    def picture(title: str, height: int, draw: charts.Draw, *which: int) -> Markup:
        return Markup(charts.svg(shown, title, height, draw, *which))

    if shown.grid is None:
        made_of = [
            picture(f"Weights of component {j}", 55 + BAR_HEIGHT * count, charts.bars, j, count)
            for j in range(min(k, PAGE_COMPONENTS))
        ]
    else:
        made_of = [picture("Components as images", charts.WIDTH, charts.images)]
    pairs = list(combinations(range(min(k, PAIRED_COMPONENTS)), 2)) if shown.rows else []
    missing = model.missing_share_
    template = resources.files("onepass.report").joinpath("model_page.html").read_text("utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    html = environment.from_string(template).render(
        title=title,
        files=summary.shortened(data),
        model=model,
        shown=shown,
        summary=summary,
        words=[summary.component_words(model, j) for j in range(k)],
        known=len(summary.known_variances(model)),
        # Some doubts need what only a learner knows.
        warnings=[] if model.learner_ is None else model.doubts(),
        scree=picture("Variances, largest first", charts.HEIGHT, charts.scree),
        curve=picture("Share captured along the stream", charts.HEIGHT, charts.curve),
        made_of=made_of,
        scatters=[
            (
                (i, j),
                picture(f"Rows along components {i} and {j}", charts.HEIGHT, charts.scatter, i, j),
            )
            for i, j in pairs
        ],
        legend=[] if shown.rows is None else charts.colouring(shown.rows.texts.colours, 0)[1],
        variables=charts.VARIABLES,
        outliers=[] if shown.rows is None else _outliers(shown.rows, shown.names),
        most_bars=PAGE_BARS,
        together=np.cumsum(model.explained_variance_ratio_),
        missing=[
            (shown.names[j], missing[j])
            for j in np.argsort(-missing, kind="stable")[:MOST_MISSING]
            if missing[j] > 0.0
        ],
        command=command,
        versions=f"onepass {onepass.__version__}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}",
        points=Markup(_told(shown.rows)),
    )
    with replacing(path) as file:
        file.write(html.encode(errors="backslashreplace"))  # names of files may be no text


def _outliers(rows: DrawnRows, names: Sequence[str]) -> list[tuple[str, str, float, float, str]]:
    """Return place, label, error, its multiple of the median and the columns of outliers."""
    found = []
    for i, parts in zip(rows.largest, rows.parts, strict=True):
        times = rows.errors[i] / np.median(rows.errors[rows.errors > 0.0])
        columns = ", ".join(f"{names[j]} ({share:.0%})" for j, share in parts)
        found.append((rows.places[i], rows.labels[i], rows.errors[i], times, columns))
    return found


def _told(rows: DrawnRows | None) -> str:
    """Return what is told of points, as JSON that can stand in HTML."""
    if rows is None:
        return "null"
    texts = rows.texts
    told = [f"{'line' if texts.lines else 'row'} {place}" for place in rows.places]
    for name, values in ((texts.label, texts.labels), (texts.colour, texts.colours)):
        if values is not None:
            told = [f"{text}, {name} {value}" for text, value in zip(told, values, strict=True)]
    told = [f"{text}, error {error:.4g}" for text, error in zip(told, rows.errors, strict=True)]
    found = {"points": told, "far": [told[i] for i in rows.largest]}
    return json.dumps(found).replace("<", "\\u003c")
