"""A page about one model: what it captures, and what its components are made of."""

from __future__ import annotations

import base64
import importlib
import io
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from onepass.model_file import replacing
from onepass.report.page import Picture, Section, Table, render
from onepass.report.style import BLUE, GREY, figure, legend_below

_MOST_COMPONENTS = 20
_MOST_COLUMNS = 40


def model_page(
    model: Any, path: str | os.PathLike[str], *, title: str, data: Sequence[str] = ()
) -> None:
    """Write a page of HTML about a fitted estimator, in one file that needs no other.

    Parameters
    ----------
    model : estimator
        Fitted.
    path : str or path-like
        The page.
    title : str
        Its heading.
    data : sequence of str
        The files that the model was fitted on.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from onepass import CappedMSG
    >>> from onepass.report import model_page
    >>> model = CappedMSG(2).fit(np.random.default_rng(0).normal(size=(500, 5)))
    >>> path = os.path.join(tempfile.mkdtemp(), "page.html")
    >>> model_page(model, path, title="Noise")
    >>> os.path.getsize(path) > 10_000
    True
    """
    ratio = model.explained_variance_ratio_
    listed = f" ({', '.join(data[:5])}{', ...' * (len(data) > 5)})" if data else ""
    lead = (
        f"{type(model).__name__}: {model.n_components_} components of {model.n_features_in_:,} "
        f"columns, learned in one pass over {model.n_samples_seen_:,} rows{listed}. Together they "
        f"hold {ratio.sum():.2%} of the variance."
    )
    sections = [
        Section(
            "Variance",
            [_captured(model)],
            [Picture(_variance(model), "Share of the total variance along each component.")],
            [_table(model)],
        ),
        Section(
            "What the components are made of",
            pictures=[Picture(_weights(model), "Weights of the columns that matter most.")],
        ),
    ]
    html = render(title, lead, sections)
    with replacing(path) as file:
        file.write(html.encode())


def require() -> None:
    """Raise ImportError now if a page could not be made later."""
    for name in ("matplotlib", "jinja2"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise ImportError(f"a page needs {name}: pip install 'onepass[report]'") from error


def _captured(model: Any) -> str:
    """Return the progressive estimate as a sentence."""
    captured = model.captured_
    if not math.isfinite(captured.mean):
        return "There were too few rows to score any before it was learned from."
    return (
        f"Each row was scored before it was learned from, as if it were held out: "
        f"{captured.mean:.2%} ± {captured.standard_error:.2%} of the variance was captured."
    )


def _table(model: Any) -> Table:
    """Return the variances of the components."""
    ratio = model.explained_variance_ratio_
    rows = [
        (i, f"{variance:.6g}", f"{share:.3%}", f"{together:.3%}")
        for i, (variance, share, together) in enumerate(
            zip(model.explained_variance_, ratio, np.cumsum(ratio), strict=True)
        )
    ]
    return Table(("component", "variance", "share", "together"), rows)


def _variance(model: Any) -> str:
    """Draw the shares of the components, and what they hold together."""
    ratio = model.explained_variance_ratio_
    numbers = np.arange(len(ratio))
    with figure(1, 1, 8.0, 3.6) as (drawing, axes):
        axis = axes[0, 0]
        axis.bar(numbers, 100 * ratio, color=BLUE, label="each")
        axis.plot(numbers, 100 * np.cumsum(ratio), color=GREY, marker="o", ms=4, label="together")
        axis.set_xlabel("component")
        axis.set_ylabel("share of variance, %")
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.set_ylim(bottom=0)
        axis.set_axisbelow(True)
        legend_below(drawing, axes, 2)
        return _embedded(drawing)


def _weights(model: Any) -> str:
    """Draw the weights of the columns that matter most, by component."""
    components = model.components_[:_MOST_COMPONENTS]
    names = getattr(model, "feature_names_in_", None)
    leading = np.sort(np.abs(components).max(axis=0).argsort()[::-1][:_MOST_COLUMNS])
    limit = float(np.abs(components).max()) or 1.0
    with figure(1, 1, 10.0, 1.6 + 0.28 * len(components)) as (drawing, axes):
        axis = axes[0, 0]
        axis.grid(visible=False)
        image = axis.imshow(
            components[:, leading], cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto"
        )
        # A dollar sign would begin a formula.
        labels = [str(j if names is None else names[j])[:20].replace("$", r"\$") for j in leading]
        axis.set_xticks(np.arange(len(leading)), labels, rotation=90, fontsize=9)
        axis.set_yticks(np.arange(len(components)))
        axis.set_xlabel("column")
        axis.set_ylabel("component")
        drawing.colorbar(image, label="weight")
        return _embedded(drawing)


def _embedded(drawing: Any) -> str:
    """Return a picture as an address that holds all of it."""
    file = io.BytesIO()
    drawing.savefig(file, format="png", metadata={"Software": None})
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
