"""Nodes as ONNX allows them and models seldom have them: operands without axes, of several types, without elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import baton
from baton import DiagnosticError
from tests.frontends.onnx.against_onnxruntime import (
    assert_as_onnxruntime,
    in_both_languages,
    model_of_node,
    onnxruntime_outputs,
)
from tests.frontends.onnx.models import model_of, weight

RANDOM = np.random.default_rng(5)
IMAGE = RANDOM.standard_normal((2, 3, 4, 4)).astype("float32")
KERNEL = RANDOM.standard_normal((3, 2, 3, 3)).astype("float32")
NUMBER = np.array(0.5, "float32")
PLACES = np.array([0, 1])


def as_onnxruntime(op: str, operands: Any, opset: int = 21, outputs: Any = ("y",), **attributes: Any) -> None:
    """Both languages give what onnxruntime gives; the first operand is the model's input."""
    model = model_of_node(op, operands, attributes, (0,), outputs, domain="", opset=opset)
    expected = onnxruntime_outputs(model, {"i0": operands[0]})
    for _, found in in_both_languages(model, {"i0": operands[0]}):
        assert_as_onnxruntime(found, expected)


@pytest.mark.parametrize(
    ("op", "operands", "attributes", "said"),
    [
        ("Gather", (NUMBER, PLACES), {}, r"input 0 is float32 \(\), it must have 1 or more axes"),
        ("TopK", (NUMBER, np.array([1])), {}, "input 0 is .* 1 or more axes"),
        ("Split", (NUMBER,), {"num_outputs": 1}, "input 0 is .* 1 or more axes"),
        ("EyeLike", (IMAGE,), {}, r"input 0 is float32 \(2, 3, 4, 4\), it must have 2 axes"),
        ("LRN", (NUMBER,), {"size": 3}, "input 0 is .* 2 or more axes"),
        ("LpPool", (IMAGE[0],), {"kernel_shape": [2, 2], "auto_pad": "SAME_UPPER"}, "its kernel has 2 spatial axes"),
        ("ConvTranspose", (NUMBER, KERNEL), {"output_shape": [5, 5]}, "its kernel has 2 spatial axes"),
        ("ConvTranspose", (IMAGE, KERNEL), {"output_padding": [1]}, r"its output_padding is \[1\] for 2 spatial axes"),
        ("RoiAlign", (IMAGE, NUMBER, PLACES), {}, "input 1 is .* 2 axes"),
        (
            "QuantizeLinear",
            (IMAGE, np.ones(3, "float32")),
            {"block_size": 2},
            "with block_size 2 a scale or zero point is float32",
        ),
        ("Resize", (IMAGE[:0], None, None, np.array([1, 3, 4, 4])), {}, "axis 0 has no elements to make 1 of"),
        ("CenterCropPad", (IMAGE, np.array([3, 3])), {"axes": [3, 4]}, "indices from 3 to 4 for an axis of 4"),
        ("ScatterElements", (IMAGE, np.zeros_like(IMAGE, int), IMAGE), {"reduction": "mean"}, "'reduction' is 'mean'"),
    ],
)
def test_operands_that_do_not_fit_are_named(op: str, operands: Any, attributes: Any, said: str) -> None:
    """All were errors of Python's, which named no node; a reduction that ONNX does not have was computed."""
    with pytest.raises(DiagnosticError, match=said) as error:
        baton.compile(model_of_node(op, operands, attributes, (0,), ("y",), domain="", opset=21))
    assert op in str(error.value)


def test_limits_of_states_are_more_than_0() -> None:
    """onnxruntime refuses others; ONNX's reference reads 0 as none."""
    operands = (np.ones((2, 1, 3), "float32"), np.ones((1, 4, 3), "float32"), np.ones((1, 4, 4), "float32"))
    with pytest.raises(DiagnosticError, match="its clip is"):
        baton.compile(model_of_node("RNN", operands, {"hidden_size": 4, "clip": 0.0}, (0,), ("y",), domain=""))


@pytest.mark.parametrize(("base", "exponent"), [("int64", "int32"), ("int32", "int64"), ("int32", "int32")])
def test_powers_of_integers_hold_what_the_base_holds(base: str, exponent: str) -> None:
    """3 ** 24 was computed in the exponent's 32 bits."""
    as_onnxruntime("Pow", (np.array([1, 2, 3], base), np.array([16, 20, 24 if base == "int64" else 9], exponent)))


@pytest.mark.parametrize("training", [0, 1])
@pytest.mark.parametrize("types", [("float16", "float32", "float32"), ("float32", "float32", "float64")])
def test_images_scales_and_statistics_of_other_types(types: Any, training: int) -> None:
    """ONNX allows three; they were refused. (onnxruntime has no kernel for most, so it is asked in float64.)"""
    image, scale, mean = types
    operands = [IMAGE, *(RANDOM.uniform(0.5, 1, 3) for _ in range(4))]
    operands = [v.astype(t) for v, t in zip(operands, (image, scale, scale, mean, mean), strict=True)]
    outputs = ("y", "m", "v")[: 3 if training else 1]
    attributes = {"training_mode": training}
    model = model_of_node("BatchNormalization", operands, attributes, (0,), outputs, domain="", opset=15)
    wide = [v.astype("float64") for v in operands]
    reference = model_of_node("BatchNormalization", wide, attributes, (0,), outputs, domain="", opset=15)
    expected = onnxruntime_outputs(reference, {"i0": wide[0]})
    for _, found in in_both_languages(model, {"i0": operands[0]}):
        assert [v.dtype.name for v in found] == [image, mean, mean][: len(found)]
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours.astype("float64"), theirs, rtol=2e-3, atol=4e-3)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_statistics_of_layers_are_float32(dtype: str) -> None:
    """They had the type of the input, which ONNX does not allow."""
    operands = (IMAGE.astype(dtype), np.ones(4, dtype), np.zeros(4, dtype))
    as_onnxruntime("LayerNormalization", operands, outputs=("y", "mean", "inverse"))


def test_a_rate_of_another_type_than_the_tensors() -> None:
    operands = [np.array(0.5, "float64"), np.array(0), *(np.array([v], "float32") for v in (1.0, 0.5, 2.0))]
    node = helper.make_node("Adagrad", list("rtxgh"), ["y", "s"], domain="ai.onnx.preview.training")
    weights = [weight(name, v) for name, v in zip("rtgh", [*operands[:2], *operands[3:]], strict=True)]
    model = model_of([node], [("x", [1])], ["y", "s"], weights)
    model.opset_import.append(helper.make_opsetid("ai.onnx.preview.training", 1))
    found = baton.compile(model, num_threads=1).run({"x": operands[2]})
    np.testing.assert_allclose(found[0], [1 - 0.5 * 0.5 / np.sqrt(2.25)], rtol=1e-5)


@pytest.mark.parametrize("side", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("extra", [[1, 1], [0, 1]])
def test_transposed_convolutions_of_the_same_size_count_their_output_padding_in(side: str, extra: Any) -> None:
    """The size is the input's times the stride; it was larger by the output_padding."""
    attributes = {"auto_pad": side, "output_padding": extra, "strides": [2, 3]}
    as_onnxruntime("ConvTranspose", (IMAGE, KERNEL), opset=11, **attributes)


@pytest.mark.parametrize(
    ("op", "operands", "attributes"),
    [
        ("Hardmax", (IMAGE[:, :0],), {"axis": 1}),
        ("Pad", (IMAGE[..., :0], np.array([0, 0, 0, 1, 0, 0, 0, 2]), NUMBER), {}),
        ("Resize", (IMAGE[:0], None, None, np.array([0, 3, 8, 8])), {}),
        ("RNN", (IMAGE[0, :, :, :0], np.ones((1, 4, 0), "float32"), np.ones((1, 4, 4), "float32")), {"hidden_size": 4}),
    ],
)
def test_tensors_without_elements(op: str, operands: Any, attributes: Any) -> None:
    as_onnxruntime(op, operands, **attributes)


def test_a_border_that_a_run_fills_around_nothing() -> None:
    """There was no element to take where no element is taken."""
    node = helper.make_node("Pad", ["x", "widths", "number"], ["y"])
    inputs: list[Any] = [("x", [2, 0]), ("number", ([], TensorProto.FLOAT))]
    model = baton.compile(model_of([node], inputs, weights=[weight("widths", np.array([0, 1, 0, 2]))]))
    found = model.run({"x": np.zeros((2, 0), "float32"), "number": np.array(7, "float32")})
    assert found[0].tolist() == [[7, 7, 7], [7, 7, 7]]


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_caches_get_as_many_rows_as_a_run_has(mode: str) -> None:
    """The number of new rows, and that of all, were to be known when importing."""
    node = helper.make_node("TensorScatter", ["cache", "new", "at"], ["y"], axis=1, mode=mode)
    inputs: list[Any] = [("cache", ["b", "all", 2]), ("new", ["b", "some", 2]), ("at", (["b"], TensorProto.INT64))]
    model = baton.compile(model_of([node], inputs, opset=24), num_threads=1)
    for count, starts in ((1, [0, 4]), (3, [1, 2]), (2, [3, 3] if mode == "linear" else [4, 4])):
        cache, new = np.zeros((2, 5, 2), "float32"), RANDOM.standard_normal((2, count, 2)).astype("float32")
        expected = cache.copy()
        for batch, start in enumerate(starts):
            expected[batch, (start + np.arange(count)) % 5] = new[batch]
        found = model.run({"cache": cache, "new": new, "at": np.array(starts)})
        np.testing.assert_array_equal(found[0], expected)


@pytest.mark.parametrize("size", [3, 8])
@pytest.mark.parametrize(
    "attributes", [{"mode": "nearest", "nearest_mode": "floor"}, {"mode": "linear"}, {"mode": "cubic"}]
)
def test_pixels_of_halves_as_tensorflow_counts_them(attributes: Any, size: int) -> None:
    """`tf_half_pixel_for_nn`, which opset 11 has, was read as `half_pixel`."""
    sizes = np.array([2, 3, size, size])
    operands = (IMAGE, np.zeros(0, "float32"), np.zeros(0, "float32"), sizes)
    as_onnxruntime("Resize", operands, opset=11, coordinate_transformation_mode="tf_half_pixel_for_nn", **attributes)


@pytest.mark.parametrize(
    ("op", "operands", "attributes", "said"),
    [
        ("NGramRepeatBlock", (PLACES, IMAGE[0, 0]), {"ngram_size": 2}, r"input 0 is int64 \(2,\), it must have 2 axes"),
        ("Inverse", (IMAGE[..., :3],), {}, "it takes square matrices, not float32"),
        ("MatMulNBits", (IMAGE[0, 0], np.zeros((2, 1, 8), "uint8"), np.ones(2, "float32")),
         {"K": 4, "N": 2, "block_size": 0}, "its block_size is 0"),
        ("MoE", (IMAGE[0, 0], IMAGE[0, 0], KERNEL[0]), {"normalize_routing_weights": 2}, "'normalize_routing_weights'"),
    ],
)  # fmt: skip
def test_contributed_operators_name_what_does_not_fit(op: str, operands: Any, attributes: Any, said: str) -> None:
    """Errors of Python's, and a flag of which every number but 0 counted as 1."""
    with pytest.raises(DiagnosticError, match=said):
        baton.compile(model_of_node(op, operands, attributes, (0,), ("y",)))


@pytest.mark.parametrize(
    ("op", "attributes", "said"),
    [
        ("SVMRegressor", {"coefficients": [1.0], "n_supports": -1}, "its n_supports is -1"),
        ("SVMClassifier", {"vectors_per_class": [1, 1], "classlabels_ints": [0, 1]}, "'support_vectors' is missing"),
        (
            "TreeEnsembleRegressor",
            {
                "nodes_treeids": [0], "nodes_nodeids": [0], "nodes_modes": ["LEAF"], "nodes_featureids": [0],
                "nodes_falsenodeids": [0], "nodes_truenodeids": [0], "nodes_values": [0.0], "target_treeids": [0],
                "target_nodeids": [0], "target_ids": [0],
            },
            "it has 0 target_weights for 1 target_ids",
        ),
    ],
)  # fmt: skip
def test_learned_models_without_their_numbers(op: str, attributes: Any, said: str) -> None:
    model = model_of_node(op, (IMAGE[0, 0],), attributes, (0,), ("y",), domain="ai.onnx.ml", learning_opset=1)
    with pytest.raises(DiagnosticError, match=said):
        baton.compile(model)


def test_integers_raised_by_floats_keep_their_digits() -> None:
    """float32 holds integers up to 2**24 only."""
    as_onnxruntime("Pow", (np.array([16777217, -3, 7]), np.array([1, 5, 0.5], "float32")))
    as_onnxruntime("Pow", (np.array([16777217, 3], "int32"), np.array(1, "float32")))


@pytest.mark.parametrize(("number", "found"), [(0.0, 0), (2.0, 1)])
def test_places_in_a_scalar_have_no_axes(number: float, found: int) -> None:
    """ONNX says (0, found); NumPy once gave (1, found), and so does onnxruntime."""
    model = baton.compile(model_of([helper.make_node("NonZero", ["x"], ["y"])], [("x", [])]))
    assert np.asarray(model.run({"x": np.float32(number)})[0]).shape == (0, found)


def test_quantised_by_a_scale_of_integers() -> None:
    x, scale = np.array([-7, 5, 90, 4000], "int32"), np.array(10, "int32")
    model = model_of_node("QuantizeLinear", (x, scale, np.array(3, "int8")), {}, (0,), ["y"], domain="", opset=21)
    for _, (result,) in in_both_languages(model, {"i0": x}):
        np.testing.assert_array_equal(result, np.array([2, 3, 12, 127], "int8"))


def test_places_of_bytes_count_from_the_end_of_a_longer_axis() -> None:
    as_onnxruntime("OneHot", (np.array([-1, 3], "int64"), np.array(200), np.array([0, 1], "float32")))
    places = np.array([-1, 3], "int8")
    model = model_of_node("OneHot", (places, np.array(200), np.array([0, 1], "float32")), {}, (0,), ["y"], domain="")
    for _, (result,) in in_both_languages(model, {"i0": places}):
        assert result.argmax(-1).tolist() == [199, 3]


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_the_largest_of_none(shape: tuple[int, ...]) -> None:
    """How many rows a thread sorts was computed by division by their length."""
    node = helper.make_node("TopK", ["x", "k"], ["y", "places"])
    count = min(shape[-1], 2)
    model = model_of([node], [("x", shape)], ["y", "places"], [weight("k", np.array([count]))])
    found = baton.compile(model, num_threads=1).run({"x": np.zeros(shape, "float32")})
    assert [(f.dtype, f.shape) for f in found] == [("float32", (*shape[:-1], count)), ("int64", (*shape[:-1], count))]
