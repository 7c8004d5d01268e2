"""Scales that calibration made of tensors with infinities: onnxruntime computes garbage with them, silently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from baton import relax
from tests.frontends.onnx.against_onnxruntime import onnxruntime_outputs
from tests.frontends.onnx.models import model_of, weight


def _softmax_of_masked(scale: Any) -> Any:
    """Scores with a mask of minus infinity, quantised before their softmax."""
    nodes = [
        helper.make_node("Add", ["x", "mask"], ["masked"]),
        helper.make_node("QuantizeLinear", ["masked", "scale", "zero"], ["bytes"], name="after_mask"),
        helper.make_node("DequantizeLinear", ["bytes", "scale", "zero"], ["real"]),
        helper.make_node("Softmax", ["real"], ["y"]),
    ]
    mask = np.triu(np.full((4, 4), -np.inf, np.float32), 1)
    weights = [weight("mask", mask), weight("scale", scale), weight("zero", np.int8(0))]
    return model_of(nodes, [("x", (4, 4))], weights=weights)


@pytest.mark.parametrize("scale", [np.float32(np.inf), np.float32(np.nan)])
def test_a_scale_that_is_not_finite_is_told_once(scale: Any) -> None:
    model = _softmax_of_masked(scale)
    with pytest.warns(UserWarning, match="'after_mask': its scale is .*, so that all that it scales is lost") as told:
        relax.frontend.onnx.from_onnx(model)
    assert len(told) == 1
    assert np.isnan(onnxruntime_outputs(model, {"x": np.ones((4, 4), np.float32)})[0]).all()


def test_weights_with_such_scales_are_told() -> None:
    scales = np.array([1, np.inf], np.float32)
    weights = [weight("w", np.ones((2, 2), np.int8)), weight("scale", scales), weight("zero", np.zeros(2, np.int8))]
    node = helper.make_node("DequantizeLinear", ["w", "scale", "zero"], ["y"], axis=0)
    with pytest.warns(UserWarning, match="not all of its scales are finite"):
        relax.frontend.onnx.from_onnx(model_of([node], [], weights=weights))


@pytest.mark.filterwarnings("error")
def test_finite_scales_are_not() -> None:
    relax.frontend.onnx.from_onnx(_softmax_of_masked(np.float32(0.5)))
