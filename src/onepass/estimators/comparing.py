"""Several algorithms on one stream: their learning curves, side by side."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from onepass import metrics
from onepass.estimators.calls import Calls
from onepass.estimators.containers import opened
from onepass.sources import Source
from onepass.warning import OnepassWarning

FIRST_POINT = 64  # rows, where none are given: before, all algorithms are at their start


def compare(
    estimators: Mapping[str, Any] | Sequence[Any],
    source: Any,
    at: Sequence[int] | None = None,
) -> dict[str, NDArray[Any]]:
    """Run several estimators on one stream, and return their learning curves.

    Parameters
    ----------
    estimators : sequence of estimators, or dict of str to estimator
        They are cloned, and stay as they are. Those of scikit-learn are welcome, too.
    source : source, array, sparse matrix, table or iterable of blocks
        The rows, read once. Of a stream of a distribution in `onepass.sources.synthetic`, of which
        the moments are known, suboptimality is reported.
    at : sequence of int, optional
        Numbers of rows after which results are read; powers of two from 64 on, and the end, by
        default. Numbers beyond the last row become the end, with a warning.

    Returns
    -------
    dict of str to ndarray
        Columns of equal lengths, which `pandas.DataFrame` takes:

        - `algorithm` and `rows`;
        - `captured`: `captured_.mean`, NaN where it is not known. It is about the last half of the
          rows so far, which begins within a sixteenth of them. `PCA`, `IncrementalPCA` and `ERM`
          seldom know it before 160 rows, other libraries never;
        - `suboptimality`, in terms of what each estimator maximises: the variance about the mean,
          or with ``center=False`` about zero. NaN where the distribution is not known, and with
          ``scale=True``, which maximises a variance in other units. An estimator that has found
          fewer components than it was asked for is compared with the best of so many;
        - `seconds` until the components of the rows so far are known, as for `fit`. That of the
          first estimator includes what libraries do only once.

    Notes
    -----
    Estimators of other libraries need `partial_fit` and `components_`. With `mean_` they count as
    centred. Each gets blocks that end at the numbers of `at`; scikit-learn's `IncrementalPCA`
    refuses blocks of fewer rows than components.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import CappedMSG, Oja, compare
    >>> X = np.random.default_rng(0).normal(size=(500, 8)) * [5, 4, 1, 1, 1, 1, 1, 1]
    >>> curves = compare([CappedMSG(2), Oja(2, random_state=0)], X, at=[100, 500])
    >>> curves["algorithm"].tolist(), curves["rows"].tolist()
    (['CappedMSG', 'CappedMSG', 'Oja', 'Oja'], [100, 500, 100, 500])
    """
    if hasattr(estimators, "partial_fit"):
        raise ValueError("estimators must be a list or a dict, even for a single one")
    named = dict(estimators) if isinstance(estimators, Mapping) else _named(estimators)
    if not named:
        raise ValueError("there is no estimator to compare")
    for name, model in named.items():
        _check(name, model)
    models = {name: clone(model) for name, model in named.items()}
    spent = dict.fromkeys(models, 0.0)
    known = getattr(source, "distribution", None)
    found: dict[str, list[tuple[int, float, float, float]]] = {name: [] for name in models}
    for rows, block, is_point in _cut(source, at):
        for name, model in models.items():
            start = time.perf_counter()
            model.partial_fit(block)
            spent[name] += time.perf_counter() - start
            if is_point:
                start = time.perf_counter()
                components = (
                    model.components_
                )  # for this, rows that wait are learned from in a copy
                seconds = spent[name] + time.perf_counter() - start
                lost = np.nan if known is None else _suboptimality(model, components, known)
                captured = model.captured_.mean if hasattr(model, "captured_") else np.nan
                found[name].append((rows, captured, lost, seconds))
    if not any(found.values()):
        raise ValueError("there are no rows to learn from")
    table = [(name, *point) for name, points in found.items() for point in points]
    names = ("algorithm", "rows", "captured", "suboptimality", "seconds")
    return {
        name: np.array(column) for name, column in zip(names, zip(*table, strict=True), strict=True)
    }


def _named(estimators: Sequence[Any]) -> dict[str, Any]:
    """Return estimators by the names of their classes, numbered where one comes again."""
    named: dict[str, Any] = {}
    for model in estimators:
        kind = type(model).__name__
        count = sum(name.split(" ")[0] == kind for name in named)
        named[kind if not count else f"{kind} {count + 1}"] = model
    return named


def _check(name: str, model: Any) -> None:
    """Refuse what is no estimator that learns block by block."""
    if isinstance(model, type):
        raise ValueError(f"{name!r} is a class: write {model.__name__}(...)")
    if not hasattr(model, "partial_fit"):
        raise ValueError(f"{name!r} has no partial_fit, and compare learns block by block")


def _suboptimality(model: Any, components: NDArray[np.floating], known: Any) -> float:
    """Return how far a model is from the best one of a distribution, in its own objective."""
    is_ours = isinstance(model, Calls)
    if is_ours and getattr(model, "scale", False):
        return np.nan
    is_centred = model.center if is_ours else hasattr(model, "mean_")
    if is_centred and not hasattr(known, "mean"):  # of a distribution that is not ours
        return np.nan
    truth = known.covariance() if is_centred else known.second_moment()
    k = getattr(model, "n_components", None)
    asked = int(k) if isinstance(k, int | np.integer) else len(components)
    return metrics.suboptimality(components, truth, asked)


def _points(at: Any) -> list[int]:
    """Return the numbers of rows that were given, in order."""
    numbers = np.asarray(at)
    is_number = numbers.dtype.kind in "iuf" and numbers.ndim == 1 and numbers.size > 0
    if not is_number or not (numbers >= 1).all() or (numbers % 1 != 0).any():
        raise ValueError(f"at must be a list of whole numbers of rows from 1 on, got {at!r}")
    return sorted({int(number) for number in numbers})


def _cut(source: Any, at: Any) -> Iterator[tuple[int, Any, bool]]:
    """Yield the rows so far, the next block, and whether results are read after it."""
    given = None if at is None else _points(at)
    doubled = (FIRST_POINT << power for power in count())
    points = doubled if given is None else iter(given)
    opening = opened(source)
    rows, point = 0, next(points, None)
    pending: tuple[int, Any, bool] | None = None
    for block in opening if isinstance(opening, Source) else [opening]:
        block = np.asarray(block) if isinstance(block, list) else block
        start, length = 0, len(block) if hasattr(block, "__len__") else block.shape[0]
        while start < length:
            stop = length if point is None else min(length, start + point - rows)
            rows += stop - start
            if pending is not None:
                yield pending
            pending = (rows, block[start:stop], rows == point)
            point = next(points, None) if rows == point else point
            start = stop
    if pending is not None:  # without points given, or where some are beyond it, the end is one
        beyond = [] if given is None else [number for number in given if number > rows]
        if beyond:
            warnings.warn(
                f"there are {rows} rows: results are given for all of them instead of at={beyond}",
                OnepassWarning,
                stacklevel=3,
            )
        yield pending[0], pending[1], pending[2] or given is None or bool(beyond)
