"""ONNX's indices count from either end of an axis: what lies beyond is an error, as in ONNX Runtime, and no element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton._src.support.diagnostics import DiagnosticError

onnx = pytest.importorskip("onnx")
X = np.arange(20, dtype="float32").reshape(4, 5)
OPERATORS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "Gather": ((2,), ()),
    "GatherElements": ((1, 2), ()),
    "GatherND": ((2, 1), ()),
    "ScatterElements": ((1, 2), (1, 2)),
    "ScatterND": ((2, 1), (2, 5)),
}
"""The shape of two indices, and of the updates."""


def _model(name: str) -> Any:
    at, updates = OPERATORS[name]
    inputs = [("x", onnx.TensorProto.FLOAT, X.shape), ("at", onnx.TensorProto.INT64, at)]
    if updates:
        inputs.append(("updates", onnx.TensorProto.FLOAT, updates))
    node = onnx.helper.make_node(name, [n for n, _, _ in inputs], ["y"])
    values = [onnx.helper.make_tensor_value_info(*i) for i in inputs]
    result = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = onnx.helper.make_graph([node], "g", values, [result])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("name", OPERATORS)
def test_just_beyond_either_end(name: str) -> None:
    at, updates = OPERATORS[name]
    model = baton.compile(_model(name))
    more = {"updates": np.ones(updates, "float32")} if updates else {}
    for inside in (3, -4):
        model.run({"x": X, "at": np.array([0, inside]).reshape(at), **more})
    for outside in (4, -5):
        with pytest.raises(DiagnosticError, match=f"index {outside} is out of range"):
            model.run({"x": X, "at": np.array([0, outside]).reshape(at), **more})
