"""Small ONNX models for the tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper


def model_of(
    nodes: Sequence[Any],
    inputs: Sequence[tuple[str, Any]],
    outputs: Sequence[str] = ("y",),
    weights: Sequence[Any] = (),
    opset: int = 21,
    dtype: int = TensorProto.FLOAT,
) -> onnx.ModelProto:
    """A model; inputs are (name, shape), or (name, (shape, element type))."""
    declared = []
    for name, shape in inputs:
        own, kind = (
            shape if isinstance(shape, tuple) and shape and isinstance(shape[0], (tuple, list)) else (shape, dtype)
        )
        declared.append(helper.make_tensor_value_info(name, kind, own))
    graph = helper.make_graph(
        list(nodes), "test", declared, [helper.make_empty_tensor_value_info(n) for n in outputs], list(weights)
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def weight(name: str, array: Any) -> Any:
    return onnx.numpy_helper.from_array(np.asarray(array), name)
