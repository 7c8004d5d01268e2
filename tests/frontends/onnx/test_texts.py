"""Texts are refused with the nodes that use them and with what to do instead."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import TensorProto, helper

import baton

WORDS = helper.make_tensor("words", TensorProto.STRING, [2], [b"a", b"b"])  # type: ignore[list-item]
LEARNING = {"domain": "ai.onnx.ml"}
CASES: list[tuple[str, Any, int, str]] = [
    ("an input", helper.make_node("Identity", ["x"], ["y"], name="/id"), TensorProto.STRING, "input 'x'.*node '/id'"),
    ("a weight", helper.make_node("Equal", ["words", "words"], ["y"], name="/eq"), TensorProto.FLOAT, "'words'.*'/eq'"),
    ("an attribute", helper.make_node("Constant", [], ["y"], value=WORDS, name="/c"), TensorProto.FLOAT, "node '/c'"),
    ("a word", helper.make_node("Constant", [], ["y"], value_string="a", name="/c"), TensorProto.FLOAT, "node '/c'"),
    ("a cast", helper.make_node("Cast", ["x"], ["y"], to=TensorProto.STRING, name="/to"), TensorProto.FLOAT, "'/to'"),
    (
        "categories",
        helper.make_node("OneHotEncoder", ["x"], ["y"], cats_strings=["a"], name="/hot", **LEARNING),
        TensorProto.INT64,
        "'/hot'",
    ),
    (
        "labels",
        helper.make_node("LabelEncoder", ["x"], ["y"], keys_int64s=[1], values_strings=["a"], name="/le", **LEARNING),
        TensorProto.INT64,
        "'/le'",
    ),
]


@pytest.mark.parametrize(("node", "kind", "named"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_refused(node: Any, kind: int, named: str) -> None:
    weights = [WORDS] if "words" in node.input else []
    declared = [helper.make_tensor_value_info("x", kind, ["n"])]
    graph = helper.make_graph([node], "g", declared, [helper.make_empty_tensor_value_info("y")], weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    with pytest.raises(baton.DiagnosticError, match=named) as caught:
        baton.compile(model)
    assert "help: number the texts before they get to the model" in str(caught.value)
