"""Estimators <-> model files.

An estimator's state is a tree of a few classes of ours that hold numbers and arrays. It is written
as JSON, with the arrays beside it, and read back without running anything: a class that is not in
the list below cannot come out of a file.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass import model_file
from onepass.model_file import ModelFileError

ESTIMATORS = {
    "PCA": "onepass.estimators.pca",
    "MSG": "onepass.estimators.msg",
    "CappedMSG": "onepass.estimators.capped_msg",
    "MEG": "onepass.estimators.meg",
    "Incremental": "onepass.estimators.incremental",
    "Oja": "onepass.estimators.oja",
    "Grouse": "onepass.estimators.grouse",
    "ERM": "onepass.estimators.erm",
}
PARTS = [
    "onepass.averaging.Average",
    "onepass.estimators.captured.Score",
    "onepass.estimators.challenger.Challenger",
    "onepass.estimators.moment_learner.MomentLearner",
    "onepass.estimators.pca_learner.PCALearner",
    "onepass.estimators.plan.Plan",
    "onepass.estimators.rule_learner.RuleLearner",
    "onepass.estimators.validation.Drift",
    "onepass.estimators.validation.Validation",
    "onepass.estimators.waiting.Waiting",
    "onepass.estimators.walk.Walk",
    "onepass.moments.exact.ExactMoment",
    "onepass.moments.mean.Mean",
    "onepass.moments.sample.Sample",
    "onepass.moments.sketched.SketchedMoment",
    "onepass.moments.tracked.TrackedMoment",
    "onepass.rules.grouse.Grouse",
    "onepass.rules.incremental.Incremental",
    "onepass.rules.meg.MEG",
    "onepass.rules.msg.MSG",
    "onepass.rules.oja.Oja",
    "onepass.schedules.AdaGradNorm",
    "onepass.schedules.Constant",
    "onepass.schedules.InverseSqrt",
    "onepass.subspace.Subspace",
]


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a model file."""
    model_file.write(path, *pack(estimator))


def pack(estimator: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays that a model file of a fitted estimator consists of."""
    params = dict(estimator._learned_with)
    if not isinstance(params.get("random_state"), int | None):
        params["random_state"] = None  # what it was needed for is in the state already
    arrays: dict[str, NDArray[Any]] = {}
    header = {
        "estimator": type(estimator).__name__,
        "n_features": estimator.n_features_in_,
        "n_samples_seen": estimator.n_samples_seen_,
        "feature_names": [str(name) for name in getattr(estimator, "feature_names_in_", [])],
        "params": _encode(params, arrays),
        "learner": _encode(estimator._learner, arrays),
    }
    return header, arrays


def load(path: str | os.PathLike[str]) -> Any:
    """Return the estimator of a model file; it goes on exactly where it was when saved.

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
        If it is not a model file, or damaged, or written by a newer version of onepass.

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
        name = header["estimator"]
        cls = getattr(importlib.import_module(ESTIMATORS[name]), name)
        params = _decode(header["params"], arrays)
        estimator = cls(**params)
        estimator._learned_with = params
        estimator._learner = _decode(header["learner"], arrays)
        estimator.n_features_in_ = int(header["n_features"])
        if header["feature_names"]:
            estimator.feature_names_in_ = np.asarray(header["feature_names"], dtype=object)
        if estimator.components_.shape != (estimator.n_components_, estimator.n_features_in_):
            raise ValueError("its parts do not fit together")
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(f"{os.fspath(path)}: not a sound model: {error}") from error
    return estimator


def _encode(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return a value as JSON; arrays go into `arrays` under a number."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    if isinstance(value, float | np.floating):
        return {"float": float(value).hex()}
    if isinstance(value, np.dtype):
        return {"dtype": value.name}
    if isinstance(value, np.ndarray):
        key = f"a{len(arrays)}"
        arrays[key] = np.ascontiguousarray(value)
        return {"array": key}
    if sparse.issparse(value):
        parts = [_encode(part, arrays) for part in (value.data, value.indices, value.indptr)]
        return {"csr": parts, "shape": [int(size) for size in value.shape]}
    if isinstance(value, dict):
        return {"dict": {key: _encode(item, arrays) for key, item in value.items()}}
    if isinstance(value, list | tuple):
        return {"list": [_encode(item, arrays) for item in value]}
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if name not in PARTS:
        raise TypeError(f"{type(value).__name__} cannot be saved in a model file")
    state = value.__dict__ if is_dataclass(value) else _state(value)
    return {"part": name, "state": {key: _encode(item, arrays) for key, item in state.items()}}


def _decode(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return what `_encode` was given."""
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float.fromhex(value["float"])
    if "dtype" in value:
        if value["dtype"] not in ("float64", "float32"):
            raise ValueError(f"rows of type {value['dtype']!r}")
        return np.dtype(value["dtype"])
    if "array" in value:
        return arrays[value["array"]]
    if "csr" in value:
        parts = tuple(_decode(part, arrays) for part in value["csr"])
        matrix = sparse.csr_array(parts, shape=tuple(value["shape"]))
        matrix.check_format(full_check=True)
        return matrix
    if "dict" in value:
        return {key: _decode(item, arrays) for key, item in value["dict"].items()}
    if "list" in value:
        return [_decode(item, arrays) for item in value["list"]]
    if value["part"] not in PARTS:
        raise ValueError(f"a part {value['part']!r}")
    module, _, name = value["part"].rpartition(".")
    part = object.__new__(getattr(importlib.import_module(module), name))
    state = {key: _decode(item, arrays) for key, item in value["state"].items()}
    if hasattr(part, "__setstate__"):
        part.__setstate__(state)
    else:
        part.__dict__.update(state)
    return part


def _state(value: Any) -> dict[str, Any]:
    """Return what an object of ours consists of."""
    state = value.__getstate__()
    assert isinstance(state, dict)
    return state
