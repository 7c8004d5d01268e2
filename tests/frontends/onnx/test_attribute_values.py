"""Attributes with values that ONNX does not know, and those of opsets long gone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import baton
from tests.frontends.onnx.against_onnxruntime import onnxruntime_outputs
from tests.frontends.onnx.models import model_of, weight

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((2, 3, 4, 5)).astype("float32")
SQUARE = RANDOM.standard_normal((3, 3)).astype("float32")
IMAGES = tuple(RANDOM.uniform(0.5, 1, (4, 3, 4, 5)).astype("float32"))
THREE = RANDOM.uniform(0.5, 1.5, (4, 3)).astype("float32")


def ran(op: str, opset: int, x: Any, others: Any = (), outputs: Any = ("y",), **attributes: Any) -> list[Any]:
    """What one node gives; operands behind the first are weights."""
    return [np.asarray(v) for v in baton.compile(model(op, opset, x, others, outputs, **attributes)).run({"x": x})]


def model(op: str, opset: int, x: Any, others: Any = (), outputs: Any = ("y",), **attributes: Any) -> Any:
    names = [f"w{k}" for k in range(len(others))]
    node = helper.make_node(op, ["x", *names], list(outputs), name="it", **attributes)
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    weights = [*map(weight, names, others)]
    return model_of([node], [("x", x.shape)], outputs, weights, opset=opset, dtype=kind)


@pytest.mark.parametrize(
    ("op", "others", "attributes"),
    [
        ("Gelu", (), {"approximate": "erf"}),
        ("LpNormalization", (), {"p": 3}),
        ("MaxPool", (), {"kernel_shape": [2, 2], "auto_pad": "SAME"}),
        ("DepthToSpace", (), {"blocksize": 1, "mode": "CDR"}),
        ("ReduceSum", (), {"keepdims": 2}),
        ("LSTM", (np.ones((1, 4, 5), "float32"), np.ones((1, 4, 1), "float32")), {"hidden_size": 1, "layout": 2}),
        ("Conv", (np.ones((1, 3, 2, 2), "float32"),), {"kernel_shape": [3, 3]}),
        ("Conv", (np.ones((1, 3, 2, 2), "float32"),), {"strides": [2]}),
        ("MaxPool", (), {"kernel_shape": [2, 2], "pads": [1, 1]}),
        ("MaxPool", (), {"kernel_shape": [2, 2], "ceil_mode": 2}),
        ("AveragePool", (), {"kernel_shape": [2, 2], "dilations": [1, 0]}),
        ("ConvTranspose", (np.ones((3, 1, 2, 2), "float32"),), {"output_shape": [9]}),
        ("DepthToSpace", (), {"blocksize": 0}),
        ("GroupNormalization", (np.ones(3, "float32"),) * 2, {"num_groups": 0}),
        ("Resize", (np.zeros(0, "float32"), np.ones(4, "float32") * 2), {"coordinate_transformation_mode": "half"}),
        ("QuantizeLinear", (np.float32(1), np.int8(1)), {"output_dtype": 2}),
        ("DequantizeLinear", (np.ones(2, "float32"),), {"output_dtype": 2}),
    ],
)
def test_a_value_that_means_nothing(op: str, others: Any, attributes: Any) -> None:
    """Guards against taking it for the other one of two values."""
    with pytest.raises(baton.DiagnosticError, match=f"(attribute|its) '?{[*attributes][-1]}"):
        ran(op, 21, X, others, **attributes)


def test_places_that_are_not_there() -> None:
    """Guards against columns that are repeated, axes that are counted round and round, and blocks that are cut."""
    kept = np.array([False, True, True])
    np.testing.assert_array_equal(ran("Compress", 11, SQUARE, (kept[:2],), axis=1)[0], SQUARE[:, 1:2])
    with pytest.raises(baton.DiagnosticError, match="index 2 is out of range"):
        ran("Compress", 11, SQUARE[:2], (kept,), axis=0)
    for op, opset, axis in (("DFT", 19, 9), ("Flatten", 21, 5)):
        with pytest.raises(baton.DiagnosticError, match=f"axis {axis} is out of range"):
            ran(op, opset, X, axis=axis)
    with pytest.raises(baton.DiagnosticError, match="2 blocks of 3 do not make up axis 1 of size 3"):
        ran("DequantizeLinear", 21, np.ones((2, 3), "int8"), (np.ones((2, 2), "float32"),), block_size=3)
    with pytest.raises(baton.DiagnosticError, match="2 groups do not divide its 3 channels"):
        ran("ConvTranspose", 21, X, (np.ones((3, 1, 2, 2), "float32"),), group=2)


def test_a_unit_that_bends_upwards() -> None:
    """Celu of a negative alpha, whose curve lies above 0."""
    (found,) = ran("Celu", 12, X, alpha=-1.5)
    np.testing.assert_allclose(found, np.where(X > 0, X, -1.5 * np.expm1(X / -1.5)), rtol=1e-5, atol=1e-6)


def test_shifts_have_a_direction() -> None:
    with pytest.raises(baton.DiagnosticError, match="takes one of LEFT, RIGHT"):
        ran("BitShift", 21, np.ones(3, "uint8"), (np.ones(3, "uint8"),), direction="left")


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Greater"])
def test_axes_that_operands_met_by(op: str) -> None:
    """Before opset 7. NumPy's rule gives other numbers where both fit."""
    compute = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Greater": np.greater}[op]
    (found,) = ran(op, 6, SQUARE, (THREE[0],), broadcast=1, axis=0)
    np.testing.assert_allclose(found, compute(SQUARE, THREE[0][:, None]), rtol=1e-6)
    (found,) = ran(op, 6, X, (THREE[:2].T.copy()[:, :1] * np.ones(4, "float32"),), broadcast=1, axis=1)
    np.testing.assert_allclose(found, compute(X, (THREE[0][:, None] * np.ones(4, "float32"))[..., None]), rtol=1e-6)
    (found,) = ran(op, 6, SQUARE, (THREE[0],), broadcast=1)
    np.testing.assert_allclose(found, compute(SQUARE, THREE[0]), rtol=1e-6)


def test_slopes_of_channels() -> None:
    """Before opset 7."""
    (found,) = ran("PRelu", 6, SQUARE[None], (THREE[0],))
    np.testing.assert_allclose(found, np.where(SQUARE < 0, SQUARE * THREE[0][:, None], SQUARE)[None], rtol=1e-6)


def test_what_is_joined_without_an_axis() -> None:
    """Before opset 4 that of channels."""
    (found,) = ran("Concat", 3, SQUARE, (SQUARE,))
    np.testing.assert_array_equal(found, np.concatenate([SQUARE, SQUARE], 1))


@pytest.mark.parametrize(("op", "others"), [("Dropout", ()), ("BatchNormalization", tuple(THREE))])
def test_training_that_an_attribute_asks_for(op: str, others: Any) -> None:
    """Before opset 7. What was exported for inference runs."""
    assert ran(op, 6, X, others, is_test=1)[0].shape == X.shape
    with pytest.raises(baton.DiagnosticError, match="is_test = 0"):
        ran(op, 6, X, others, is_test=0)


@pytest.mark.parametrize(
    ("op", "opset", "others", "outputs", "attributes"),
    [
        ("BatchNormalization", 9, tuple(THREE), ("y", "mean", "variance", "", ""), {"momentum": 0.7}),
        ("BatchNormalization", 9, tuple(THREE), ("y", "mean", "variance", "saved_mean", "saved_variance"), {}),
        ("BatchNormalization", 7, IMAGES, ("y",), {"spatial": 0}),
        ("MeanVarianceNormalization", 8, (), ("y",), {"across_channels": 1}),
        ("MeanVarianceNormalization", 8, (), ("y",), {"across_channels": 0}),
    ],
)  # fmt: skip
def test_norms_of_old(op: str, opset: int, others: Any, outputs: Any, attributes: Any) -> None:
    """Several outputs mean training before opset 14; other axes are normalised over."""
    made = model(op, opset, X, others, outputs, **attributes)
    del made.graph.output[sum(map(bool, outputs)) :]
    expected = onnxruntime_outputs(made, {"x": X})
    for ours, theirs in zip(baton.compile(made).run({"x": X}), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


def test_a_norm_of_a_vector() -> None:
    """It is a batch of one channel, as ONNX says; it was refused."""
    made = model("BatchNormalization", 15, THREE[0], tuple(weights[:1] for weights in THREE))
    (expected,) = onnxruntime_outputs(made, {"x": THREE[0]})
    np.testing.assert_allclose(baton.compile(made).run({"x": THREE[0]})[0], expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("op", "others", "attributes", "told"),
    [
        ("QuickGelu", (), {"alhpa": 1.0}, "QuickGelu has no attribute 'alhpa'(.|\n)*did you mean 'alpha'"),
        ("QuickGelu", (), {"alpha": [1.0]}, "attribute 'alpha' is FLOATS; QuickGelu takes FLOAT for it"),
        ("FusedMatMul", (SQUARE,), {"transB": 1.0}, "attribute 'transB' is FLOAT; FusedMatMul takes INT for it"),
        ("FastGelu", (), {"approximate": "none"}, "FastGelu has no attribute 'approximate'"),
    ],
)
def test_attributes_of_contributed_operators(op: str, others: Any, attributes: Any, told: str) -> None:
    """A misspelt one was taken for one that is missing; one of another type was an error of Python's."""
    made = model(op, 18, SQUARE, others, **attributes)
    made.graph.node[0].domain = "com.microsoft"
    with pytest.raises(baton.DiagnosticError, match=told):
        baton.compile(made)


def test_operands_that_contributed_operators_do_not_have() -> None:
    """They were left out without a word."""
    for op, others, outputs, told in (
        ("GatherND", (np.zeros((1, 1), "int64"), SQUARE), ("y",), "it has 3 inputs, 2 at most are defined"),
        ("QuickGelu", (), ("y", "z"), "it has 2 outputs, 1 at most are defined"),
    ):
        made = model(op, 18, SQUARE, others, outputs)
        made.graph.node[0].domain = "com.microsoft"
        with pytest.raises(baton.DiagnosticError, match=told):
            baton.compile(made)
