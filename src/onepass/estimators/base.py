"""The estimator that all others are: its parameters, and what is wrong with its results."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from onepass.estimators.attributes import Attributes
from onepass.estimators.parameters import estimator
from onepass.model import Model
from onepass.rows.stream import Stream

NOTHING_VARIES = "{} rows span 0 directions only: nothing varies, and components are any directions"


@estimator
class Estimator(Attributes):
    """A transformer that learns from rows as they come.

    Subclasses say with `_learner_for` how they learn.
    """

    n_components: Any = field(default=2, kw_only=False)
    center: bool = True
    verbose: int = 0

    def _warning_message(self, model: Model) -> str:
        rows, k = model.rows, self.n_components
        spanned = rows - int(self.center)
        if spanned < k:
            return (
                f"{rows} row{'s' * (rows != 1)}{', centred,' * bool(self.center)} can only "
                f"determine {spanned} of n_components={k}: the others are arbitrary; pass more "
                "rows, or ask for fewer components"
            )
        return "" if model.explained_variance[0] > 0.0 else NOTHING_VARIES.format(rows)


def component_count(n_components: int, stream: Stream) -> int:
    """Return the number k of components, which cannot be more than the columns."""
    if n_components > stream.d:
        raise ValueError(f"n_components={n_components} is more than the n_features={stream.d} of X")
    return int(n_components)
