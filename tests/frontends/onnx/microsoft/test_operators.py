"""Operators of `com.microsoft`, each in both languages against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import baton
from tests.frontends.onnx.against_onnxruntime import (
    assert_as_onnxruntime,
    in_both_languages,
    model_of_node,
    onnxruntime_outputs,
)

RANDOM = np.random.default_rng(0)


def _real(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype("float32")


def _bytes(*shape: int) -> Any:
    return RANDOM.integers(0, 256, shape).astype("uint8")


def _float(number: float) -> Any:
    return np.array(number, "float32")


def _zero(number: int) -> Any:
    return np.array(number, "uint8")


X, A = _real(2, 3, 8), _real(2, 4, 8)
IMAGE, KERNEL, BIAS = _real(1, 2, 5, 5), _real(3, 2, 3, 3), _real(3)
QUANTISED = (_bytes(2, 6), _float(0.02), _zero(120))
OTHER = (_bytes(2, 6), _float(0.03), _zero(100))
SCALES = (_float(0.05), _zero(128))
SIGNED = RANDOM.integers(-63, 64, (3, 2, 3, 3)).astype("int8")
"""Of 7 bits: on processors without VNNI onnxruntime adds two products of bytes in 16 bits, which saturate."""

CASES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Gelu", (X,), {}),
    ("FastGelu", (X,), {}),
    ("FastGelu", (X, _real(8)), {}),
    ("BiasGelu", (X, _real(8)), {}),
    ("QuickGelu", (X,), {}),
    ("QuickGelu", (X,), {"alpha": 1.0}),
    ("FusedMatMul", (X, A), {"transB": 1, "alpha": 0.5}),
    ("FusedMatMul", (_real(2, 8, 3), A), {"transA": 1, "transB": 1}),
    ("FusedMatMul", (_real(3, 2, 8), _real(2, 8, 4)), {"transBatchA": 1}),
    ("FusedMatMul", (_real(2, 5, 3, 8), _real(4, 2, 5, 8)), {"transB": 1, "transBatchB": 1}),
    ("FusedGemm", (X[0], A[0], _real(4)), {"transB": 1, "activation": "LeakyRelu", "activation_alpha": 0.2}),
    *(
        ("FusedGemm", (X[0], A[0]), {"transB": 1, "activation": name, **{f"activation_{n}": 0.6 for n in numbers}})
        for name, numbers in (
            ("Elu", ["alpha"]), ("Selu", ["alpha", "gamma"]), ("Celu", ["alpha"]), ("Softplus", []), ("Softsign", []),
            ("ThresholdedRelu", ["alpha"]), ("ScaledTanh", ["alpha", "beta"]),
            ("ParametricSoftplus", ["alpha", "beta"]),
        )
    ),
    ("FusedConv", (IMAGE, KERNEL), {"activation": "HardSwish"}),
    ("FusedConv", (IMAGE, KERNEL, BIAS), {"activation": "Relu"}),
    ("FusedConv", (IMAGE, KERNEL, BIAS, _real(1, 3, 3, 3)), {"activation": "Relu"}),
    ("FusedConv", (IMAGE, KERNEL), {"activation": "Clip", "activation_params": [-0.5, 0.5]}),
    ("FusedConv", (IMAGE, KERNEL), {"activation": "HardSigmoid", "activation_params": [0.3, 0.4]}),
    ("SkipLayerNormalization", (X, _real(2, 3, 8), _real(8), _real(8), _real(8)), {"epsilon": 1e-5}),
    ("SkipLayerNormalization", (X, _real(2, 3, 8), _real(8)), {}),
    ("SkipSimplifiedLayerNormalization", (X, _real(2, 3, 8), _real(8), _real(8)), {"epsilon": 1e-5}),
    ("QLinearAdd", (*QUANTISED, *OTHER, *SCALES), {}),
    ("QLinearMul", (*QUANTISED, *OTHER, *SCALES), {}),
    ("QLinearSigmoid", (*QUANTISED, _float(1 / 256), _zero(0)), {}),
    ("QLinearLeakyRelu", (*QUANTISED, *SCALES), {"alpha": 0.1}),
    ("QLinearSoftmax", (*QUANTISED, _float(1 / 256), _zero(0)), {"axis": -1, "opset": 13}),
    ("QLinearSoftmax", (*QUANTISED, _float(1 / 256), _zero(0)), {"axis": 1, "opset": 11}),
    ("QLinearSoftmax", (_bytes(2, 3, 4), *QUANTISED[1:], _float(1 / 256), _zero(0)), {"opset": 11}),  # the last axis
    ("QLinearGlobalAveragePool", (_bytes(1, 3, 4, 4), _float(0.02), _zero(120), *SCALES), {}),
    ("QLinearGlobalAveragePool", (_bytes(1, 4, 4, 3), _float(0.02), _zero(120), *SCALES), {"channels_last": 1}),
    ("QLinearConcat", (*SCALES, *QUANTISED, *OTHER), {"axis": 1}),
    ("MatMulIntegerToFloat", (_bytes(3, 4), _bytes(4, 5), _float(0.1), _float(0.2), _zero(9), _zero(7), _real(5)), {}),
    ("QGemm", (_bytes(2, 6), _float(0.02), _zero(120), _bytes(4, 6), _float(0.03), _zero(100)), {"transB": 1}),
    ("QLinearConv", (_bytes(1, 6, 6, 2), *QUANTISED[1:], SIGNED, _float(0.01), np.array(0, "int8"), *SCALES), {
        "channels_last": 1, "pads": [1, 1, 1, 1], "strides": [2, 2],
    }),
    ("QLinearAveragePool", (_bytes(1, 2, 6, 6), *QUANTISED[1:], *SCALES), {"kernel_shape": [3, 3], "pads": [1] * 4}),
    ("QLinearAveragePool", (_bytes(1, 6, 6, 2), *QUANTISED[1:], *SCALES), {
        "kernel_shape": [2, 2], "strides": [2, 2], "channels_last": 1,
    }),
    ("NhwcMaxPool", (_bytes(1, 6, 6, 2),), {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ("DynamicQuantizeMatMul", (_real(3, 6), SIGNED.reshape(6, 9), _float(0.02), np.array(2, "int8"), _real(9)), {}),
    ("DynamicQuantizeMatMul", (_real(2, 3, 6), _bytes(6, 4), _real(4), _bytes(4)), {}),
    ("ExpandDims", (X, np.array(1, "int32")), {}),
    ("Trilu", (X,), {}),
    ("Pad", (X, np.array([0, 1, 2, 0, 0, 3]), _float(0.5)), {"mode": "constant"}),
    ("Pad", (X, np.array([0, 1, 2, 0, 0, 3])), {"mode": "reflect"}),
    ("QGemm", (*QUANTISED, *(_bytes(6, 4), *OTHER[1:]), np.arange(4, dtype="int32") * 999, *SCALES), {"alpha": 0.5}),
]  # fmt: skip


def _model(name: str, operands: Any, attributes: Any, domain: str = "com.microsoft", outputs: int = 1) -> Any:
    """The first operand is the model's input, of open size; the others are weights."""
    results = ["y", *(f"y{k}" for k in range(1, outputs))]
    return model_of_node(name, operands, attributes, (0,), results, domain, open_axes=1)


@pytest.mark.parametrize(("name", "operands", "attributes"), CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_operator(name: str, operands: Any, attributes: Any) -> None:
    _check(_model(name, operands, attributes), {"i0": operands[0]})


def _check(model: Any, feed: Any) -> None:
    expected = onnxruntime_outputs(model, feed)
    for _, found in in_both_languages(model, feed):
        assert_as_onnxruntime(found, expected)


MORE_INPUTS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("QLinearWhere", (np.array([[True, False, True]]), _bytes(2, 3), *SCALES, _bytes(2, 3), *OTHER[1:], *SCALES), {}),
    ("CDist", (_real(3, 4), _real(5, 4)), {"metric": "euclidean"}),
    ("CDist", (_real(3, 4), _real(5, 4)), {"metric": "sqeuclidean"}),
    ("GridSample", (IMAGE, RANDOM.uniform(-1.2, 1.2, (1, 4, 3, 2)).astype("float32")), {}),
    ("GridSample", (IMAGE, RANDOM.uniform(-1, 1, (1, 4, 3, 2)).astype("float32")), {
        "mode": "bicubic", "padding_mode": "reflection", "align_corners": 1,
    }),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operands", "attributes"), MORE_INPUTS)
def test_operators_of_several_inputs(name: str, operands: Any, attributes: Any) -> None:
    tensors = [k for k, o in enumerate(operands) if o.ndim]
    _check(model_of_node(name, operands, attributes, tensors, ["y"]), {f"i{k}": operands[k] for k in tensors})


@pytest.mark.parametrize("x", [_real(3, 8), np.zeros((3, 8), "float32")])
def test_numbers_as_bytes_by_their_own_range(x: Any) -> None:
    """Of all zeros the scale is 1: nothing is divided by 0."""
    _check(_model("DynamicQuantizeLinear", (x,), {}, domain="", outputs=3), {"i0": x})


def test_values_in_the_order_they_come() -> None:
    model = model_of_node("Unique", (np.array([3, 1, 3, 2, 1], "float32"),), {}, (0,), ["values", "places", "counts"])
    found = baton.compile(model, num_threads=1).run({"i0": np.array([3, 1, 3, 2, 1], "float32")})
    assert [list(o) for o in found] == [[3, 1, 2], [0, 1, 0, 2, 1], [2, 2, 1]]


def test_an_lstm_of_bytes() -> None:
    """onnxruntime makes bytes of its inputs, too, which this does not: the numbers are only near each other."""
    w, r = (RANDOM.integers(-63, 64, (1, n, 24)).astype("int8") for n in (4, 6))
    scale, zero = np.array([0.02], "float32"), np.array([0], "int8")
    operands = (_real(5, 2, 4), w, r, _real(1, 48), *(None,) * 4, scale, zero, scale, zero)
    model = model_of_node("DynamicQuantizeLSTM", operands, {"hidden_size": 6}, (0,), ["y", "h", "c"])
    expected = onnxruntime_outputs(model, {"i0": operands[0]})
    for _, found in in_both_languages(model, {"i0": operands[0]}):
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=0.02)


def test_the_sum_before_a_normalisation_is_a_result_too() -> None:
    model = _model("SkipLayerNormalization", (X, _real(2, 3, 8), _real(8)), {})
    model.graph.node[0].output.extend(["", "", "sum"])
    model.graph.output.append(helper.make_empty_tensor_value_info("sum"))
    _check(model, {"i0": X})


def test_what_onnxruntime_writes_into_the_domain_of_onnx() -> None:
    gain = _real(8)
    model = _model("SimplifiedLayerNormalization", (X, gain), {"axis": -1, "epsilon": 1e-5}, domain="")
    expected = X / np.sqrt((X * X).mean(-1, keepdims=True) + 1e-5) * gain
    np.testing.assert_allclose(baton.compile(model, num_threads=1).run({"i0": X})[0], expected, rtol=1e-4)


def test_an_activation_that_is_not_known_is_refused() -> None:
    model = _model("FusedConv", (IMAGE, KERNEL), {"activation": "Mish"})
    with pytest.raises(baton.DiagnosticError, match="the activation 'Mish'"):
        baton.compile(model)


@pytest.mark.parametrize(("name", "advice"), [
    ("BeamSearch", "export the decoder alone"), ("RemovePadding", "from before that step"), ("EPContext", "one device"),
])  # fmt: skip
def test_an_operator_of_the_domain_that_is_not_supported_is_named_with_it(name: str, advice: str) -> None:
    with pytest.raises(baton.DiagnosticError, match=rf"com\.microsoft\.{name} is not supported") as error:
        baton.compile(_model(name, (X,), {}))
    assert advice in str(error.value)
