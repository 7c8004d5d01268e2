"""Operators of `com.microsoft`, each against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import baton
from tests.frontends.onnx.models import weight

MICROSOFT = "com.microsoft"
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
    ("QLinearGlobalAveragePool", (_bytes(1, 3, 4, 4), _float(0.02), _zero(120), *SCALES), {}),
    ("QLinearGlobalAveragePool", (_bytes(1, 4, 4, 3), _float(0.02), _zero(120), *SCALES), {"channels_last": 1}),
    ("QLinearConcat", (*SCALES, *QUANTISED, *OTHER), {"axis": 1}),
    ("MatMulIntegerToFloat", (_bytes(3, 4), _bytes(4, 5), _float(0.1), _float(0.2), _zero(9), _zero(7), _real(5)), {}),
    ("QGemm", (_bytes(2, 6), _float(0.02), _zero(120), _bytes(4, 6), _float(0.03), _zero(100)), {"transB": 1}),
    ("QGemm", (*QUANTISED, *(_bytes(6, 4), *OTHER[1:]), np.arange(4, dtype="int32") * 999, *SCALES), {"alpha": 0.5}),
]


def _model(name: str, operands: Any, attributes: Any, domain: str = MICROSOFT) -> Any:
    """The first operand is the model's input, of open size; the others are weights."""
    names = [f"i{k}" for k in range(len(operands))]
    node = helper.make_node(name, names, ["y"], domain=domain, name="the_node", **attributes)
    kind = helper.np_dtype_to_tensor_dtype(operands[0].dtype)
    dims = ["n", *operands[0].shape[1:]]
    if name == "QLinearConcat":  # its first operand is the scale of the result
        dims = []
    graph = helper.make_graph(
        [node],
        "test",
        [helper.make_tensor_value_info("i0", kind, dims)],
        [helper.make_empty_tensor_value_info("y")],
        [weight(n, o) for n, o in zip(names[1:], operands[1:])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize(("name", "operands", "attributes"), CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_operator(name: str, operands: Any, attributes: Any) -> None:
    """Bytes may differ by one where a number lies halfway between two."""
    ort = pytest.importorskip("onnxruntime")
    model = _model(name, operands, attributes)
    feed = {"i0": operands[0]}
    (expected,) = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)
    found = np.asarray(baton.compile(model, num_threads=1).run(feed)[0])
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if expected.dtype == np.uint8:
        assert np.abs(found.astype(int) - expected).max() <= 1
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_the_sum_before_a_normalisation_is_a_result_too() -> None:
    model = _model("SkipLayerNormalization", (X, _real(2, 3, 8), _real(8)), {})
    model.graph.node[0].output.extend(["", "", "sum"])
    model.graph.output.append(helper.make_empty_tensor_value_info("sum"))
    found = baton.compile(model, num_threads=1).run({"i0": X})[1]
    np.testing.assert_allclose(found, X + onnx.numpy_helper.to_array(model.graph.initializer[0]), rtol=1e-6)


def test_what_onnxruntime_writes_into_the_domain_of_onnx() -> None:
    gain = _real(8)
    model = _model("SimplifiedLayerNormalization", (X, gain), {"axis": -1, "epsilon": 1e-5}, domain="")
    expected = X / np.sqrt((X * X).mean(-1, keepdims=True) + 1e-5) * gain
    np.testing.assert_allclose(baton.compile(model, num_threads=1).run({"i0": X})[0], expected, rtol=1e-4)


def test_an_activation_that_is_not_known_is_refused() -> None:
    model = _model("FusedConv", (IMAGE, KERNEL), {"activation": "Softsign"})
    with pytest.raises(baton.DiagnosticError, match="the activation 'Softsign'"):
        baton.compile(model)


def test_an_operator_of_the_domain_that_is_not_supported_is_named_with_it() -> None:
    with pytest.raises(baton.DiagnosticError, match=r"com\.microsoft\.NhwcMaxPool is not supported"):
        baton.compile(_model("NhwcMaxPool", (X,), {}))
