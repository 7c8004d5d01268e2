"""Operators as opsets before theirs define them, one node each, against onnxruntime: with sizes known and with open
ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import baton
from tests.frontends.onnx.against_onnxruntime import onnxruntime_outputs
from tests.frontends.onnx.models import model_of, weight

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((2, 3, 4, 5)).astype("float32")
HALF = np.array([1, 1, 0.5, 0.6], "float32")
SCALES = np.array([1, 1, 1.5, 2.3], "float32")
ROI = np.zeros(0, "float32")

# operator, opset, its operands behind X, attributes
CASES: list[tuple[str, int, tuple[Any, ...], dict[str, Any]]] = [
    # before opset 13 the axes from `axis` on count as one
    *(
        (op, opset, (), attributes)
        for op in ("Softmax", "LogSoftmax", "Hardmax")
        for opset, attributes in ((7, {}), (11, {"axis": -2}), (12, {"axis": 0}), (13, {}), (13, {"axis": 1}))
    ),
    # opset 10 rounds up where an axis shrinks; a scale that is no ratio of the sizes counts, not the ratio
    ("Resize", 10, (HALF,), {"mode": "nearest"}),
    ("Resize", 10, (HALF,), {"mode": "linear"}),
    ("Resize", 13, (ROI, SCALES), {"mode": "nearest", "nearest_mode": "round_prefer_ceil"}),
    ("Resize", 13, (ROI, SCALES), {"mode": "cubic", "exclude_outside": 1}),
    ("Resize", 19, (ROI, SCALES), {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"}),
    # the corners that are aligned are those of the tensor there is, though 4 * 1.15 are 4.6
    *(
        ("Resize", 19, (ROI, np.array([1, 1, 1.15, 0.6], "float32")), {"mode": m, "coordinate_transformation_mode": c})
        for m, c in (("linear", "align_corners"), ("cubic", "align_corners"), ("linear", "half_pixel"))
    ),
    ("ArgMax", 12, (), {"select_last_index": 1, "axis": 1, "keepdims": 0}),
]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("op", "opset", "others", "attributes"), CASES)
def test_as_onnxruntime(op: str, opset: int, others: tuple[Any, ...], attributes: dict[str, Any], known: bool) -> None:
    names = [f"w{k}" for k in range(len(others))]
    node = helper.make_node(op, ["x", *names], ["y"], **attributes)
    shape = list(X.shape) if known else ["a", "b", "c", "d"]
    model = model_of([node], [("x", shape)], weights=[*map(weight, names, others)], opset=opset)
    (expected,) = onnxruntime_outputs(model, {"x": X})
    (found,) = baton.compile(model, num_threads=1).run({"x": X})
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_counts_that_are_floats() -> None:
    """Opset 1 has the lengths of a Split and the repeats of a Tile in the dtype of what is taken apart or repeated."""
    split = helper.make_node("Split", ["x", "lengths"], ["y", "z"], axis=1)
    tile = helper.make_node("Tile", ["z", "tiles", "axis"], ["w"])
    weights = [weight("lengths", np.array([1, 2], "f")), weight("tiles", np.float32(2)), weight("axis", np.float32(0))]
    model = model_of([split, tile], [("x", ["n", 3, 4, 5])], ["y", "w"], weights, opset=1)
    first, repeated = baton.compile(model, num_threads=1).run({"x": X})
    np.testing.assert_array_equal(first, X[:, :1])
    np.testing.assert_array_equal(repeated, np.tile(X[:, 1:], (2, 1, 1, 1)))


def test_a_square_of_open_size_gets_its_ones() -> None:
    """EyeLike of sizes that a run tells."""
    model = model_of([helper.make_node("EyeLike", ["x"], ["y"], k=-1, dtype=7)], [("x", ["n", "m"])])
    (found,) = baton.compile(model, num_threads=1).run({"x": X[0, 0]})
    np.testing.assert_array_equal(found, np.eye(4, 5, -1, dtype="int64"))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
@pytest.mark.parametrize("known", [True, False])
def test_integers_are_resized_in_real_numbers(known: bool, dtype: str) -> None:
    """They were cut to integers after each axis, and again after the last."""
    x = (np.arange(12).reshape(1, 1, 2, 6) * 7 % 11).astype(dtype)
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear")
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    sizes = list(x.shape) if known else [1, 1, "h", "w"]
    model = model_of([node], [("x", sizes)], weights=[weight("scales", np.array([1, 1, 2, 1.5], "f"))], dtype=kind)
    (expected,) = onnxruntime_outputs(model, {"x": x})
    (found,) = baton.compile(model, num_threads=1).run({"x": x})
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, expected)


def test_a_cubic_of_integers_stays_within_them() -> None:
    """A cubic goes beyond black and white; what it makes of them there would be white and black."""
    x = np.array([[[[0, 0, 255, 255, 0, 0]]]], np.uint8)
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="cubic")
    model = model_of([node], [("x", list(x.shape))], weights=[weight("scales", np.array([1, 1, 1, 2], "f"))], dtype=2)
    (found,) = baton.compile(model, num_threads=1).run({"x": x})
    assert found.dtype == np.uint8
    assert found[0, 0, 0].tolist() == found[0, 0, 0, ::-1].tolist()
    assert found[0, 0, 0, 2] == 0
    assert found[0, 0, 0, 5] == 255


@pytest.mark.parametrize("dtype", ["uint8", "int64"])
def test_integers_are_shrunk_by_real_numbers(dtype: str) -> None:
    """The bias and the threshold were cut to integers first."""
    node = helper.make_node("Shrink", ["x"], ["y"], bias=0.3, lambd=1.5)
    x = np.arange(5).astype(dtype)
    model = model_of([node], [("x", [5])], dtype=helper.np_dtype_to_tensor_dtype(x.dtype))
    (expected,) = onnxruntime_outputs(model, {"x": x})
    (found,) = baton.compile(model, num_threads=1).run({"x": x})
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax", "Hardmax"])
def test_axes_that_count_as_one_may_be_beside_an_empty_one(name: str) -> None:
    model = model_of([helper.make_node(name, ["x"], ["y"], axis=1)], [("x", [0, 4, 3])], opset=12)
    assert np.asarray(baton.compile(model).run({"x": np.zeros((0, 4, 3), "float32")})[0]).shape == (0, 4, 3)


@pytest.mark.parametrize(("op", "opset", "others", "attributes", "expected"), [
    ("Tile", 1, (np.array(2), np.array(1)), {}, np.tile(X, (1, 2, 1, 1))),
    ("Upsample", 1, (), {"mode": "nearest", "height_scale": 2.0, "width_scale": 3.0}, X.repeat(2, 2).repeat(3, 3)),
    ("Selu", 1, (), {}, np.float32(1.0507) * np.where(X > 0, X, np.float32(1.6732) * (np.exp(X) - 1))),
    ("Add", 6, (X[0, :, :, 0],), {"broadcast": 1, "axis": 1}, X + X[:1, :, :, :1]),
    ("PRelu", 6, (X[0, :, 0, 0],), {}, np.where(X < 0, X * X[:1, :, :1, :1], X)),
])  # fmt: skip
def test_as_the_first_opsets_define_it(op: str, opset: int, others: Any, attributes: Any, expected: Any) -> None:
    """By hand: onnxruntime has no kernels for them."""
    names = [f"w{k}" for k in range(len(others))]
    node = helper.make_node(op, ["x", *names], ["y"], **attributes)
    model = model_of([node], [("x", list(X.shape))], weights=[*map(weight, names, others)], opset=opset)
    (found,) = baton.compile(model, num_threads=1).run({"x": X})
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("start", "limit", "delta"), [(0, 4100, 1.5), (4100, 0, -2)])
def test_a_range_of_narrow_floats_is_computed_in_float32(start: float, limit: float, delta: float) -> None:
    """A float16 does not hold every number of a step beyond 2048."""
    feed = {n: np.array(v, "float16") for n, v in (("start", start), ("limit", limit), ("delta", delta))}
    node = helper.make_node("Range", list(feed), ["y"])
    declared = [(name, ((), TensorProto.FLOAT16)) for name in feed]
    (found,) = baton.compile(model_of([node], declared, opset=27), num_threads=1).run(feed)
    np.testing.assert_array_equal(found, np.arange(start, limit, delta, "float32").astype("float16"))
