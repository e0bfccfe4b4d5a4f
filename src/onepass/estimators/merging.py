"""Several estimators, fitted on different rows, become one."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from onepass.estimators.fitted import NO_LEARNER
from onepass.estimators.parameters import is_same
from onepass.learner import Learner

MAY_DIFFER = {"random_state", "verbose"}


def merge(*estimators: Any) -> Any:
    """Return one estimator for the rows of all.

    Parameters
    ----------
    *estimators : fitted estimators
        Of the same kind, with the same parameters and columns; they stay as they are.

    Returns
    -------
    estimator
        What one pass over all rows would give, up to truncation. It can learn more, be saved
        and be merged again.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import PCA, merge
    >>> X = np.random.default_rng(0).normal(size=(3000, 5)) * [4, 3, 1, 1, 1]
    >>> parts = [PCA(2).fit(part) for part in np.array_split(X, 3)]
    >>> whole = merge(*parts)
    >>> whole.n_samples_seen_
    3000
    >>> bool(np.allclose(whole.mean_, X.mean(axis=0)))
    True
    """
    if not estimators:
        raise ValueError("There is nothing to merge")
    first = estimators[0]
    if isinstance(first, Iterable):
        raise ValueError(
            f"merge takes models one by one, not a {type(first).__name__} of them: "
            "write merge(*models)"
        )
    learner = _learner(first).finished().copy()
    for number, other in enumerate(estimators[1:], start=2):
        same = 1 + [model is other for model in estimators].index(True)
        if same < number:
            raise ValueError(
                f"model {number} is the same object as model {same}: its rows would count twice"
            )
        _check_alike(first, other, f"model {number}")
        learner.merge(_learner(other).finished())
    merged = copy(first).set_params(**first._params)
    merged._learner, merged._snapshot = learner, None
    merged._params = dict(first._params)
    merged._origin = first._origin.combined([model._origin for model in estimators[1:]])
    return merged


def _learner(estimator: Any) -> Learner:
    """Return the learner of a fitted estimator."""
    check_is_fitted(estimator)
    if estimator._learner is None:
        raise ValueError(NO_LEARNER.format("be merged"))
    return estimator._learner


def _check_alike(first: Any, other: Any, which: str) -> None:
    """Raise where two estimators cannot be merged, and say why."""
    if type(other) is not type(first):
        theirs, ours = (
            f"{type(e).__module__.split('.')[0]}'s {type(e).__name__}" for e in (other, first)
        )
        raise ValueError(f"{which} is {theirs}, the first is {ours}")
    check_is_fitted(other)
    if other.n_features_in_ != first.n_features_in_:
        raise ValueError(
            f"{which} has {other.n_features_in_} features, the first {first.n_features_in_}"
        )
    ours, theirs = (getattr(e, "feature_names_in_", first.n_features_in_) for e in (first, other))
    if not np.array_equal(ours, theirs):
        raise ValueError(f"{which} has other feature names than the first")
    for name, value in first._params.items():
        theirs = other._params[name]
        if name not in MAY_DIFFER and not is_same(theirs, value):
            raise ValueError(f"{which} has {name}={theirs!r}, the first {name}={value!r}")
    before, after = first._origin.options(), other._origin.options()
    if before != after:
        raise ValueError(f"{which} has learned from rows prepared by {after}, the first {before}")
    ours, theirs = (
        f"{'sparse' if stream.is_sparse else 'dense'} {stream.dtype} rows"
        for stream in (_learner(first).stream, _learner(other).stream)
    )
    if theirs != ours:
        raise ValueError(f"{which} has learned from {theirs}, the first from {ours}")
