"""Resizes of long lines, where few elements count for each point: as onnxruntime, by either way of summing them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton._src.frontends.onnx.image import resize_axis
from baton.relax.frontend.onnx import from_onnx
from tests.frontends.onnx.against_onnxruntime import (
    assert_as_onnxruntime,
    in_both_languages,
    model_of_node,
    onnxruntime_outputs,
)

RANDOM = np.random.default_rng(3)
LINES = RANDOM.standard_normal((1, 2, 260, 5)).astype("float32")
STYLES: list[Any] = [
    {"mode": "linear"},
    {"mode": "linear", "coordinate_transformation_mode": "asymmetric"},
    {"mode": "cubic", "cubic_coeff_a": -0.5},
    {"mode": "cubic", "exclude_outside": 1},
    {"mode": "linear", "antialias": 1},
    {"mode": "cubic", "antialias": 1},
]


def resized(x: Any, scale: float, attributes: Any) -> Any:
    """The model of one Resize of the third axis."""
    operands = (x, np.zeros(0, "float32"), np.array([1, 1, scale, 1], "float32"))
    return model_of_node("Resize", operands, attributes, (0,), ("y",), domain="", opset=19)


@pytest.mark.parametrize("attributes", STYLES)
@pytest.mark.parametrize("scale", [0.35, 0.353, 0.713, 1.37])
def test_as_onnxruntime(attributes: Any, scale: float) -> None:
    """Guards scales that are not the ratio of the sizes, and one that is it (91 / 260) but for the last bit."""
    model = resized(LINES, scale, attributes)
    expected = onnxruntime_outputs(model, {"i0": LINES})
    for _, found in in_both_languages(model, {"i0": LINES}):
        assert_as_onnxruntime(found, expected)


@pytest.mark.parametrize("attributes", STYLES)
def test_sums_are_products_with_the_matrix(attributes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards that both ways give the same, in float64."""
    x = LINES.astype("float64")
    model = resized(x, 0.713, attributes)
    (by_band,) = baton.compile(model, num_threads=1).run({"i0": x})
    monkeypatch.setattr(resize_axis, "LONG", x.size)
    (by_matrix,) = baton.compile(model, num_threads=1).run({"i0": x})
    np.testing.assert_allclose(by_band, by_matrix, rtol=1e-13, atol=1e-14)


def test_halves_are_rounded_once() -> None:
    """Guards sums of 16-bit floats: they are those of float32, rounded at the end."""
    halves = LINES.astype("float16")
    (found,) = baton.compile(resized(halves, 0.713, STYLES[2]), num_threads=1).run({"i0": halves})
    wide = halves.astype("float32")
    (exact,) = baton.compile(resized(wide, 0.713, STYLES[2]), num_threads=1).run({"i0": wide})
    np.testing.assert_array_equal(found, exact.astype("float16"))


def test_what_does_not_count_is_not_read() -> None:
    """Guards infinities: they reach their neighbours, not the whole line (0 * inf is NaN)."""
    x = LINES.copy()
    x[0, 0, 100] = np.inf
    (found,) = baton.compile(resized(x, 0.353, {"mode": "linear"}), num_threads=1).run({"i0": x})
    assert np.isfinite(found).mean() > 0.98


def test_ratios_that_float32_rounds() -> None:
    """Guards that 0.35 is taken for 91 / 260: the operator of whole images moves lines, sums pick their elements."""
    text = str(from_onnx(resized(LINES, 0.35, {"mode": "linear"})))
    assert "image.resize2d" in text
    assert "image.resize2d" not in str(from_onnx(resized(LINES, 0.353, {"mode": "linear"})))
