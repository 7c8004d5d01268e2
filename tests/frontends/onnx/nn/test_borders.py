"""Borders: those that repeat elements need some to repeat; those of convolutions and pools may depend on open sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import baton
from tests.frontends.onnx.against_onnxruntime import assert_as_onnxruntime, onnxruntime_outputs
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
        np.testing.assert_array_equal(model.run({"x": x})[0], np.pad(x, ((0, 0), (1, 2)), mode))
    with pytest.raises(baton.DiagnosticError, match="operand_of_around: dimension 1 is 0"):
        model.run({"x": np.zeros((2, 0), "float32")})


def test_known_at_once() -> None:
    with pytest.raises(baton.DiagnosticError, match="axis 1 has no elements"):
        padded("edge", (2, 0))
    model = padded("constant", ("n", "w"))
    np.testing.assert_array_equal(model.run({"x": np.zeros((2, 0), "float32")})[0], np.zeros((2, 3)))


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
def test_the_same_size_by_stride(mode: str) -> None:
    """As TensorFlow's models become whose images are of any size: what lies in the border counts for nothing."""
    window: dict[str, Any] = {"auto_pad": mode, "strides": [2, 3], "kernel_shape": [3, 4]}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["convolved"], **window),
        helper.make_node("MaxPool", ["x"], ["largest"], **window),
        helper.make_node("AveragePool", ["x"], ["mean"], **window),
        helper.make_node("AveragePool", ["x"], ["with_border"], count_include_pad=1, **window),
    ]
    weights = [weight("w", np.random.default_rng(0).random((4, 2, 3, 4), np.float32))]
    outputs = ("convolved", "largest", "mean", "with_border")
    model = model_of(nodes, [("x", ["n", 2, "h", "w_"])], outputs, weights, opset=18)
    program = baton.compile(model, num_threads=1)
    for shape in ((1, 2, 1, 1), (2, 2, 6, 7), (1, 2, 7, 6), (1, 2, 9, 8)):
        feed = {"x": -np.random.default_rng(1).random(shape, np.float32)}
        for found, wanted in zip(program.run(feed), onnxruntime_outputs(model, feed), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_a_border_up_to_a_multiple_of_the_size() -> None:
    """Guards `Mod` of sizes as numbers known by name: the result's sizes are expressions of the input's."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Mod", ["s", "four"], ["over"]),
        helper.make_node("Sub", ["four", "over"], ["short"]),
        helper.make_node("Mod", ["short", "four"], ["after"]),
        helper.make_node("Concat", ["zeros", "after"], ["w"], axis=0),
        helper.make_node("Pad", ["x", "w"], ["y"]),
    ]
    weights = [weight("four", np.array([4, 4])), weight("zeros", np.array([0, 0]))]
    program = baton.compile(model_of(nodes, [("x", ["n", "m"])], weights=weights), num_threads=1)
    for rows, columns in ((4, 1), (5, 6), (3, 8)):
        x = np.ones((rows, columns), "float32")
        padded_x = np.pad(x, ((0, -rows % 4), (0, -columns % 4)))
        np.testing.assert_array_equal(program.run({"x": x})[0], padded_x)


@pytest.mark.parametrize("op", ["LpPool", "AveragePool", "MaxPool"])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("more", [{"pads": [1, 0, 1, 1]}, {"pads": [0] * 4, "dilations": [2, 2]}])
def test_windows_that_hang_over(op: str, known: bool, more: Any) -> None:
    """With ceil_mode: zeros beyond the border count in a norm, and no window starts in the border at the end."""
    node = helper.make_node(op, ["x"], ["y"], kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1, **more)
    for shape in ((1, 2, 7, 8), (2, 2, 5, 6)):
        model = model_of([node], [("x", list(shape) if known else ["n", 2, "h", "w"])], opset=19)
        x = np.random.default_rng(0).standard_normal(shape).astype("float32")
        assert_as_onnxruntime(baton.compile(model).run({"x": x}), onnxruntime_outputs(model, {"x": x}))
