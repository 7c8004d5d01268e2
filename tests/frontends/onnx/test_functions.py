"""Functions of a model, as PyTorch's exporter writes them: imported inline, with their callers' attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.inliner
import pytest
from onnx import helper

import baton
from tests.frontends.onnx.models import model_of, weight

X = np.array([[-8.0, 8.0]], "float32")


def referring(node: Any, name: str, source: str, kind: Any) -> Any:
    """The node, its attribute `name` being its function's attribute `source`."""
    node.attribute.add(name=name, ref_attr_name=source, type=kind)
    return node


def function(name: str, nodes: Any, attributes: Any = (), overload: str = "") -> Any:
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("acme", 1)]
    return helper.make_function("acme", name, ["a"], ["b"], nodes, opsets, list(attributes), overload=overload)


def model_with(functions: Any, nodes: Any, *inputs: Any) -> onnx.ModelProto:
    model = model_of(nodes, [("x", [1, 2]), *inputs])
    model.functions.extend(functions)
    model.opset_import.append(helper.make_opsetid("acme", 1))
    return model


@pytest.mark.parametrize("known", [True, False])
def test_subgraphs_refer_to_attributes(known: bool) -> None:
    """Guards slopes of 0: a reference within a branch of a function was taken for the number it does not hold."""
    inner = referring(helper.make_node("LeakyRelu", ["a"], ["t"]), "alpha", "slope", onnx.AttributeProto.FLOAT)
    arms = [
        helper.make_graph([node], "arm", [], [helper.make_empty_tensor_value_info(node.output[0])])
        for node in (inner, helper.make_node("Identity", ["a"], ["e"]))
    ]
    body = [
        referring(helper.make_node("Constant", [], ["c"]), "value", "which", onnx.AttributeProto.TENSOR),
        helper.make_node("If", ["c"], ["b"], then_branch=arms[0], else_branch=arms[1]),
    ]
    if not known:  # a condition that only a run tells: a number of the operand against one
        body[:1] = [
            helper.make_node("ReduceMax", ["a"], ["top"], keepdims=0),
            referring(helper.make_node("Constant", [], ["least"]), "value", "which", onnx.AttributeProto.TENSOR),
            helper.make_node("Greater", ["top", "least"], ["c"]),
        ]
    which = np.array(True) if known else np.float32(1)
    call = helper.make_node("Bend", ["x"], ["y"], domain="acme", slope=0.25, which=weight("", which))
    model = model_with([function("Bend", body, ["slope", "which"])], [call])
    np.testing.assert_array_equal(baton.compile(model).run({"x": X})[0], [[-2, 8]])


def test_overloads() -> None:
    """Functions of one name are told apart by what nodes call the overload."""
    functions = [function("Do", [helper.make_node(op, ["a"], ["b"])], overload=op) for op in ("Neg", "Abs")]
    calls = [helper.make_node("Do", ["x"], ["y"], domain="acme", overload="Abs")]
    np.testing.assert_array_equal(baton.compile(model_with(functions, calls)).run({"x": X})[0], [[8, 8]])


def test_what_a_function_lacks_is_named() -> None:
    """Operators that are not supported are found in the functions that are called, and in no others."""
    functions = [function(n, [helper.make_node(f"Odd{n}", ["a"], ["b"], name=f"in{n}")]) for n in ("One", "Two")]
    with pytest.raises(baton.DiagnosticError, match=r"OddOne is not supported .*'inOne'") as error:
        baton.compile(model_with(functions, [helper.make_node("One", ["x"], ["y"], domain="acme")]))
    assert "OddTwo" not in str(error.value)


def test_a_function_that_calls_itself() -> None:
    functions = [function("Again", [helper.make_node("Again", ["a"], ["b"], domain="acme", name="inner")])]
    with pytest.raises(baton.DiagnosticError, match="node 'inner': its function calls itself"):
        baton.compile(model_with(functions, [helper.make_node("Again", ["x"], ["y"], domain="acme")]))


def test_a_branch_without_its_output() -> None:
    arms = [
        helper.make_graph([helper.make_node("Neg", ["x"], ["z"])], name, [], [helper.make_empty_tensor_value_info(out)])
        for name, out in (("good", "z"), ("bad", "nothing"))
    ]
    node = helper.make_node("If", ["c"], ["y"], name="choice", then_branch=arms[0], else_branch=arms[1])
    with pytest.raises(baton.DiagnosticError, match="'bad' in 'choice' has no value for its output 'nothing'"):
        baton.compile(model_of([node], [("x", [2]), ("c", ([], 9))]))


@pytest.mark.parametrize("given", [["x"], ["x", ""], ["x", "low"]])
def test_operands_left_out(given: list[str]) -> None:
    """What a caller leaves out is left out within, also of what the function calls; it was a name nothing defines."""
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("acme", 1)]
    inner = [helper.make_node("Clip", ["a", "least"], ["b"])]
    outer = [helper.make_node("Bound", ["a", "least"], ["b"], domain="acme")]
    functions = [
        helper.make_function("acme", name, ["a", "least"], ["b"], body, opsets)
        for name, body in (("Bound", inner), ("Outer", outer))
    ]
    model = model_with(functions, [helper.make_node("Outer", given, ["y"], domain="acme")])
    model.graph.initializer.append(weight("low", np.float32(-1)))
    expected = [[-1, 8]] if "low" in given else X
    np.testing.assert_array_equal(baton.compile(model).run({"x": X})[0], expected)


def test_a_function_of_another_opset_than_the_model() -> None:
    """Where an operator changed in between ONNX forbids it, and onnxruntime reads it as of the model's opset: it was
    read as of the function's. Other operators may be of either opset."""
    for op, refused in (("Softmax", True), ("Relu", False)):
        bent = function("Bend", [helper.make_node(op, ["a"], ["b"], name="inner")])
        bent.opset_import[0].version = 11 if refused else 20
        model = model_with([bent], [helper.make_node("Bend", ["x"], ["y"], domain="acme", name="outer")])
        if not refused:
            np.testing.assert_array_equal(baton.compile(model).run({"x": X})[0], [[0, 8]])
            continue
        with pytest.raises(
            baton.DiagnosticError, match=r"node 'outer': its function uses Softmax of opset 11"
        ) as error:
            baton.compile(model)
        assert "onnx.inliner" in str(error.value)
        inlined = onnx.inliner.inline_local_functions(model, convert_version=True)
        np.testing.assert_allclose(baton.compile(inlined).run({"x": X})[0], [[0, 1]], atol=1e-6)


def test_a_body_takes_a_size_of_int32() -> None:
    """ONNX's body of CenterCropPad compares it with a shape, which is int64."""
    node = helper.make_node("CenterCropPad", ["x", "size"], ["y"], axes=[-1])
    model = model_of([node], [("x", [1, 4])], weights=[weight("size", np.array([2], "int32"))])
    np.testing.assert_array_equal(baton.compile(model).run({"x": np.array([[1, 2, 3, 4]], "float32")})[0], [[2, 3]])


def test_attributes_of_functions_are_the_models_own() -> None:
    """ONNX's operators take no `layout` of 3, or `size` of 0; a function may call its numbers as it likes."""
    body = [
        referring(helper.make_node("Constant", [], ["c"]), "value_int", "layout", onnx.AttributeProto.INT),
        helper.make_node("Cast", ["c"], ["f"], to=1),
        helper.make_node("Add", ["a", "f"], ["b"]),
    ]
    call = helper.make_node("Move", ["x"], ["y"], domain="acme", layout=3, size=0)
    model = model_with([function("Move", body, ["layout", "size"])], [call])
    np.testing.assert_array_equal(baton.compile(model).run({"x": X})[0], X + 3)
