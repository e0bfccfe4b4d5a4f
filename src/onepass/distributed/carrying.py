"""From round to round: the iterate goes on, and the rows are counted once.

A round begins where the merged iterate is, with its number of steps and its sum of gradients, so
that steps are as long as if there were one stream. Moments, averages and scores begin empty and
are added to those of earlier rounds. The two experts of `PCA` are compared on the rows of a round
by what they knew, together, before it: on single shards neither may know enough yet.

What is a sum over the rows anyway (ERM, the incremental algorithm, `PCA` by share) has no iterate
that could be carried.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from onepass.estimators.merging import merge
from onepass.estimators.pca_learner import PCALearner
from onepass.rules.incremental import Incremental


def begin(estimator: Any, model: Any) -> Any:
    """Return an estimator without rows, whose iterate is that of a model, if it can be carried."""
    fresh = clone(estimator)
    if model is None or not _carries(model):
        return fresh
    learner = model._learner
    plan = learner.plan
    kind = sparse.csr_array if plan.is_sparse else np.zeros
    started = fresh._learner_for(kind((1, plan.d), dtype=plan.dtype))
    for walk, given in zip(started.walks, learner.walks, strict=True):
        walk.go_on_from(given)
    if isinstance(learner, PCALearner):
        # The rows of the round say which of the merged experts to believe.
        started.answers, started.asked = learner.answers, learner.asked
        started.searched, started.chunks = learner.searched, learner.chunks
    fresh._learner, fresh._learned_with = started, fresh.get_params(deep=False)
    fresh.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        fresh.feature_names_in_ = model.feature_names_in_
    return fresh


def leave(model: Any, start: Any) -> None:
    """Take back the steps that a model was given by the one that it began from."""
    if start is not None and _carries(start):
        learner, given = model._learner, start._learner
        for walk, before in zip(learner.walks, given.walks, strict=True):
            walk.leave_out(before)
        if isinstance(given, PCALearner):
            learner.chunks -= given.chunks


def add_round(model: Any, latest: Any) -> Any:
    """Return one model for the rows of earlier rounds and of the latest, with its iterate."""
    if model is None or latest is None:
        return model or latest
    total = merge(model, latest)
    if _carries(total):
        for walk, last in zip(total._learner.walks, latest._learner.walks, strict=True):
            walk.rule, walk.state = last.rule, last.state
            walk.__setstate__(walk.__getstate__())
    return total


def _carries(model: Any) -> bool:
    """Whether a model has an iterate that is no sum over the rows."""
    walks = getattr(model._learner, "walks", [])
    return any(not isinstance(walk.rule, Incremental) for walk in walks)
