"""Loops whose length only a run tells, as exporters write decoders that generate tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper

import baton
from tests.frontends.onnx.contrib_cases import onnxruntime_outputs
from tests.frontends.onnx.models import model_of, weight


def generating() -> Any:
    """A sequence grows by one column an iteration until all of it is large; each iteration gives the columns' sums."""
    nodes = [
        helper.make_node("ReduceSum", ["seq", "last"], ["sum"]),
        helper.make_node("Concat", ["seq", "sum"], ["longer"], axis=1),
        helper.make_node("Squeeze", ["sum", "last"], ["row"]),
        helper.make_node("ReduceMin", ["row"], ["least"], keepdims=0),
        helper.make_node("Less", ["least", "hundred"], ["go"]),
    ]
    inputs = [
        helper.make_tensor_value_info("i", TensorProto.INT64, []),
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        helper.make_tensor_value_info("seq", TensorProto.FLOAT, ["rows", "columns"]),
    ]
    outputs = [helper.make_empty_tensor_value_info(n) for n in ("go", "longer", "row")]
    weights = [weight("last", np.array([1])), weight("hundred", np.float32(100))]
    body = helper.make_graph(nodes, "body", inputs, outputs, weights)
    node = helper.make_node("Loop", ["m", "yes", "x"], ["y", "rows"], body=body)
    declared: list[Any] = [("m", ([], TensorProto.INT64)), ("x", ["n", "k"])]
    return model_of([node], declared, ("y", "rows"), [weight("yes", np.array(True))])


def test_outputs_of_open_sizes_are_collected() -> None:
    """Also by a loop that does not run at all, of which onnxruntime says that open sizes are 0."""
    model = generating()
    program = baton.compile(model, num_threads=1)
    for trips, shape in ((5, (1, 2)), (50, (3, 4)), (1, (2, 1)), (0, (2, 3))):
        feed = {"m": np.array(trips), "x": np.ones(shape, "float32")}
        for found, wanted in zip(program.run(feed), onnxruntime_outputs(model, feed), strict=True):
            np.testing.assert_array_equal(found, wanted)
