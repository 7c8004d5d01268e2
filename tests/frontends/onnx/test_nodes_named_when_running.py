"""What goes wrong in a run is told with the names of the nodes of the model it went wrong in."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

import baton
from tests.frontends.onnx.models import model_of

INDICES = ("at", ([2], 7))


def test_nodes_that_became_one_kernel() -> None:
    """All are named, in their order."""
    nodes = [
        helper.make_node("Relu", ["x"], ["positive"], name="/stem/Relu"),
        helper.make_node("Gather", ["positive", "at"], ["taken"], name="/embed/Gather"),
        helper.make_node("Exp", ["taken"], ["y"], name="/head/Exp"),
    ]
    model = baton.compile(model_of(nodes, [("x", ["n", 4]), INDICES]))
    wanted = "at node '/stem/Relu', node '/embed/Gather', node '/head/Exp': index 7 is out of range"
    with pytest.raises(baton.DiagnosticError, match=wanted):
        model.run({"x": np.ones((3, 4), "float32"), "at": np.array([0, 7])})


def test_a_node_alone_and_one_without_a_name() -> None:
    """One without a name is called by what it gives."""
    for name, shown in (("/embed/Gather", "/embed/Gather"), ("", "y")):
        node = helper.make_node("Gather", ["x", "at"], ["y"], name=name)
        model = baton.compile(model_of([node], [("x", ["n", 4]), INDICES]))
        with pytest.raises(baton.DiagnosticError, match=f"node '{shown}'.*index 7 is out of range"):
            model.run({"x": np.ones((3, 4), "float32"), "at": np.array([0, 7])})


def test_a_node_in_a_branch() -> None:
    inner = helper.make_graph(
        [helper.make_node("Gather", ["x", "at"], ["t"], name="/then/Gather")], "then", [],
        [helper.make_empty_tensor_value_info("t")],
    )  # fmt: skip
    other = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["e"], name="/else/Relu")], "else", [],
        [helper.make_empty_tensor_value_info("e")],
    )  # fmt: skip
    node = helper.make_node("If", ["which"], ["y"], then_branch=inner, else_branch=other, name="/if")
    model = baton.compile(model_of([node], [("x", ["n", 4]), INDICES, ("which", ([], 9))]))
    feed = {"x": np.ones((3, 4), "float32"), "at": np.array([0, 7])}
    assert model.run({**feed, "which": np.array(False)})[0].shape == (3, 4)
    with pytest.raises(baton.DiagnosticError, match=r"node '/then/Gather'.*index 7 is out of range"):
        model.run({**feed, "which": np.array(True)})
