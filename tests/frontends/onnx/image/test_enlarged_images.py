"""Images of open size enlarged by powers of two: each element is repeated, whatever the size, as onnxruntime has it."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import baton
from baton.relax.frontend.onnx import from_onnx
from tests.frontends.onnx.against_onnxruntime import assert_as_onnxruntime, onnxruntime_outputs

MODES = ("half_pixel", "asymmetric", "pytorch_half_pixel", "align_corners")
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def enlarged(times: int, mode: str, nearest: str, method: str = "nearest") -> onnx.ModelProto:
    """A Resize of the last two axes, whose sizes only a run tells."""
    scales = numpy_helper.from_array(np.array([1, 1, times, times], "float32"), "scales")
    node = helper.make_node(
        "Resize", ["x", "", "scales"], ["y"], mode=method, coordinate_transformation_mode=mode, nearest_mode=nearest
    )
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, "h", "w"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, "h2", "w2"])
    graph = helper.make_graph([node], "g", [x], [y], [scales])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("nearest", ROUNDINGS)
@pytest.mark.parametrize("times", [2, 3, 4])
def test_nearest(times: int, mode: str, nearest: str) -> None:
    """Guards which element is nearest, for every rounding, and the sizes at which that could change."""
    model = enlarged(times, mode, nearest)
    compiled = baton.compile(model, num_threads=1)
    for size in ((5, 7), (1, 2), (18, 33)):
        x = np.random.default_rng(1).standard_normal((1, 2, *size)).astype("float32")
        assert_as_onnxruntime(compiled.run({"x": x}), onnxruntime_outputs(model, {"x": x}))


@pytest.mark.parametrize("method", ["linear", "cubic"])
@pytest.mark.parametrize("mode", MODES)
def test_weighed(method: str, mode: str) -> None:
    """Guards the first taps, which are at even steps for all sizes, and their weights."""
    model = enlarged(2, mode, "floor", method)
    compiled = baton.compile(model, num_threads=1)
    for size in ((5, 7), (1, 2), (18, 33)):
        x = np.random.default_rng(1).standard_normal((1, 2, *size)).astype("float32")
        assert_as_onnxruntime(compiled.run({"x": x}), onnxruntime_outputs(model, {"x": x}))


@pytest.mark.parametrize(("mode", "nearest"), [("half_pixel", "round_prefer_floor"), ("asymmetric", "floor")])
def test_elements_are_repeated(mode: str, nearest: str) -> None:
    """Guards that no places are computed, by which elements would be taken one by one (64x56x56 by 2: 285 us, 45)."""
    text = str(from_onnx(enlarged(2, mode, nearest)))
    assert "take" not in text
    assert ("repeat" in text) == (mode == "half_pixel")
