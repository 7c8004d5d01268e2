"""Regions of images, small, empty, and reaching beyond, pooled as onnxruntime pools them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto
from onnx.helper import make_node

import baton
from tests.frontends.onnx.models import model_of
from tests.grids import every_value

IMAGES = np.random.default_rng(0).standard_normal((2, 3, 8, 9)).astype("float32")
BOXES = np.array([[0, 0, 4, 4], [1.3, 2, 9.7, 7], [-3, -2, 30, 5], [3, 3, 3.2, 3.1], [5, 5, 4, 4]], "float32")
NUMBERS = np.array([0, 1, 1, 0, 1])


def assert_as_onnxruntime(node: Any, inputs: Any, **feed: Any) -> None:
    model = model_of([node], [("x", ["n", "c", "h", "w"]), *inputs], opset=16)
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": IMAGES, **feed})[0]
    np.testing.assert_allclose(baton.compile(model).run({"x": IMAGES, **feed})[0], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("samples", "corners"), every_value([("avg", 0), ("avg", 2), ("max", 2)], ["half_pixel", "output_half_pixel"])
)
def test_roi_align(samples: tuple[str, int], corners: str) -> None:
    """Without a sampling_ratio a bin has as many samples as it has pixels, which a run tells."""
    mode, ratio = samples
    node = make_node(
        "RoiAlign", ["x", "boxes", "numbers"], ["y"], mode=mode, sampling_ratio=ratio, output_height=3,
        output_width=2, spatial_scale=0.5, coordinate_transformation_mode=corners,
    )  # fmt: skip
    inputs = [("boxes", ["k", 4]), ("numbers", (["k"], TensorProto.INT64))]
    assert_as_onnxruntime(node, inputs, boxes=BOXES, numbers=NUMBERS)


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_only_the_regions_of_a_pixel_that_is_no_number_are_none(mode: str) -> None:
    """Maxima were products with all pixels of an image, so that one NaN made all of its regions NaN."""
    node = make_node("RoiAlign", ["x", "boxes", "of"], ["y"], mode=mode, sampling_ratio=2, output_height=2)
    inputs = [("x", ["n", "c", "h", "w"]), ("boxes", ["k", 4]), ("of", (["k"], TensorProto.INT64))]
    model, images = baton.compile(model_of([node], inputs, opset=16)), IMAGES.copy()
    images[1, :, 0, 7] = np.nan
    feed = {"boxes": np.array([[0, 0, 4, 4], [0, 0, 4, 4], [5, 0, 8, 3]], "float32"), "of": np.array([0, 1, 1])}
    wanted, found = (model.run({"x": x, **feed})[0] for x in (IMAGES, images))
    np.testing.assert_array_equal(found[:2], wanted[:2])
    assert np.isnan(found[2]).any()


def test_max_roi_pool() -> None:
    node = make_node("MaxRoiPool", ["x", "boxes"], ["y"], pooled_shape=[3, 2], spatial_scale=0.5)
    boxes = np.concatenate([NUMBERS[:4, None], 2 * BOXES[:4]], axis=1).astype("float32")
    assert_as_onnxruntime(node, [("boxes", ["k", 5])], boxes=boxes)


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_a_region_of_an_image_that_is_not_there(mode: str) -> None:
    node = make_node("RoiAlign", ["x", "boxes", "of"], ["y"], mode=mode, sampling_ratio=2, name="/pool")
    inputs = [("x", ["n", "c", "h", "w"]), ("boxes", ["k", 4]), ("of", (["k"], TensorProto.INT64))]
    model = baton.compile(model_of([node], inputs, opset=16))
    for number in (2, -1):
        with pytest.raises(baton.DiagnosticError, match=f"'/pool'.*index {number} is out of range"):
            model.run({"x": IMAGES, "boxes": BOXES[:1], "of": np.array([number])})
