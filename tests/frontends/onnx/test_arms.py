"""An If whose arms give different ranks: what follows it is imported once for each, with the rank known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import baton
from tests.frontends.onnx.contrib_cases import assert_as_onnxruntime, onnxruntime_outputs
from tests.frontends.onnx.models import model_of, weight

X = np.random.default_rng(0).standard_normal((2, 3, 5)).astype("float32")
WEIGHTS = [weight("one", np.array([1])), weight("axis", np.int64(1)), weight("size", np.int64(1))]


def squeezed(source: str, target: str) -> list[Any]:
    """`x.squeeze(1)` as PyTorch exports it where that axis is open: with it gone if it is 1, or as it is."""
    given = helper.make_tensor_value_info
    without = helper.make_node("Squeeze", [source, "one"], [f"{target}_without"])
    same = helper.make_node("Identity", [source], [f"{target}_same"])
    arms = {
        "then_branch": helper.make_graph([without], "gone", [], [given(without.output[0], TensorProto.FLOAT, None)]),
        "else_branch": helper.make_graph([same], "kept", [], [given(same.output[0], TensorProto.FLOAT, None)]),
    }
    return [
        helper.make_node("Shape", [source], [f"{target}_sizes"]),
        helper.make_node("Gather", [f"{target}_sizes", "axis"], [f"{target}_found"]),
        helper.make_node("Equal", [f"{target}_found", "size"], [f"{target}_is"]),
        helper.make_node("If", [f"{target}_is"], [target], name=f"/{target}", **arms),
    ]


BEHIND: dict[str, list[Any]] = {
    "its result": [helper.make_node("Identity", ["q"], ["y"])],
    "its last axis": [helper.make_node("Softmax", ["q"], ["y"], axis=-1)],
    "all of its axes": [helper.make_node("Flatten", ["q"], ["y"])],
    "another of its kind": [
        helper.make_node("Neg", ["q"], ["r"]), *squeezed("r", "s"),
        helper.make_node("LogSoftmax", ["s"], ["y"], axis=-1),
    ],
    "what is there before": [
        helper.make_node("Softmax", ["q"], ["p"], axis=-1), helper.make_node("ReduceSum", ["p"], ["t"], keepdims=0),
        helper.make_node("Mul", ["x", "t"], ["y"]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND)
def test_what_follows(behind: list[Any]) -> None:
    model = model_of([*squeezed("x", "q"), *behind], [("x", ["a", "b", "c"])], weights=WEIGHTS, opset=17)
    program = baton.compile(model, num_threads=1)
    for x in (X, X[:, :1], X[:1, :1]):
        assert_as_onnxruntime(program.run({"x": x}), onnxruntime_outputs(model, {"x": x}))


def test_several_outputs_of_which_some_come_before() -> None:
    nodes = [helper.make_node("Abs", ["x"], ["before"]), *squeezed("x", "q"), *BEHIND["its last axis"]]
    model = model_of(nodes, [("x", ["a", "b", "c"])], ["y", "before", "q", "x"], WEIGHTS, opset=17)
    program = baton.compile(model, num_threads=1)
    for x in (X, X[:, :1]):
        assert_as_onnxruntime(program.run({"x": x}), onnxruntime_outputs(model, {"x": x}))


def test_an_output_that_nothing_defines_is_named() -> None:
    model = model_of(
        [*squeezed("x", "q"), *BEHIND["its last axis"]], [("x", ["a", "b", "c"])], ["z"], WEIGHTS, opset=17
    )
    with pytest.raises(baton.DiagnosticError, match="output 'z' is computed by no node"):
        baton.compile(model)
