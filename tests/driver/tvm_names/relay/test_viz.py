"""`tvm.contrib.relay_viz`: programs as text and in Graphviz's language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import baton
from baton import relay
from baton.contrib import relay_viz
from baton.contrib.relay_viz.interface import DefaultVizParser, VizNode

X = relay.var("x", shape=(2, 3))
W = relay.var("w", shape=(4, 3))
SUM = relay.nn.dense(X, W)
MODULE = relay.transform.InferType()(baton.IRModule.from_expr(relay.Function([X, W], relay.add(SUM, SUM))))


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    """A tree; what is used twice is written once."""
    relay_viz.RelayVisualizer(MODULE, {"w": None}).render()
    text = capsys.readouterr().out
    assert text.count("Call nn.dense") == 2
    assert text.count("(see above)") == 1
    assert "Parameter w Tensor[(4, 3), float32]" in text
    assert text.startswith("@main\n")


def test_dot(tmp_path: Path) -> None:
    """A file a function, with the user's own nodes and styles."""

    class Mine(DefaultVizParser):
        def get_node_edges(self, node: Any, relay_param: Any, node_to_id: Any) -> Any:
            made, edges = super().get_node_edges(node, relay_param, node_to_id)
            return VizNode(made.identity, made.type_name.upper(), 'a "detail"'), edges

    plotter = relay_viz.DotPlotter(
        {"rankdir": "LR"}, get_node_attr=lambda n: {"color": "red"} if "ADD" in n.type_name else {}
    )
    relay_viz.RelayVisualizer(MODULE, plotter=plotter, parser=Mine()).render(str(tmp_path / "net"))
    text = (tmp_path / "net_main.gv").read_text()
    assert text.startswith('digraph "main" {\n    graph [rankdir="LR"]')
    assert '[label="CALL ADD\\na \\"detail\\"", color="red"]' in text
    assert text.count("->") == 5
