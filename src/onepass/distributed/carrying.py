"""From round to round: the iterate goes on, and the rows are counted once.

A round begins where the merged iterate is, with its number of steps and its sum of gradients, so
that steps are as long as if there were one stream. Moments, averages and scores begin empty and
are added to those of earlier rounds. What is a sum over the rows (ERM, the incremental algorithm)
has no iterate to carry.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from onepass.estimators.merging import merge


def begin(estimator: Any, model: Any) -> Any:
    """Return an estimator without rows, whose iterate is that of a model, if it can be carried."""
    fresh = clone(estimator)
    if model is None or not model._learner.carries:
        return fresh
    fresh._learner = fresh._learner_for(model._learner.stream)
    fresh._learner.continue_from(model._learner)
    fresh._learned_with = fresh.get_params(deep=False)
    fresh.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        fresh.feature_names_in_ = model.feature_names_in_
    return fresh


def leave(model: Any, start: Any) -> None:
    """Take back the steps that a model was given by the one that it began from."""
    if start is not None and start._learner.carries:
        model._learner.leave_out(start._learner)


def add_round(model: Any, latest: Any) -> Any:
    """Return one model for the rows of earlier rounds and of the latest, with its iterate."""
    if model is None or latest is None:
        return model or latest
    total = merge(model, latest)
    if total._learner.carries:
        total._learner.replace_iterate(latest._learner)
    return total
