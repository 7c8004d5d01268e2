"""Nodes and graphs that no version of ONNX has: what is too much, of the wrong kind, or newer than what is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import baton
from baton import DiagnosticError, relax, relay
from tests.frontends.onnx.models import model_of, weight

FACES = (baton.compile, relax.frontend.onnx.from_onnx, relay.frontend.from_onnx)
FLAG = helper.make_tensor_value_info("go", TensorProto.BOOL, [])
STEP = helper.make_tensor_value_info("i", TensorProto.INT64, [])
STATE, NEXT, MORE = (helper.make_empty_tensor_value_info(name) for name in ("state", "next", "more"))


def refused(model: Any, code: str) -> str:
    """What is said, the same through every interface."""
    told = []
    for face in FACES:
        with pytest.raises(DiagnosticError) as error:
            face(model)
        assert error.value.code == code, error.value
        told.append(str(error.value))
    assert len(set(told)) == 1
    return told[0]


@pytest.mark.parametrize(
    ("op", "inputs", "said"),
    [
        ("Reshape", ["x", "real"], "Reshape node 'the one': input 1 is float64, it must be integers"),
        ("Gather", ["x", "real"], "Gather node 'the one': input 1 is float64, it must be integers"),
        ("Expand", ["x", "real"], "Expand node 'the one': input 1 is float64, it must be integers"),
        ("Where", ["x", "x", "x"], "Where node 'the one': input 0 is float32, it must be bool"),
        ("Not", ["x"], "Not node 'the one': input 0 is float32, it must be bool"),
    ],
)
def test_numbers_of_another_kind(op: str, inputs: list[str], said: str) -> None:
    """A shape of floats was an error of Python's, which named nothing."""
    node = helper.make_node(op, inputs, ["y"], name="the one")
    found = refused(model_of([node], [("x", [2, 3])], weights=[weight("real", np.array([3.0, 2.0]))]), "onnx-dtype")
    assert said in found
    assert "x: float32 (2, 3)" in found
    assert "cast it before" in found


def test_integers_of_any_width_are_integers() -> None:
    """ONNX says int64; where any integers will do, they are taken as before."""
    node = helper.make_node("Gather", ["x", "at"], ["y"], axis=0)
    model = baton.compile(model_of([node], [("x", [2])], weights=[weight("at", np.array([1], np.int32))]))
    assert model.run({"x": np.array([1, 2], np.float32)})[0].tolist() == [2]


@pytest.mark.parametrize(
    ("inputs", "outputs", "said"),
    [
        (["x", "x"], ["y"], "it has 2 inputs, 1 at most"),
        (["x"], ["y", "z"], "it has 2 outputs, 1 at most"),
    ],
)
def test_more_than_there_are(inputs: list[str], outputs: list[str], said: str) -> None:
    """What was too much was left out silently."""
    node = helper.make_node("Relu", inputs, outputs, name="the one")
    found = refused(model_of([node], [("x", [2])]), "onnx-node")
    assert said in found
    assert "the one" in found


def test_what_is_left_out_at_the_end_does_not_count() -> None:
    node = helper.make_node("Relu", ["x", ""], ["y", ""])
    assert baton.compile(model_of([node], [("x", [2])])).run({"x": np.array([-1, 1], np.float32)})[0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("inputs", "outputs", "said"),
    [
        ([STEP, FLAG], [FLAG, NEXT], "its body takes 2 values ('i', 'go'), 3 are given"),
        ([STEP, FLAG, STATE], [FLAG], "its body returns 1 values ('go'), but needs at least 2"),
    ],
)
def test_bodies_of_loops_that_do_not_fit(inputs: list[Any], outputs: list[Any], said: str) -> None:
    """They were an error of Python's."""
    body = helper.make_graph([helper.make_node("Identity", ["state"], ["next"])], "body", inputs, outputs)
    node = helper.make_node("Loop", ["times", "", "x"], ["y"], name="the loop", body=body)
    found = refused(model_of([node], [("x", [2]), ("times", ([], TensorProto.INT64))]), "onnx-graph")
    assert said in found
    assert "the loop" in found


def test_bodies_of_scans_that_do_not_fit() -> None:
    body = helper.make_graph([helper.make_node("Identity", ["state"], ["next"])], "body", [STATE, MORE], [NEXT])
    model = model_of([helper.make_node("Scan", ["x"], ["y"], num_scan_inputs=1, body=body)], [("x", [2, 3])])
    assert "its body takes 2 values ('state', 'more'), 1 are given" in refused(model, "onnx-graph")
    for attribute in model.graph.node[0].attribute:
        if attribute.name == "num_scan_inputs":
            attribute.i = 5
    assert "num_scan_inputs is 5, of 1 inputs" in refused(model, "onnx-node")


def test_an_opset_that_is_not_known() -> None:
    """It was read as of the newest that is known, whatever the operators mean in it."""
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], [("x", [2])])
    model.opset_import[0].version = onnx.defs.onnx_opset_version() + 1
    assert "upgrade the onnx package" in refused(model, "onnx-opset")


def test_two_initializers_of_one_name() -> None:
    """The last one was taken."""
    twice = [weight("w", np.zeros(2, np.float32)), weight("w", np.ones(2, np.float32))]
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], [("x", [2])], weights=twice)
    assert "two initializers 'w'" in refused(model, "onnx-graph")


@pytest.mark.parametrize(
    ("inputs", "outputs", "said"),
    [
        (["x", "x"], ["y"], "it has 2 inputs, its function takes (a)"),
        (["x"], ["z", "y"], "it has 2 outputs, its function returns (b)"),
    ],
)
def test_more_than_a_function_has(inputs: list[str], outputs: list[str], said: str) -> None:
    """What was too much was left out silently."""
    known = [helper.make_opsetid("", 21)]
    body = helper.make_function("own", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], known)
    model = model_of([helper.make_node("Twice", inputs, outputs, name="the call", domain="own")], [("x", [2])])
    model.functions.append(body)
    found = refused(model, "onnx-graph")
    assert said in found
    assert "the call" in found


def test_arms_of_two_dtypes_in_relay() -> None:
    """The message had the importer's own records in it."""
    arms = {
        f"{name}_branch": helper.make_graph([node], name, [], [helper.make_empty_tensor_value_info(node.output[0])])
        for name, node in (
            ("then", helper.make_node("Relu", ["x"], ["a"])),
            ("else", helper.make_node("Cast", ["x"], ["b"], to=TensorProto.INT64)),
        )
    }
    model = model_of([helper.make_node("If", ["go"], ["y"], **arms)], [("x", [2]), ("go", ([], TensorProto.BOOL))])
    with pytest.raises(DiagnosticError, match="return float32 of rank 1 and int64 of rank 1") as error:
        relay.frontend.from_onnx(model)
    assert error.value.code == "import-relay"


@pytest.mark.parametrize(("outer", "taken"), [([9.0, 9.0], False), ([1.0, 2.0], True)])
def test_an_initializer_of_a_subgraph_with_the_name_of_another(outer: list[float], taken: bool) -> None:
    """onnxruntime took the one outside, this the one inside; exporters repeat weights, which are the same."""
    inner = weight("w", np.array([1.0, 2.0], np.float32))
    result = helper.make_empty_tensor_value_info("o")
    arms = {
        "then_branch": helper.make_graph([helper.make_node("Add", ["x", "w"], ["o"])], "sum", [], [result], [inner]),
        "else_branch": helper.make_graph([helper.make_node("Sub", ["x", "w"], ["o"])], "rest", [], [result]),
    }
    node = helper.make_node("If", ["go"], ["y"], name="the one", **arms)
    model = model_of([node], [("x", [2])], weights=[weight("w", np.array(outer, np.float32))])
    model.graph.input.append(FLAG)
    if taken:
        found = baton.compile(model).run({"x": np.zeros(2, np.float32), "go": np.array(True)})
        assert found[0].tolist() == outer
    else:
        assert "'sum' in 'the one' has an initializer 'w'" in refused(model, "onnx-graph")
