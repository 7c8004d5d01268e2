"""Sizes that only a run tells: widths, lengths, counts and corners that are computed, or inputs of the model.

Each model is compiled once and run for several values, against NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import baton
from baton._src.support.diagnostics import DiagnosticError
from tests.frontends.onnx.against_onnxruntime import assert_as_onnxruntime, onnxruntime_outputs
from tests.frontends.onnx.models import model_of, weight

INT = TensorProto.INT64
DATA = np.random.default_rng(0).standard_normal((5, 4)).astype("float32")


def _compiled(nodes: Any, others: Any, shape: Any = ("n", 4), outputs: Any = ("y",), weights: Any = ()) -> Any:
    inputs = [("x", list(shape)), *((name, (list(dims), INT)) for name, dims in others)]
    return baton.compile(model_of(nodes, inputs, outputs, weights))


@pytest.mark.parametrize(("start", "stop"), [(1, 3), (0, 99), (-3, -1), (-99, 2), (3, 1)])
def test_corners_of_a_slice(start: int, stop: int) -> None:
    model = _compiled([helper.make_node("Slice", ["x", "a", "b"], ["y"])], [("a", [1]), ("b", [1])])
    found = model.run({"x": DATA, "a": np.array([start]), "b": np.array([stop])})[0]
    np.testing.assert_array_equal(found, DATA[start:stop])


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_widths_of_a_border(mode: str) -> None:
    """A negative width takes elements away, before others are repeated at the other end."""
    model = _compiled([helper.make_node("Pad", ["x", "w"], ["y"], mode=mode)], [("w", [4])])
    for width in ((0, 0, 0, 0), (1, 2, 3, 0), (2, 0, 2, 3)):
        around = ((width[0], width[2]), (width[1], width[3]))
        np.testing.assert_array_equal(model.run({"x": DATA, "w": np.array(width)})[0], np.pad(DATA, around, mode))
    cut = model.run({"x": DATA, "w": np.array([-1, 0, 0, -2])})[0]
    np.testing.assert_array_equal(cut, DATA[1:, :2])
    both = model.run({"x": DATA, "w": np.array([-2, 1, 2, -1])})[0]
    np.testing.assert_array_equal(both, np.pad(DATA[2:, :3], ((0, 2), (1, 0)), mode))
    with pytest.raises(DiagnosticError):
        model.run({"x": DATA, "w": np.array([-4, 0, -2, 0])})


def test_a_border_up_to_whole_blocks() -> None:
    """As vision models pad to multiples of their window: the width is an expression of the input's size."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], start=0, end=1),
        helper.make_node("Add", ["s", "three"], ["t"]),
        helper.make_node("Div", ["t", "four"], ["u"]),
        helper.make_node("Mul", ["u", "four"], ["v"]),
        helper.make_node("Sub", ["v", "s"], ["r"]),
        helper.make_node("Concat", ["zeros", "r", "zero"], ["w"], axis=0),
        helper.make_node("Pad", ["x", "w"], ["y"]),
    ]
    numbers = {"three": [3], "four": [4], "zeros": [0, 0], "zero": [0]}
    model = _compiled(nodes, [], weights=[weight(k, np.array(v, "int64")) for k, v in numbers.items()])
    for rows in (1, 4, 5):
        padded = np.pad(DATA[:rows], ((0, -rows % 4), (0, 0)))
        np.testing.assert_array_equal(model.run({"x": DATA[:rows]})[0], padded)


def test_repeats_and_diagonals() -> None:
    nodes = [helper.make_node("Tile", ["x", "r"], ["y"]), helper.make_node("Trilu", ["x", "k"], ["z"], upper=0)]
    model = _compiled(nodes, [("r", [2]), ("k", [])], outputs=("y", "z"))
    for k in (1, 3):
        y, z = (np.asarray(r) for r in model.run({"x": DATA, "r": np.array([k, 1]), "k": np.array(k - 2)}))
        np.testing.assert_array_equal(y, np.tile(DATA, (k, 1)))
        np.testing.assert_array_equal(z, np.tril(DATA, k - 2))


def test_the_best_k_of_all() -> None:
    model = _compiled([helper.make_node("TopK", ["x", "k"], ["y", "i"], axis=0)], [("k", [1])], outputs=("y", "i"))
    for k in (1, 3, 5):
        values, places = (np.asarray(r) for r in model.run({"x": DATA, "k": np.array([k])}))
        order = np.argsort(-DATA, axis=0, kind="stable")[:k]
        np.testing.assert_array_equal(places, order)
        np.testing.assert_array_equal(values, np.take_along_axis(DATA, order, 0))


def test_at_most_so_many_of_all() -> None:
    """As detectors write it: the best min(3, n), n being symbolic."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], start=0, end=1),
        helper.make_node("Min", ["s", "three"], ["k"]),
        helper.make_node("TopK", ["x", "k"], ["y", "i"], axis=0),
    ]
    model = _compiled(nodes, [], outputs=("y", "i"), weights=[weight("three", np.array([3]))])
    for rows in (2, 5):
        np.testing.assert_array_equal(model.run({"x": DATA[:rows]})[0], -np.sort(-DATA[:rows], axis=0)[:3])


def test_a_range_as_long_as_a_sum_of_the_data() -> None:
    """As speech models lay out their frames; what follows has that size too."""
    nodes = [
        helper.make_node("ReduceSum", ["d"], ["n"], keepdims=0),
        helper.make_node("Range", ["zero", "n", "one"], ["r"]),
        helper.make_node("Unsqueeze", ["r", "last"], ["column"]),
        helper.make_node("CumSum", ["d", "zero"], ["ends"]),
        helper.make_node("GreaterOrEqual", ["column", "ends"], ["past"]),
        helper.make_node("Cast", ["past"], ["number"], to=INT),
        helper.make_node("ReduceSum", ["number", "last"], ["which"], keepdims=0),
        helper.make_node("Gather", ["x", "which"], ["y"]),
    ]
    numbers = {"zero": np.array(0), "one": np.array(1), "last": np.array([1])}
    model = _compiled(nodes, [("d", ["n"])], weights=[weight(k, v) for k, v in numbers.items()])
    for lengths in ([1, 2, 3, 0, 1], [0, 0, 1, 0, 0], [2, 2, 2, 2, 2]):
        found = model.run({"x": DATA, "d": np.array(lengths)})[0]
        np.testing.assert_array_equal(found, np.repeat(DATA, lengths, axis=0))


@pytest.mark.parametrize("step", [-1, -3])
def test_a_range_that_counts_down(step: int) -> None:
    numbers = {"zero": np.array(-1), "step": np.array(step)}
    weights = [weight(k, v) for k, v in numbers.items()]
    model = _compiled([helper.make_node("Range", ["n", "zero", "step"], ["y"])], [("n", [])], weights=weights)
    for start in (-2, 0, 5, 9):
        found = model.run({"x": DATA, "n": np.array(start)})[0]
        np.testing.assert_array_equal(found, np.arange(start, -1, step))


def test_a_step_only_a_run_tells() -> None:
    """Its sign decides how to count."""
    weights = [weight(k, np.array(v)) for k, v in (("from", 0), ("to", 9))]
    node = helper.make_node("Range", ["from", "to", "step"], ["y"])
    program = _compiled([node], [("step", [])], weights=weights)
    for step in (2, 9, -1):
        (found,) = program.run({"x": np.zeros((1, 4), "float32"), "step": np.array(step)})
        np.testing.assert_array_equal(found, np.arange(0, 9, step))


def test_sizes_given_as_inputs() -> None:
    """Expand, ConstantOfShape and Split."""
    nodes = [
        helper.make_node("Expand", ["row", "to"], ["y"]),
        helper.make_node("ConstantOfShape", ["to"], ["z"]),
        helper.make_node("Split", ["x", "parts"], ["p", "q"]),
    ]
    weights = [weight("row", DATA[:1])]
    model = _compiled(nodes, [("to", [2]), ("parts", [2])], outputs=("y", "z", "p", "q"), weights=weights)
    for rows, first in ((3, 1), (1, 4)):
        found = model.run({"x": DATA, "to": np.array([rows, 4]), "parts": np.array([first, 5 - first])})
        y, z, p, q = (np.asarray(r) for r in found)
        np.testing.assert_array_equal(y, np.repeat(DATA[:1], rows, 0))
        np.testing.assert_array_equal(z, np.zeros((rows, 4), "float32"))
        np.testing.assert_array_equal(p, DATA[:first])
        np.testing.assert_array_equal(q, DATA[first:])


@pytest.mark.parametrize("shape", [("n", 4), (5, 4)])
def test_parts_make_up_the_whole(shape: tuple[Any, ...]) -> None:
    """Guards lengths that are inputs, or meet an open size: what they leave over, or lack, is an error."""
    model = _compiled([helper.make_node("Split", ["x", "parts"], ["p", "q"])], [("parts", [2])], shape, ("p", "q"))
    p, q = model.run({"x": DATA, "parts": np.array([2, 3])})
    np.testing.assert_array_equal(np.concatenate([p, q]), DATA)
    for wrong in ([2, 2], [4, 2]):
        with pytest.raises(baton.DiagnosticError, match="dimension 0"):
            model.run({"x": DATA, "parts": np.array(wrong)})


def test_numbers_of_parts_meet_the_whole() -> None:
    """Guards lengths that are written down: against an open size when it runs, against a number at once."""
    node = helper.make_node("Split", ["x", "parts"], ["p", "q"])
    weights = [weight("parts", np.array([2, 3]))]
    model = _compiled([node], [], outputs=("p", "q"), weights=weights)
    np.testing.assert_array_equal(model.run({"x": DATA})[1], DATA[2:])
    with pytest.raises(baton.DiagnosticError, match="dimension 0"):
        model.run({"x": DATA[:4]})
    with pytest.raises(baton.DiagnosticError, match="do not add up to 4"):
        _compiled([node], [], (4, 4), ("p", "q"), weights)


def test_maps_halved_and_doubled_are_joined() -> None:
    """As U-Nets do: that the sizes agree is checked when it runs, and said when they do not."""
    nodes = [
        helper.make_node("MaxPool", ["x"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("ConvTranspose", ["half", "k"], ["up"], strides=[2, 2]),
        helper.make_node("Concat", ["up", "x"], ["joined"], axis=1),
        helper.make_node("GlobalAveragePool", ["joined"], ["y"]),
    ]
    model = _compiled(nodes, [], (1, 1, "h", "w"), weights=[weight("k", np.ones((1, 1, 2, 2), "float32"))])
    x = np.random.default_rng(1).standard_normal((1, 1, 4, 6)).astype("float32")
    best = x.reshape(1, 1, 2, 2, 3, 2).max((3, 5)).mean()
    np.testing.assert_allclose(np.ravel(model.run({"x": x})[0]), [best, x.mean()], rtol=1e-5)
    with pytest.raises(baton.DiagnosticError, match="dimension 2"):
        model.run({"x": x[:, :, :3]})


def test_an_image_of_bytes_of_open_size_is_doubled() -> None:
    """As quantised networks do."""
    scales = weight("by", np.array([1, 1, 2, 2], "float32"))
    node = helper.make_node(
        "Resize", ["x", "", "by"], ["y"], coordinate_transformation_mode="asymmetric", nearest_mode="floor"
    )
    model = baton.compile(model_of([node], [("x", ((1, 1, "h", "w"), TensorProto.UINT8))], weights=[scales]))
    x = np.random.default_rng(2).integers(0, 256, (1, 1, 3, 5)).astype("uint8")
    found = np.asarray(model.run({"x": x})[0])
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, x.repeat(2, 2).repeat(2, 3))


def _pooled(first: int, second: int) -> Any:
    pools = [
        helper.make_node("MaxPool", ["x"], [out], kernel_shape=[k], strides=[k])
        for out, k in (("p", first), ("q", second))
    ]
    add = helper.make_node("Add", ["p", "q"], ["y"], name="/neck/Add")
    return _compiled([*pools, add], [], (1, 1, "n"))


def test_sizes_computed_from_the_same_ones_that_never_agree_are_1_in_some_run() -> None:
    """`n // 2` elements and `n // 5`: where the second is 1 it is repeated, as for any sizes."""
    model = _pooled(2, 5)
    for n in (5, 7, 9):
        x = np.arange(n, dtype="float32")
        pairs = x[: n // 2 * 2].reshape(-1, 2).max(1)
        np.testing.assert_array_equal(np.ravel(model.run({"x": x.reshape(1, 1, n)})[0]), pairs + 4)
    with pytest.raises(baton.DiagnosticError, match="6 against 2"):
        model.run({"x": np.zeros((1, 1, 12), "float32")})


def test_the_node_whose_sizes_do_not_agree_is_named() -> None:
    nodes = [
        helper.make_node("MaxPool", ["x"], ["p"], kernel_shape=[2], strides=[2]),
        helper.make_node("ConvTranspose", ["p", "k"], ["q"], strides=[2]),
        helper.make_node("Add", ["q", "x"], ["y"], name="/neck/Add"),
    ]
    model = _compiled(nodes, [], (1, 1, "n"), weights=[weight("k", np.ones((1, 1, 2), "float32"))])
    assert model.run({"x": np.ones((1, 1, 4), "float32")})[0].tolist() == [[[2, 2, 2, 2]]]
    with pytest.raises(baton.DiagnosticError, match="operand_of_neck_Add"):
        model.run({"x": np.ones((1, 1, 5), "float32")})


@pytest.mark.parametrize("axis", [-1, 0])
def test_as_many_classes_as_an_input_says(axis: int) -> None:
    node = helper.make_node("OneHot", ["x", "depth", "values"], ["y"], axis=axis)
    inputs = [("x", (["n"], TensorProto.INT64)), ("depth", ([], TensorProto.INT64))]
    model = model_of([node], inputs, weights=[weight("values", np.array([0.0, 2.0], "float32"))], opset=17)
    program = baton.compile(model, num_threads=1)
    for depth in (3, 5):
        feed = {"x": np.array([2, -1, 0, 1]), "depth": np.array(depth)}
        assert_as_onnxruntime([np.asarray(o) for o in program.run(feed)], onnxruntime_outputs(model, feed))


@pytest.mark.parametrize("step", [1, -2])
@pytest.mark.parametrize("fixed", ["", "start", "limit"])
def test_a_range_that_may_be_empty(step: int, fixed: str) -> None:
    """Its limit may lie on the wrong side of its start; either may be negative."""
    node = helper.make_node("Range", ["start", "limit", "delta"], ["y"])
    weights = {"delta": step, **({fixed: 2} if fixed else {})}
    inputs = [(n, ([], INT)) for n in ("start", "limit") if n != fixed]
    model = model_of([node], inputs, weights=[weight(n, np.array(v)) for n, v in weights.items()], opset=17)
    program = baton.compile(model, num_threads=1)
    for start, limit in ((2, 5), (5, -1), (-4, 3), (-1, -6), (3, 3)):
        feed = {n: np.array(v) for n, v in (("start", start), ("limit", limit)) if n != fixed}
        ends = {"start": start, "limit": limit, **weights}
        found = np.asarray(program.run(feed)[0])
        np.testing.assert_array_equal(found, np.arange(ends["start"], ends["limit"], step))


def test_a_range_of_floats() -> None:
    """Counted when it runs; up or down, as the step says."""
    node = helper.make_node("Range", ["start", "limit", "delta"], ["y"])
    model = model_of([node], [(n, []) for n in ("start", "limit", "delta")], opset=17)
    program = baton.compile(model, num_threads=1)
    for numbers in ((0.5, 3.1, 0.5), (2.0, -1.0, -0.75), (1.0, 0.0, 1.0)):
        feed = {n: np.array(v, "float32") for n, v in zip(("start", "limit", "delta"), numbers)}
        assert_as_onnxruntime([np.asarray(o) for o in program.run(feed)], onnxruntime_outputs(model, feed))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_scales_and_sizes_of_a_resize(mode: str) -> None:
    """As detectors scale an image to a given shorter side: by numbers that a run computes. onnxruntime says what is
    due, also where float32 decides how large the result is (10 * 0.7 is 7)."""
    node = helper.make_node("Resize", ["x", "", "by"], ["y"], mode=mode)
    proto = model_of([node], [("x", ["n", "m"]), ("by", [2])], opset=13)
    model = baton.compile(proto, num_threads=1)
    for shape, by in (((10, 4), (0.7, 2.3)), ((5, 4), (2, 0.5)), ((3, 3), (1, 1))):
        feed = {"x": np.resize(DATA, shape), "by": np.array(by, "float32")}
        (expected,) = onnxruntime_outputs(proto, feed)
        np.testing.assert_allclose(model.run(feed)[0], expected, rtol=1e-5, atol=1e-5)
    proto = model_of(
        [helper.make_node("Resize", ["x", "", "", "to"], ["y"], mode=mode)], [("x", ["n", "m"]), ("to", ([2], INT))]
    )
    feed = {"x": DATA, "to": np.array([2, 7])}
    expected = onnxruntime_outputs(proto, feed)[0]
    np.testing.assert_allclose(baton.compile(proto, num_threads=1).run(feed)[0], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_a_resize_without_aliasing(mode: str) -> None:
    """By a scale that only a run tells, kernels are as wide as it makes them: down, up, at both ends."""
    for exclude in (0, 1):
        attributes = {"mode": mode, "antialias": 1, "exclude_outside": exclude}
        node = helper.make_node("Resize", ["x", "", "", "to"], ["y"], **attributes)
        proto = model_of([node], [("x", ["n", "m"]), ("to", ([2], INT))], opset=19)
        model = baton.compile(proto, num_threads=1)
        for shape, to in (((5, 4), (2, 7)), ((1, 13), (1, 3)), ((3, 3), (3, 1))):
            feed = {"x": np.resize(DATA, shape), "to": np.array(to)}
            expected = onnxruntime_outputs(proto, feed)[0]
            np.testing.assert_allclose(model.run(feed)[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_a_resize_that_keeps_the_ratio(policy: str) -> None:
    """The scale of all axes is that of the one that allows least, or asks for most."""
    node = helper.make_node("Resize", ["x", "", "", "to"], ["y"], mode="linear", keep_aspect_ratio_policy=policy)
    proto = model_of([node], [("x", ["n", "m"]), ("to", ([2], INT))], opset=19)
    model = baton.compile(proto, num_threads=1)
    for shape, to in (((5, 4), (7, 3)), ((4, 5), (3, 9)), ((3, 3), (3, 3))):
        feed = {"x": np.resize(DATA, shape), "to": np.array(to)}
        expected = onnxruntime_outputs(proto, feed)[0]
        np.testing.assert_allclose(model.run(feed)[0], expected, rtol=1e-5, atol=1e-5)


def test_boxes_of_any_number() -> None:
    """NonMaxSuppression of as many images, classes and boxes as a run has, none among them; the limit is an input."""
    node = helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "iou"], ["y"])
    inputs = [("boxes", ["n", "k", 4]), ("scores", ["n", "c", "k"]), ("most", ([1], INT))]
    proto = model_of([node], inputs, weights=[weight("iou", np.array([0.4], "float32"))], opset=13)
    model = baton.compile(proto, num_threads=1)
    random = np.random.default_rng(1)
    for images, classes, boxes in ((1, 2, 12), (2, 1, 7), (1, 3, 0)):
        corners = np.sort(random.random((images, boxes, 2, 2)), axis=2).reshape(images, boxes, 4).astype("float32")
        scores = random.random((images, classes, boxes)).astype("float32")
        feed = {"boxes": corners, "scores": scores, "most": np.array([2])}
        np.testing.assert_array_equal(model.run(feed)[0], onnxruntime_outputs(proto, feed)[0])


def test_regions_of_images_of_any_size() -> None:
    """RoiAlign: the feature maps of a detector are as large as its image makes them."""
    node = helper.make_node("RoiAlign", ["x", "rois", "of"], ["y"], output_height=2, output_width=3, sampling_ratio=2)
    inputs = [("x", ["n", 2, "h", "w"]), ("rois", ["k", 4]), ("of", (["k"], INT))]
    proto = model_of([node], inputs, opset=16)
    model = baton.compile(proto, num_threads=1)
    for height, width, regions in ((8, 9, 2), (5, 4, 3)):
        feed = {
            "x": np.random.default_rng(2).standard_normal((2, 2, height, width)).astype("float32"),
            "rois": np.array([[0, 0, 3, 3.5], [1, 0.5, 4, 3], [-1, 2, 9, 9]], "float32")[:regions],
            "of": np.array([0, 1, 1])[:regions],
        }
        np.testing.assert_allclose(model.run(feed)[0], onnxruntime_outputs(proto, feed)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rank", [2, 3])
def test_frames_of_a_signal_of_any_length(rank: int) -> None:
    """PyTorch leaves out the last axis of real signals."""
    nodes = [helper.make_node("STFT", ["x", "step", "window"], ["y"])]
    weights = [weight("step", np.int64(4)), weight("window", np.hanning(16).astype("float32"))]
    model = model_of(nodes, [("x", ["b", "t", 1][:rank])], weights=weights)
    compiled = baton.compile(model)
    for shape in ((2, 64, 1), (1, 16, 1), (3, 33, 1)):
        x = np.random.default_rng(0).standard_normal(shape[:rank]).astype("float32")
        np.testing.assert_allclose(compiled.run({"x": x})[0], onnxruntime_outputs(model, {"x": x})[0], atol=1e-4)


def test_constants_around_an_axis_of_which_nothing_is_left() -> None:
    """Guards a border of a number beside elements that are all taken away: nothing is read of them."""
    inputs = [("x", (1, 2)), ("pads", ([4], TensorProto.INT64))]
    model = model_of([helper.make_node("Pad", ["x", "pads"], ["y"])], inputs)
    feed = {"x": np.ones((1, 2), np.float32), "pads": np.array([2, 0, -1, 1], np.int64)}
    assert_as_onnxruntime(baton.compile(model).run(feed), onnxruntime_outputs(model, feed))


OF_OPEN_LENGTH = [
    ("Tile", ["x", "a"], [np.array([2, 3])]),
    ("Pad", ["x", "a"], [np.array([1, 0, 2, 1])]),
    ("TopK", ["x", "a"], [np.array([2])]),
    ("Split", ["x", "a"], [np.array([2, 3])]),
    ("Resize", ["x", "", "", "a"], [np.array([10, 8])]),
    ("Slice", ["x", "a", "b", "axes"], [np.array([1]), np.array([3])]),
    ("OneHot", ["places", "a", "two"], [np.array([6.0], "float32")]),
]


@pytest.mark.parametrize(("operator", "operands", "given"), OF_OPEN_LENGTH)
def test_vectors_of_open_length(operator: str, operands: list[str], given: list[Any]) -> None:
    """Exporters leave the lengths of shapes and counts open, where the node can only take one; a run checks it."""
    outputs = ["y", "z"][: 2 if operator in ("TopK", "Split") else 1]
    weights = [weight("axes", np.array([0])), weight("two", np.array([0, 1], "f")), weight("places", np.array([1, 3]))]
    used = [w for w in weights if w.name in operands]
    node = helper.make_node(operator, operands, outputs)

    def model(*lengths: Any) -> Any:
        kinds = [helper.np_dtype_to_tensor_dtype(v.dtype) for v in given]
        vectors = [(n, ([length], kind)) for n, length, kind in zip("ab", lengths, kinds)]
        return model_of([node], [("x", ["n", 4]), *vectors], outputs, used)

    feed = {"x": DATA, **dict(zip("ab", given))}
    program = baton.compile(model("i", "j"), num_threads=1)
    for found, wanted in zip(program.run(feed), onnxruntime_outputs(model(*map(len, given)), feed), strict=True):
        np.testing.assert_array_equal(found, wanted)
    with pytest.raises(DiagnosticError, match="expected"):
        program.run({**feed, "a": np.concatenate([given[0], given[0]])})


def _reshaped_by(rank: int) -> Any:
    nodes = [helper.make_node("Relu", ["x"], ["p"]), helper.make_node("Reshape", ["p", "s"], ["y"])]
    return _compiled(nodes, [("s", [rank])])


@pytest.mark.parametrize(
    "shape", [(2, 10), (-1, 2), (0, 4), (0, -1), (5, 0), (10, -1, 2), (0, 0, 1), (-1,), (1, 2, 5, 2)]
)
def test_shapes_given_as_numbers(shape: tuple[int, ...]) -> None:
    """0 copies a size of an open tensor, -1 is what the others leave; no kernel is compiled when it runs."""
    model = _reshaped_by(len(shape))
    copied = [DATA.shape[i] if d == 0 else d for i, d in enumerate(shape)]
    found = model.run({"x": DATA, "s": np.array(shape)})[0]
    np.testing.assert_array_equal(found, np.maximum(DATA, 0).reshape(copied))
    if 5 not in shape and 10 not in shape:
        empty = np.zeros((0, 4), "float32")
        assert model.run({"x": empty, "s": np.array([0 if d == -1 else d for d in shape])})[0].size == 0


@pytest.mark.parametrize(
    "shape", [(3, 7), (-1, 3), (-2, -10), (-2, 10), (0, 0, 0), (-1, -1), (-1, 0, 0), (2**33, 2**33), (0, 5)]
)
def test_shapes_that_do_not_fit(shape: tuple[int, ...]) -> None:
    model = _reshaped_by(len(shape))
    with pytest.raises(DiagnosticError):
        model.run({"x": DATA, "s": np.array(shape)})
