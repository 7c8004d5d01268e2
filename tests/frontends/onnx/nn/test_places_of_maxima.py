"""MaxPool's second result: where the first maximum of each window lies, against a search through every window."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from onnx import helper

import baton
from baton._src.values.tensor import AnyArray
from tests.frontends.onnx.against_onnxruntime import in_both_languages, model_of_node
from tests.frontends.onnx.models import model_of

RANDOM = np.random.default_rng(5)


def searched(x: AnyArray, out: tuple[int, ...], attributes: Any) -> AnyArray:
    """Flat places of the first maxima, or NaN, of windows that are cut to the image."""
    rank = x.ndim - 2
    kernel, order = attributes["kernel_shape"], "F" if attributes.get("storage_order") else "C"
    strides, pads = attributes.get("strides", [1] * rank), attributes.get("pads", [0] * 2 * rank)
    dilations = attributes.get("dilations", [1] * rank)
    found = np.zeros(out, np.int64)
    for at in np.ndindex(out):
        image, spatial = x[at[:2]], x.shape[2:]
        starts = [o * s - p for o, s, p in zip(at[2:], strides, pads)]
        axes = [[b + i * d for i in range(n)] for b, n, d in zip(starts, kernel, dilations)]
        taps = [t for t in itertools.product(*axes) if all(0 <= p < size for p, size in zip(t, spatial))]
        first = taps[int(np.argmax([image[t] for t in taps]))]
        place = np.ravel_multi_index(first, spatial, order=order)  # type: ignore[call-overload]
        found[at] = (at[0] * x.shape[1] + at[1]) * image.size + place
    return found


@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        {"kernel_shape": [3, 2], "pads": [1, 0, 2, 1], "storage_order": 1},
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1},
        {"kernel_shape": [2, 3], "dilations": [2, 2], "pads": [1, 2, 1, 2]},
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint8"])
def test_first_of_equals(attributes: Any, dtype: str) -> None:
    """Guards ties, borders, both orders, and images of the least number: borders hold no maximum."""
    x = RANDOM.integers(0, 4, (2, 3, 8, 7)).astype(dtype)
    x[1, 2] = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    model = model_of_node("MaxPool", (x,), attributes, (0,), ("y", "places"), domain="", opset=21)
    for _, (pooled, places) in in_both_languages(model, {"i0": x}):
        wanted = searched(x, pooled.shape, attributes)
        np.testing.assert_array_equal(places, wanted)
        if not attributes.get("storage_order"):
            np.testing.assert_array_equal(x.reshape(-1)[wanted], pooled)


def test_first_nan() -> None:
    """Guards windows with one NaN and with several: the first wins, whatever lies before and behind."""
    x = RANDOM.standard_normal((1, 2, 9, 9)).astype("float32")
    x[0, 0, 4, 4] = x[0, 0, 4, 5] = x[0, 1, 0, 0] = np.nan
    attributes = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    model = model_of_node("MaxPool", (x,), attributes, (0,), ("y", "places"), domain="", opset=21)
    compiled = baton.compile(model, num_threads=1).run({"i0": x})
    for pooled, places in (compiled, *(found for _, found in in_both_languages(model, {"i0": x}))):
        np.testing.assert_array_equal(places, searched(x, pooled.shape, attributes))


@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("order", [0, 1])
def test_other_ranks(rank: int, order: int) -> None:
    """Guards lines and volumes."""
    x = RANDOM.integers(-9, 9, (2, 2, *(4, 5, 6)[:rank])).astype("float32")
    attributes = {"kernel_shape": [2] * rank, "pads": [1] * 2 * rank, "storage_order": order}
    model = model_of_node("MaxPool", (x,), attributes, (0,), ("y", "places"), domain="", opset=21)
    for _, (pooled, places) in in_both_languages(model, {"i0": x}):
        np.testing.assert_array_equal(places, searched(x, pooled.shape, attributes))


@pytest.mark.parametrize("order", [0, 1])
def test_images_of_any_size(order: int) -> None:
    """Guards places computed from open sizes, and what takes maxima back to them."""
    attributes = {"kernel_shape": [2, 3], "strides": [2, 3], "storage_order": order}
    pool = helper.make_node("MaxPool", ["x"], ["y", "places"], **attributes)
    back = helper.make_node("MaxUnpool", ["y", "places"], ["z"], kernel_shape=[2, 3], strides=[2, 3])
    model = baton.compile(model_of([pool, back], [("x", ["n", "c", "h", "w"])], ("y", "places", "z")), num_threads=1)
    for shape in ((2, 3, 8, 6), (1, 1, 4, 9)):
        x = RANDOM.standard_normal(shape).astype("float32")
        pooled, places, again = (np.asarray(o) for o in model.run({"x": x}))
        np.testing.assert_array_equal(places, searched(x, pooled.shape, attributes))
        np.testing.assert_array_equal(again.reshape(-1)[places], pooled)


def test_open_sizes() -> None:
    """Guards sizes that only a run knows: few windows and many, borders, and their order of columns."""
    attributes = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
    node = helper.make_node("MaxPool", ["x"], ["y", "places"], **attributes)
    compiled = baton.compile(model_of([node], [("x", ["n", "c", "h", "w"])], ["y", "places"]), num_threads=1)
    for shape in ((1, 1, 1, 1), (2, 3, 8, 7), (1, 2, 33, 70), (0, 2, 4, 4)):
        x = RANDOM.integers(0, 4, shape).astype("float32")
        pooled, places = compiled.run({"x": x})
        np.testing.assert_array_equal(places, searched(x, pooled.shape, attributes))
