"""Several estimators, fitted on different rows, become one."""

from __future__ import annotations

from copy import copy
from typing import Any

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
    ours, theirs = (
        f"{type(e).__module__.split('.')[0]}'s {type(e).__name__}" for e in (first, other)
    )
    if type(other) is not type(first):
        raise ValueError(f"{which} is {theirs}, the first is {ours}")
    facts, given = _facts(first), _facts(other)
    for name, value in facts.items():
        if not is_same(given[name], value):
            raise ValueError(f"{which} has {name}={given[name]!r}, the first {name}={value!r}")


def _facts(estimator: Any) -> dict[str, Any]:
    """Return what models that are merged must have in common, by name."""
    stream, names = _learner(estimator).stream, getattr(estimator, "feature_names_in_", None)
    return {
        "features": stream.d,
        "feature names": None if names is None else list(names),
        **{name: v for name, v in estimator._params.items() if name not in MAY_DIFFER},
        "prepared rows": estimator._origin.options(),
        "rows": f"{'sparse' if stream.is_sparse else 'dense'} {stream.dtype}",
    }
