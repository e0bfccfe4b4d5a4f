"""The estimator that all others are: its parameters, and what is wrong with its results."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from onepass.estimators.attributes import Attributes
from onepass.estimators.parameters import estimator
from onepass.model import Model
from onepass.rows.stream import Stream

NOTHING_VARIES = "nothing varies, and components are any directions"


@estimator
class Estimator(Attributes):
    """A transformer that learns from rows as they come.

    Subclasses say with `_learner_for` how they learn.
    """

    n_components: Any = field(default=2, kw_only=False)
    center: bool = True
    verbose: int = 0

    def _warning_message(self, model: Model) -> str:
        return arbitrary_components(model, self.n_components, center=bool(self.center))


def arbitrary_components(model: Model, k: int, *, center: bool) -> str:
    """Return how many of k components the rows determine, if not all; else an empty string."""
    rows = model.rows
    spanned = rows - int(center)
    if spanned < k:
        others = "the others are arbitrary" if model.k >= k else f"there are {model.k}"
        return (
            f"{rows} row{'s' * (rows != 1)}{', centred,' * center} can only determine {spanned} "
            f"of n_components={k}: {others}; pass more rows, or ask for fewer components"
        )
    if model.total_variance > 0.0:
        return ""
    return f"{spanned_directions(rows, 0)}: {NOTHING_VARIES}"


def fewer_components(model: Model, k: Any, *, center: bool) -> str:
    """Return that all components were asked for, and not all are kept; else an empty string."""
    if k is not None or model.k >= min(model.rows - int(center), model.d):
        return ""
    return (
        f"there are {model.k} components, all that are kept of {model.d:,} columns: say with "
        "n_components how many you need"
    )


def spanned_directions(rows: int, directions: int) -> str:
    """Return how many directions so many rows span, in words."""
    return (
        f"{rows} row{' spans' if rows == 1 else 's span'} {directions} "
        f"direction{'s' * (directions != 1)} only"
    )


def component_count(n_components: int, stream: Stream) -> int:
    """Return the number k of components, which cannot be more than the columns."""
    if n_components > stream.d:
        raise ValueError(f"n_components={n_components} is more than the n_features={stream.d} of X")
    return int(n_components)
