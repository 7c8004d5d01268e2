"""Normalisations across channels whose number a run tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx.helper import make_node

import baton
from tests.frontends.onnx.models import model_of, weight

OF_CHANNELS = np.linspace(0.5, 2, 4).astype("float32")
NODES = {
    "lrn": make_node("LRN", ["x"], ["y"], size=3, alpha=0.5),
    "lrn of all": make_node("LRN", ["x"], ["y"], size=9, alpha=0.5),
    "groups": make_node("GroupNormalization", ["x", "w", "w"], ["y"], num_groups=2),
}


@pytest.mark.parametrize("name", NODES)
def test_as_onnxruntime(name: str) -> None:
    model = model_of([NODES[name]], [("x", ["n", "c", "h", "w"])], weights=[weight("w", OF_CHANNELS)])
    session, program = onnxruntime.InferenceSession(model.SerializeToString()), baton.compile(model)
    for channels in (4,) if name == "groups" else (1, 4):
        x: Any = np.random.default_rng(0).standard_normal((2, channels, 3, 2)).astype("float32")
        wanted = session.run(None, {"x": x})[0]
        np.testing.assert_allclose(program.run({"x": x})[0], wanted, rtol=1e-4, atol=1e-5)


def test_channels_that_are_not_those_of_the_scale() -> None:
    model = model_of([NODES["groups"]], [("x", ["n", "c", "h", "w"])], weights=[weight("w", OF_CHANNELS)])
    with pytest.raises(baton.DiagnosticError, match="6"):
        baton.compile(model).run({"x": np.zeros((1, 6, 2, 2), "float32")})


def test_windows_beyond_all_channels() -> None:
    """A window of ten million channels has four of them in it."""
    node = make_node("LRN", ["x"], ["y"], size=10**7 + 1, alpha=1e7)
    x = np.arange(4, dtype="float32").reshape(1, 4, 1, 1)
    wanted = x / (1 + 14 * 1e7 / (10**7 + 1)) ** 0.75
    np.testing.assert_allclose(
        baton.compile(model_of([node], [("x", [1, 4, 1, 1])])).run({"x": x})[0], wanted, rtol=1e-5
    )
