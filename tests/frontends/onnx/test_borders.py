"""Pad: borders that repeat elements need some to repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import baton
from tests.frontends.onnx.models import model_of, weight


def padded(mode: str, shape: Any) -> Any:
    nodes = [
        helper.make_node("Pad", ["x", "w"], ["z"], name="around", mode=mode),
        helper.make_node("Relu", ["z"], ["y"]),
    ]
    weights = [weight("w", np.array([0, 1, 0, 2], "int64"))]
    return baton.compile(model_of(nodes, [("x", list(shape))], ("y",), weights), num_threads=1)


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
def test_an_open_axis_without_elements(mode: str) -> None:
    """Guards against reading an element that does not exist: NumPy refuses it, too. Other axes may be empty."""
    model = padded(mode, ("n", "w"))
    for shape in ((2, 1), (2, 3), (0, 3)):
        x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
        np.testing.assert_array_equal(model.run({"x": x})[0], np.pad(x, ((0, 0), (1, 2)), mode))  # type: ignore[call-overload]
    with pytest.raises(baton.DiagnosticError, match="operand_of_around: dimension 1 is 0"):
        model.run({"x": np.zeros((2, 0), "float32")})


def test_known_at_once() -> None:
    with pytest.raises(baton.DiagnosticError, match="axis 1 has no elements"):
        padded("edge", (2, 0))
    model = padded("constant", ("n", "w"))
    np.testing.assert_array_equal(model.run({"x": np.zeros((2, 0), "float32")})[0], np.zeros((2, 3)))
