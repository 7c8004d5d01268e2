"""`compile` under a PassContext: its settings, disabled passes and instruments hold, for files in the cache, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import baton
from baton._src.transform.instruments import PassInstrument
from baton.transform import PassContext


@pytest.fixture
def convolutions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of a 3x3 convolution that Winograd's algorithm takes, and a cache of programs of its own."""
    monkeypatch.setenv("BATON_CACHE_DIR", str(tmp_path / "cache"))
    weight = numpy_helper.from_array(np.ones((64, 64, 3, 3), np.float32), "w")
    inputs = [helper.make_tensor_value_info("x", 1, [1, 64, 28, 28])]
    outputs = [helper.make_tensor_value_info("y", 1, None)]
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4), helper.make_node("Relu", ["c"], ["y"])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    return path


def _kernels(model: Any) -> str:
    return " ".join(kernel.name for kernel in model.kernels)


def test_settings_hold(convolutions: Path) -> None:
    """Guards a setting that changes kernels, also when the program is in the cache as made without it."""
    assert "winograd" in _kernels(baton.compile(convolutions))
    with PassContext(config={"baton.winograd": False}):
        assert "winograd" not in _kernels(baton.compile(convolutions))
    assert "winograd" in _kernels(baton.compile(convolutions))


def test_disabled_passes_do_not_run(convolutions: Path) -> None:
    """Guards `disabled_pass`: without FuseOps there are kernels of single operators."""
    assert "fused" in _kernels(baton.compile(convolutions))
    with PassContext(disabled_pass=["FuseOps", "BlockChannels"]):
        assert "fused" not in _kernels(baton.compile(convolutions))


class _Watching(PassInstrument):
    """Notes what happens to it."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def enter_pass_ctx(self) -> None:
        self.seen.append("enter")

    def exit_pass_ctx(self) -> None:
        self.seen.append("exit")

    def run_before_pass(self, module: Any, info: Any) -> None:
        self.seen.append(info.name)


def test_instruments_see_the_passes_of_every_compilation(convolutions: Path) -> None:
    """Guards that a program is not taken from the cache then, and that the context is entered and left once."""
    watching = _Watching()
    for _ in range(2):
        baton.compile(convolutions)
        watching.seen.clear()
        with PassContext(instruments=[watching]):
            baton.compile(convolutions)
        assert watching.seen[0] == "enter"
        assert watching.seen[-1] == "exit"
        assert watching.seen.count("enter") == watching.seen.count("exit") == 1
        assert "FuseOps" in watching.seen
