"""Estimators <-> model files, by the schema."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onepass
from onepass import ESTIMATORS, model_file, schedules
from onepass.estimators.model_file_schema import MOST_COLUMNS, Scalar, check_state, flatten
from onepass.learning.stream import Stream
from onepass.model_file import ModelFileError

OF_PARTS = "of-"  # how names of arrays begin that belong to other models in the same file
SCHEDULES = ("AdaGradNorm", "Constant", "InverseSqrt")


def pack(estimator: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays that a model file of a fitted estimator consists of."""
    learner = estimator._learner
    numbers, arrays = flatten(estimator._schema(learner.stream), learner.state())
    params = dict(estimator._learned_with)
    if not isinstance(params.get("random_state"), int | None):
        params["random_state"] = None  # its seed is part of the state
    header = {
        "estimator": type(estimator).__name__,
        "n_features": estimator.n_features_in_,
        "n_samples_seen": estimator.n_samples_seen_,
        "feature_names": [str(name) for name in getattr(estimator, "feature_names_in_", [])],
        "dtype": learner.stream.dtype.name,
        "sparse": learner.stream.is_sparse,
        "params": {name: _encode(name, value, arrays) for name, value in params.items()},
        "state": numbers,
    }
    return header, arrays


def load(path: str | os.PathLike[str]) -> Any:
    """Return the estimator of a model file; it continues exactly where it was saved.

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
    return unpack(*model_file.read(path), path)


def unpack(
    header: dict[str, Any], arrays: dict[str, NDArray[Any]], path: str | os.PathLike[str]
) -> Any:
    """Return the estimator of the content of a model file, read from `path`; see `load`."""
    try:
        own = {name: array for name, array in arrays.items() if not name.startswith(OF_PARTS)}
        estimator = _unpack(header, own)
        with np.errstate(all="ignore"):  # numbers that make no sense are refused below
            components = estimator.components_
        if not np.isfinite(components).all():
            raise ValueError("its components are not finite")
    except Exception as error:
        raise ModelFileError(f"{os.fspath(path)}: not a valid model: {error}") from error
    return estimator


def _unpack(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
    """Return an estimator; raise any exception if something is wrong."""
    name, d = header["estimator"], Scalar(int, 1, MOST_COLUMNS).check(header["n_features"])
    if name not in ESTIMATORS:
        raise ValueError(f"it is of an unknown estimator, {name!r}")
    cls = getattr(onepass, name)
    params = {key: _decode(key, value, arrays) for key, value in header["params"].items()}
    estimator = cls(**params)
    estimator._check_parameters()
    names = header["feature_names"]
    if names and (len(names) != d or not all(isinstance(name, str) for name in names)):
        raise ValueError(f"it has {len(names)} names for {d} columns")
    if header["dtype"] not in ("float64", "float32") or type(header["sparse"]) is not bool:
        raise ValueError(f"rows of type {header['dtype']!r}, sparse: {header['sparse']!r}")
    half_life = params.get("half_life")
    dtype = np.dtype(header["dtype"])
    stream = Stream(d, dtype, header["sparse"], bool(params["center"]), half_life)
    state = check_state(estimator._schema(stream), header["state"], arrays)
    learner = estimator._learner_for(stream)
    learner.restore(state)
    if learner.buffer.count >= learner.next_chunk_rows():
        raise ValueError("more rows wait than a chunk has")
    if not learner.buffer.count <= learner.rows_seen == header["n_samples_seen"]:
        raise ValueError("its numbers of rows contradict each other")
    estimator._learner, estimator._learned_with = learner, params
    estimator.n_features_in_ = d
    if names:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    return estimator


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
