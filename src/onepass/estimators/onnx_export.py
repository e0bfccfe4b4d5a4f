"""What `transform` does, as a model file that programs without Python can run."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass import __version__
from onepass.model_file import replacing

# Versions of 2020, which every runtime in use knows; nothing newer is needed.
OPERATORS, REPRESENTATION = 13, 7
MOST_BYTES = 2**31 - 2**20  # protocol buffers end at two gigabytes


def export(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write the `transform` of a fitted estimator to an ONNX file, all or nothing."""
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError("to_onnx needs onnx: pip install 'onepass[onnx]'") from error
    model = _model(onnx, estimator)
    onnx.checker.check_model(model, full_check=True)
    content = model.SerializeToString()
    with replacing(path) as file:
        file.write(content)


def _model(onnx: Any, estimator: Any) -> Any:
    """Return the model: rows "X" of shape (any, d) in, "coordinates" of shape (any, k) out."""
    arrays = _arrays(estimator)
    size = sum(array.nbytes for _, array in arrays.values())
    if size > MOST_BYTES:
        raise ValueError(f"ONNX files hold at most 2 GB, and the components take {size:,} bytes")
    (d, k), dtype = arrays["components"][1].shape, arrays["components"][1].dtype
    nodes, flowing = [], "X"
    for name, (operator, _) in arrays.items():
        result = "coordinates" if name == list(arrays)[-1] else f"X_{name}"
        nodes.append(onnx.helper.make_node(operator, [flowing, name], [result], name=name))
        flowing = result
    kind = onnx.helper.np_dtype_to_tensor_dtype(dtype)
    graph = onnx.helper.make_graph(
        nodes,
        type(estimator).__name__,
        [onnx.helper.make_tensor_value_info("X", kind, ["rows", d])],
        [onnx.helper.make_tensor_value_info("coordinates", kind, ["rows", k])],
        [onnx.numpy_helper.from_array(array, name) for name, (_, array) in arrays.items()],
    )
    model = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid("", OPERATORS)],
        ir_version=REPRESENTATION,
        producer_name="onepass",
        producer_version=__version__,
    )
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        listed = json.dumps([str(name) for name in names])
        onnx.helper.set_model_props(model, {"feature_names": listed})
    return model


def _arrays(estimator: Any) -> dict[str, tuple[str, NDArray[np.floating]]]:
    """Return what is done to rows, step by step: name -> operator and array.

    Rows lose their mean before the product, as in `transform`: taken away afterwards it would
    take the digits of rows far from zero with it.
    """
    components = np.ascontiguousarray(estimator.components_.T)
    arrays = {"components": ("MatMul", components)}
    if estimator._learner.stream.center:
        mean = np.ascontiguousarray(estimator.mean_, dtype=components.dtype)
        arrays = {"mean": ("Sub", mean), **arrays}
    if getattr(estimator, "scale", False):
        components /= estimator.scale_[:, None]
    if getattr(estimator, "whiten", False):
        deviations = np.ascontiguousarray(estimator._deviations(), dtype=components.dtype)
        arrays["deviations"] = ("Div", deviations)
    return arrays
