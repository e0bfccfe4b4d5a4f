"""Estimators <-> model files.

A file holds the fields of the learner, or, for an estimator that cannot learn any more, those of
its model. Either way they are declared where they are used: see `onepass.persistence.fields`.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onepass
from onepass import ESTIMATORS, schedules
from onepass.estimators.fitted import MOMENTS, FittedModel, Origin
from onepass.model import Model
from onepass.moments.standard_errors import MOST_FEATURES
from onepass.persistence import archive
from onepass.persistence.archive import ModelFileError
from onepass.persistence.fields import Number, State
from onepass.sources.preparation import Preparation
from onepass.sources.tables import ReadOptions
from onepass.stream import Stream

SCHEDULES = ("AdaGradNorm", "Constant", "InverseSqrt")  # by whose names a file may have them made
MOST_PREPARED = 1e50  # sum of a prepared row, whose square can be added up
MOST_MARKS = 100  # of missing entries: each costs 400 bytes for each column of a csv file
OF_PASS = "pass."  # begins the names of what a checkpoint holds of a further pass over the rows


def pack(
    estimator: Any, *, waiting: bool = False
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays that a model file of a fitted estimator consists of.

    Rows that wait for a chunk are learned from first, unless the file is to hold the `waiting`
    rows: so that a run that was interrupted goes on to the same bits.
    """
    estimator._check_fitted()
    if estimator._learner is None:
        model = estimator.model_
        state: State = model
        dtype, is_sparse, seen = model.components.dtype, False, model.rows
    else:
        learner = (
            estimator._learner.copy()
            if waiting
            else estimator._finished().finished(hold_rows=False)
        )
        state, seen = learner, learner.rows_seen
        dtype, is_sparse = learner.stream.dtype, learner.stream.is_sparse
    numbers, arrays = state.saved()
    params = dict(estimator._params)
    if not isinstance(params.get("random_state"), int | None):
        params["random_state"] = None  # its seed is part of the state
    origin = estimator._origin
    header = {
        "estimator": estimator.algorithm_,
        "learns": estimator._learner is not None,
        "n_features": estimator.n_features_in_,
        "n_samples_seen": seen,
        "feature_names": [str(name) for name in getattr(estimator, "feature_names_in_", [])],
        "dtype": dtype.name,
        "sparse": is_sparse,
        **asdict(origin),
        "na": list(origin.na) if len(origin.na) <= MOST_MARKS else [],
        "params": {name: _encode(name, value, arrays) for name, value in params.items()},
        "state": numbers,
    }
    return header, arrays


def load(path: str | os.PathLike[str]) -> Any:
    """Return the estimator of a model file, which can learn on.

    Parameters
    ----------
    path : str or path
        A file that an estimator's `save` has written.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        If it is not a model file, or damaged, or written by another version of the format.

    Examples
    --------
    >>> import numpy as np, onepass, os, tempfile
    >>> X = np.random.default_rng(0).normal(size=(500, 5))
    >>> path = os.path.join(tempfile.mkdtemp(), "model.onepass")
    >>> onepass.CappedMSG(2).fit(X[:300]).save(path)
    >>> model = onepass.load(path).partial_fit(X[300:])
    >>> model.n_samples_seen_
    500
    """
    return unpack(*archive.read(path), os.fspath(path))


def from_bytes(data: bytes) -> Any:
    """Return the estimator of bytes that `to_bytes` has returned, with the checks of `load`.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        As for `load`.

    Examples
    --------
    >>> import numpy as np, onepass
    >>> X = np.random.default_rng(0).normal(size=(500, 5))
    >>> halves = [onepass.PCA(2).fit(part).to_bytes() for part in (X[:200], X[200:])]
    >>> onepass.merge(*map(onepass.from_bytes, halves)).n_samples_seen_
    500
    """
    return unpack(*archive.from_bytes(data), "the bytes")


def open_model(path: str | os.PathLike[str]) -> Any:
    """Return the model of a file, with the checks of `load`, for reading alone.

    scikit-learn is imported only where the file needs it: for a model of one of the paper's
    algorithms that can learn on.
    """
    return unpack(*archive.read(path), os.fspath(path), to_learn=False)


def unpack(
    header: dict[str, Any], arrays: dict[str, NDArray[Any]], name: str, *, to_learn: bool = True
) -> Any:
    """Return the estimator of the content of a model file; `name` stands in errors.

    If it does not have `to_learn`, it may be a `FittedModel`.
    """
    arrays = {key: array for key, array in arrays.items() if not key.startswith(OF_PASS)}
    try:
        estimator = _unpack(header, arrays, to_learn)
        with np.errstate(all="ignore"):  # numbers that make no sense are refused below
            # Not `components_`: a column may be empty in what was saved of a longer stream.
            model = estimator._read().model
        if not (np.isfinite(model.components).all() and np.isfinite(model.mean).all()):
            raise ValueError("its components or its mean are not finite")
    except Exception as error:
        raise ModelFileError(f"{name}: not a valid model: {error}") from error
    return estimator


def _unpack(header: dict[str, Any], arrays: dict[str, NDArray[Any]], to_learn: bool) -> Any:
    """Return an estimator or `FittedModel`; raise any exception if something is wrong."""
    name, d = header["estimator"], Number(int, 1, MOST_FEATURES).check(header["n_features"])
    if d > max((array.size for array in arrays.values()), default=0):  # a mean has as many entries
        raise ValueError(f"it has {d} columns, and no array is as long")
    if name not in ESTIMATORS:
        raise ValueError(f"it is of an unknown estimator, {name!r}")
    params = {key: _decode(key, value, arrays) for key, value in header["params"].items()}
    if to_learn or (header["learns"] and name not in MOMENTS):
        estimator = getattr(onepass, name)(**params)
    else:
        estimator = FittedModel(name, params)
    estimator._check_parameters()
    names = header["feature_names"]
    if names and (len(names) != d or not all(isinstance(name, str) for name in names)):
        raise ValueError(f"it has {len(names)} names for {d} columns")
    flags = (header["sparse"], header["learns"])
    if header["dtype"] not in ("float64", "float32") or {*map(type, flags)} != {bool}:
        raise ValueError(f"rows of type {header['dtype']!r}, sparse: {header['sparse']!r}")
    dtype, center = np.dtype(header["dtype"]), bool(estimator.center)
    estimator.n_features_in_, estimator._params = d, params
    estimator._origin = _origin(header)
    if names:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    if header["learns"]:
        stream = Stream(d, dtype, header["sparse"], center, estimator.half_life)
        learner = estimator._learner_for(stream)
        learner.restore(header["state"], arrays)
        if learner.buffer.count >= learner.next_chunk_rows():
            raise ValueError("more rows wait than a chunk has")
        estimator._learner, seen = learner, learner.rows_seen
    else:
        model = Model.empty(d, dtype, center=center)
        model.restore(header["state"], arrays)
        estimator._set_model(model)
        seen = model.rows
    if seen != header["n_samples_seen"]:
        raise ValueError("its numbers of rows contradict each other")
    return estimator


def _origin(header: dict[str, Any]) -> Origin:
    """Return how the rows were read that learning began with."""
    normalize, log1p = header["preparation"]["normalize"], header["preparation"]["log1p"]
    if normalize is not None:
        normalize = Number(float, 1.0 / MOST_PREPARED, MOST_PREPARED).check(normalize)
    preparation = Preparation(normalize, Number(bool, 0, 1).check(log1p))
    mapped = Number(bool, 0, 1).check(header["mapped"])
    marks, reading = header["na"], header["reading"]
    if not isinstance(marks, list) or {*map(type, marks)} - {str} or len(marks) > MOST_MARKS:
        raise ValueError(f"its marks of missing entries are no list of texts: {str(marks)[:80]}")
    if {*map(type, reading.values())} - {str, int, bool}:
        raise ValueError(f"its options of reading are no texts and numbers: {str(reading)[:80]}")
    are_made = Number(bool, 0, 1).check(header["names_are_made"])
    there = header.get("rows_there")
    if there is not None:
        there = Number(int, 0).check(there)
    kept = ReadOptions(**reading).remembered()
    return Origin(preparation, mapped, tuple(marks), kept, are_made, there)


def _encode(name: str, value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return a parameter as JSON; an array goes to the arrays."""
    if isinstance(value, np.ndarray | list | tuple):
        arrays[f"params.{name}"] = np.asarray(value, dtype=np.float64)
        return {"array": f"params.{name}"}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    kind = type(value).__name__
    if isinstance(value, schedules.Schedule) and kind in SCHEDULES:
        return {"schedule": kind, **asdict(value)}  # type: ignore[call-overload]
    raise TypeError(f"{name}={value!r} cannot be saved in a model file")


def _decode(name: str, value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return the parameter that `_encode` was given."""
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays.pop(f"params.{name}")
    numbers = {key: float(number) for key, number in value.items() if key != "schedule"}
    if value["schedule"] not in SCHEDULES:
        raise ValueError(f"{name} is an unknown schedule, {value['schedule']!r}")
    return getattr(schedules, value["schedule"])(**numbers)
