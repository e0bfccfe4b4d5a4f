"""What `transform` does, as a model file that programs without Python can run."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass import __version__
from onepass.extras import require
from onepass.model import Model
from onepass.persistence.atomic import replacing

# Versions of 2020, which every runtime in use knows; nothing newer is needed.
OPERATORS, REPRESENTATION = 13, 7
MOST_BYTES = 2**31 - 2**20  # protocol buffers end at two gigabytes


def export(model: Model, name: str, columns: Any, path: str | os.PathLike[str]) -> None:
    """Write the `transform` of a model to an ONNX file, all or nothing.

    `name` is that of the estimator, and `columns` are the names of the columns, or None.
    """
    require("writing ONNX files", "onnx", "onnx")
    import onnx
    import onnx.checker
    import onnx.helper
    import onnx.numpy_helper

    graph = _graph(onnx, model, name, columns)
    onnx.checker.check_model(graph, full_check=True)
    content = graph.SerializeToString()
    with replacing(path) as file:
        file.write(content)


def _graph(onnx: Any, model: Model, name: str, columns: Any) -> Any:
    """Return the graph: rows "X" of shape (any, d) in, "coordinates" of shape (any, k) out."""
    arrays = _arrays(model)
    size = sum(array.nbytes for _, array in arrays.values())
    if size > MOST_BYTES:
        raise ValueError(f"ONNX files hold at most 2 GB, and the components take {size:,} bytes")
    (d, k), dtype = arrays["components"][1].shape, arrays["components"][1].dtype
    nodes, flowing = [], "X"
    for step, (operator, _) in arrays.items():
        result = "coordinates" if step == list(arrays)[-1] else f"X_{step}"
        nodes.append(onnx.helper.make_node(operator, [flowing, step], [result], name=step))
        flowing = result
    kind = onnx.helper.np_dtype_to_tensor_dtype(dtype)
    graph = onnx.helper.make_graph(
        nodes,
        name,
        [onnx.helper.make_tensor_value_info("X", kind, ["rows", d])],
        [onnx.helper.make_tensor_value_info("coordinates", kind, ["rows", k])],
        [onnx.numpy_helper.from_array(array, step) for step, (_, array) in arrays.items()],
    )
    whole = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid("", OPERATORS)],
        ir_version=REPRESENTATION,
        producer_name="onepass",
        producer_version=__version__,
    )
    if columns is not None:
        listed = json.dumps([str(column) for column in columns])
        onnx.helper.set_model_props(whole, {"feature_names": listed})
    return whole


def _arrays(model: Model) -> dict[str, tuple[str, NDArray[np.floating]]]:
    """Return what is done to rows, step by step: name -> operator and array.

    Rows lose their mean before the product, as in `transform`: taken away afterwards it would
    take the digits of rows far from zero with it.
    """
    components = np.ascontiguousarray(model.components.T)
    arrays = {"components": ("MatMul", components)}
    if model.center:
        arrays = {"mean": ("Sub", np.ascontiguousarray(model.mean)), **arrays}
    if model.scale is not None:
        components /= model.scale.astype(components.dtype)[:, None]
    if model.whiten:
        arrays["deviations"] = ("Div", model.deviations().astype(components.dtype))
    return arrays
