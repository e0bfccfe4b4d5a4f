"""Several algorithms on one stream: their learning curves, side by side."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from onepass import metrics
from onepass.estimators.containers import opened
from onepass.sources import Source

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
        They are cloned, and stay as they are.
    source : source, array, sparse matrix, table or iterable of blocks
        The rows, read once. Of a stream of a distribution in `onepass.sources.synthetic`, of which
        the second moment is known, suboptimality is reported.
    at : sequence of int, optional
        Numbers of rows after which results are read; powers of two from 64 on, and the end, by
        default.

    Returns
    -------
    dict of str to ndarray
        Columns of equal lengths, which `pandas.DataFrame` takes: `algorithm`, `rows`, `captured`
        (`captured_.mean`, NaN where it is not known), `suboptimality` (NaN where the distribution
        is not known) and `seconds` of learning so far.

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
    models = {name: clone(model) for name, model in named.items()}
    spent = dict.fromkeys(models, 0.0)
    known = getattr(source, "distribution", None)
    truth = None if known is None else known.second_moment()
    found: dict[str, list[tuple[int, float, float, float]]] = {name: [] for name in models}
    for rows, block, is_point in _cut(source, at):
        for name, model in models.items():
            start = time.perf_counter()
            model.partial_fit(block)
            spent[name] += time.perf_counter() - start
            if is_point:
                lost = np.nan
                if truth is not None:
                    lost = metrics.suboptimality(model.components_, truth)
                found[name].append((rows, model.captured_.mean, lost, spent[name]))
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


def _cut(source: Any, at: Sequence[int] | None) -> Iterator[tuple[int, Any, bool]]:
    """Yield the rows so far, the next block, and whether results are read after it."""
    if at is not None and (len(at) == 0 or min(at) < 1):
        raise ValueError(f"at must be numbers of rows from 1 on, got {at!r}")
    doubled = (FIRST_POINT << power for power in count())
    points = doubled if at is None else iter(sorted({int(point) for point in at}))
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
    if pending is not None:  # without points given, the end is one
        yield pending[0], pending[1], pending[2] or at is None
