"""FakeQuantizationToInteger and relay.qnn's passes: integers instead of floats, off by at most one; exact forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import ir, relay
from baton._src.ir.structural import structural_equal
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.quantize.fake_quantization import FakeQuantizationToInteger
from baton._src.passes.relay.quantize.qnn_canonicalize import CanonicalizeOps, qnn_legalize
from baton._src.relay.interpreter import Interpreter
from tests.passes.relay.test_before_after import main, names

X = "%x: Tensor[(1, 4, 6, 6), uint8], %y: Tensor[(1, 4, 6, 6), uint8], %w: Tensor[(8, 4, 3, 3), int8],"
X += " %b: Tensor[(8), int32]"
REAL_X = "qnn.dequantize(%x, 0.02f, 120)"
REAL_Y = "qnn.dequantize(%y, 0.03f, 110)"
REAL_W = "qnn.dequantize(%w, 0.01f, 0)"
CONV = f"nn.conv2d({REAL_X}, {REAL_W}, kernel_size=[3, 3], channels=8)"
ROWS = "%x: Tensor[(3, 8), uint8], %w: Tensor[(5, 8), int8]"

T = "%x: Tensor[(1, 4, 5, 5), uint8], %w: Tensor[(4, 3, 3, 3), int8]"


def quantized(body: str, scale: str = "0.05f", zero: str = "3") -> str:
    return f'qnn.quantize({body}, {scale}, {zero}, out_dtype="uint8")'


def values(module: Any, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    ranges = {"uint8": (0, 256), "int8": (-100, 100), "int32": (-500, 500)}
    args = []
    for param in module["main"].params:
        type_ = param.checked_type
        low, high = ranges[str(type_.dtype)]
        args.append(rng.integers(low, high, type_.concrete_shape).astype(str(type_.dtype)))
    return np.asarray(Interpreter(module).evaluate(module["main"])(*args).data).astype("int64")


CASES = [
    (X, f"{REAL_X} + {REAL_Y}", ["qnn.add"]),
    (X, f"{REAL_X} * {REAL_Y}", ["qnn.mul"]),
    (X, f"{REAL_X} - 0.5f", ["qnn.quantize", "qnn.subtract"]),
    (X, f"nn.relu({REAL_X})", ["maximum", "qnn.requantize"]),
    (X, f"nn.max_pool2d({REAL_X}, pool_size=[2, 2])", ["nn.max_pool2d", "qnn.requantize"]),
    (X, f"nn.avg_pool2d({REAL_X}, pool_size=[2, 2])", ["cast", "nn.avg_pool2d", "cast", "qnn.requantize"]),
    (X, f"nn.avg_pool2d({REAL_X}, pool_size=[2, 2], padding=[1, 1], count_include_pad=True)", None),  # zeros are 120
    (X, f"reshape(transpose({REAL_X}, axes=[0, 2, 3, 1]), newshape=[36, 4])", ["transpose", "reshape"]),
    (X, f"clip({REAL_X}, a_min=-0.5f, a_max=1f)", None),
    (X, f"concatenate(({REAL_X}, {REAL_Y}), axis=1)", ["qnn.requantize", "qnn.requantize", "concatenate"]),
    (X, CONV, ["qnn.conv2d"]),
    (X, f"nn.relu(nn.bias_add({CONV}, qnn.dequantize(%b, 0.0002f, 0)))", None),
    (ROWS, "nn.dense(qnn.dequantize(%x, 0.02f, 120), qnn.dequantize(%w, 0.01f, 0))", ["qnn.dense"]),
    (X, f"tanh({REAL_X})", ["qnn.tanh"]),
    (X, f"nn.leaky_relu({REAL_X}, alpha=0.2f)", ["qnn.leaky_relu"]),
    (X, f"nn.softmax({REAL_X}, axis=1)", ["qnn.softmax"]),
    (X, f"{REAL_X} + sigmoid({REAL_Y})", ["qnn.sigmoid", "qnn.add"]),
    (X, f"minimum({REAL_X}, {REAL_Y})", ["minimum", "qnn.requantize"]),
    (X, f"maximum({REAL_X}, {REAL_X})", ["maximum", "qnn.requantize"]),
    (X, f"mean({REAL_X}, axis=[2, 3])", ["cast", "mean", "qnn.requantize"]),
    (X, f"topk({REAL_X}, k=2, ret_type=\"values\")", ["topk", "qnn.requantize"]),
    (X, f"nn.pad({REAL_X}, 0.5f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]])", ["qnn.quantize", "nn.pad"]),
    (X, f"nn.pad({REAL_X}, 0, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]])", None),
    (X, f"image.resize2d({REAL_X}, size=[12, 12], roi=[0f, 0f, 0f, 0f])", ["image.resize2d", "qnn.requantize"]),
    (X, f"split({REAL_X}, indices_or_sections=2, axis=1).0", ["split", "qnn.requantize"]),
    (ROWS, "nn.batch_matmul(expand_dims(qnn.dequantize(%x, 0.02f, 120), axis=0),"
     " expand_dims(qnn.dequantize(%w, 0.01f, 0), axis=0), transpose_b=True)", None),
    (T, "nn.conv2d_transpose(qnn.dequantize(%x, 0.02f, 120), qnn.dequantize(%w, 0.01f, 3), kernel_size=[3, 3],"
     " channels=3, strides=[2, 2])", None),
]  # fmt: skip


@pytest.mark.rule("RELAY-PASS-31")
@pytest.mark.parametrize(("params", "body", "operators"), CASES)
def test_on_integers(params: str, body: str, operators: list[str] | None) -> None:
    before = main(params, quantized(body))
    after = FakeQuantizationToInteger()(before)
    assert not any(n in ("qnn.dequantize", "nn.conv2d", "nn.dense") for n in names(after)) or "bias" in body
    if operators is not None:
        assert sorted(set(names(after)) - {"qnn.requantize"}) == sorted(set(operators) - {"qnn.requantize"})
    assert np.abs(values(before) - values(after)).max() <= 1


def test_scales_for_each_channel() -> None:
    weight = "qnn.dequantize(%w, Constant(2, (8,), float32), 0, axis=0)"
    body = quantized(f"nn.conv2d({REAL_X}, {weight}, kernel_size=[3, 3], channels=8)", "9f")
    before = main(X, body)
    after = FakeQuantizationToInteger()(before)
    assert "qnn.conv2d" in names(after)
    assert np.abs(values(before) - values(after)).max() <= 1


SIGNED = "%x: Tensor[(3, 8), int8], %w: Tensor[(5, 8), int8], %y: Tensor[(3, 5), int8], %u: Tensor[(3, 8), uint8]"
SUMS = "nn.dense(qnn.dequantize(%x, 0.1f, 0), qnn.dequantize(%w, 0.1f, 0))"
MIXED = [
    "qnn.dequantize(%x, 0.1f, 0) * qnn.dequantize(%x, 0.1f, 0)",  # the result holds no negative numbers
    "qnn.dequantize(%x, 0.1f, 0) - qnn.dequantize(%x, 0.1f, -90)",
    "qnn.dequantize(%u, 0.1f, 128) + qnn.dequantize(%x, 0.1f, 0)",
    f"{SUMS} + qnn.dequantize(%y, 1f, 0)",
    f"{SUMS} * qnn.dequantize(%y, 0.01f, 0)",
    f"{SUMS} * {SUMS} * 0.01f",
    f"{SUMS} * 0.001f",
    "(qnn.dequantize(%x, 0.1f, 0) * 10000f) * 0.0001f",
    "qnn.dequantize(%u, 0.1f, 128) - 1000f + 1001f",
    "qnn.dequantize(%x, 0.1f, 0) * 0f",
    "qnn.dequantize(%u, 0.1f, 0) + qnn.dequantize(%u, 0.1f, 0) - qnn.dequantize(%u, 0.09f, 0)",
    "maximum(qnn.dequantize(%u, 0.1f, 0), qnn.dequantize(%x, 0.1f, 0)) - qnn.dequantize(%u, 0.09f, 0)",
    "concatenate((qnn.dequantize(%u, 0.1f, 0), qnn.dequantize(%x, 0.1f, 0))) - 12f",
]


@pytest.mark.parametrize("body", MIXED)
def test_operands_that_the_result_does_not_hold(body: str) -> None:
    """Guards sums and products of another dtype than the result's, and of numbers: the operands were cut to the range
    of the result, so that the product of negative numbers was 0."""
    before = main(SIGNED, quantized(body))
    after = FakeQuantizationToInteger()(before)
    assert not {"qnn.dequantize", "add", "multiply", "subtract"} & set(names(after))
    assert np.abs(values(before) - values(after)).max() <= 1


def test_a_function_of_sums_stays_between_integers() -> None:
    """Guards that a function whose operand is int32 does not keep the product before it on floats."""
    before = main(X, quantized(f"sigmoid({CONV})", "0.004f", "0"))
    after = FakeQuantizationToInteger()(before)
    assert {"qnn.conv2d", "qnn.dequantize", "sigmoid"} < set(names(after))
    assert np.abs(values(before) - values(after)).max() <= 1


def test_zero_points_for_each_channel() -> None:
    zeros = relay.const(np.array([3, -7, 0, 11, 5, -1, 2, 9], "int32"))
    x, w = relay.var("x", shape=(1, 4, 6, 6), dtype="uint8"), relay.var("w", shape=(8, 4, 3, 3), dtype="int8")
    scale, zero = relay.const(0.02), relay.const(120, "int32")
    weight = relay.qnn.dequantize(w, relay.const(np.linspace(0.01, 0.08, 8).astype("float32")), zeros, axis=0)
    body = relay.nn.conv2d(relay.qnn.dequantize(x, scale, zero), weight, kernel_size=(3, 3), channels=8)
    body = relay.qnn.quantize(body, relay.const(0.9), relay.const(0, "int32"))
    before = InferType()(baton.IRModule.from_expr(relay.Function([x, w], body)))
    after = FakeQuantizationToInteger()(before)
    assert "qnn.conv2d" in names(after)
    assert np.abs(values(before) - values(after)).max() <= 1
    canonical = CanonicalizeOps()(after)
    assert not any(n.startswith("qnn.") for n in names(canonical))
    np.testing.assert_array_equal(values(canonical), values(after))


def weights(count: int, axis: int) -> str:
    """%w, with a scale for each index along an axis."""
    return f"qnn.dequantize(%w, Constant(0.01, ({count},), float32), Constant(0, ({count},), int32), axis={axis})"


CONV_BY_AXIS = "nn.conv2d({}, {}, kernel_size=[3, 3], channels=8)"
NO_RULE = [
    *(f"sin({REAL_X})", f"{REAL_X} + sin({REAL_Y})", 'cast(%x, dtype="float32")'),
    CONV_BY_AXIS.format(REAL_X, weights(4, 1)),  # no scale of the sums
    f"nn.bias_add({CONV_BY_AXIS.format(REAL_X, weights(8, 0))}, Constant(1, (4,), float32), axis=2)",
]


@pytest.mark.parametrize("body", NO_RULE)
def test_what_has_no_rule_stays(body: str) -> None:
    before = main(X, quantized(body))
    assert structural_equal(FakeQuantizationToInteger()(before), before)


@pytest.mark.rule("RELAY-PASS-31")
@pytest.mark.parametrize(("params", "body"), [c[:2] for c in CASES])
def test_canonical_forms_are_exact(params: str, body: str) -> None:
    before = FakeQuantizationToInteger()(main(params, quantized(body)))
    after = CanonicalizeOps()(qnn_legalize()(before))
    assert not any(n.startswith("qnn.") for n in names(after))
    np.testing.assert_array_equal(values(before), values(after))


@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
def test_rounding(rounding: str) -> None:
    body = f'qnn.requantize(%x, 0.5f, 100, 1f, 7, rounding="{rounding}", out_dtype="uint8")'
    before = main("%x: Tensor[(64), uint8]", body)
    np.testing.assert_array_equal(values(before), values(CanonicalizeOps()(before)))


def test_canonical_forms_divide_as_the_operators_do() -> None:
    """0.03 k / 0.02 is a tie in float32 and none in float64."""
    body = "qnn.abs(%x, 0.03f, 0, 0.02f, 1)"
    before = main("%x: Tensor[(64), int8]", body)
    np.testing.assert_array_equal(values(before), values(CanonicalizeOps()(before)))


def quantised(value: Any, scale: float, zero: int) -> Any:
    return relay.qnn.quantize(value, relay.const(scale), relay.const(zero))


def dequantised(value: Any, scale: float, zero: int) -> Any:
    return relay.qnn.dequantize(value, relay.const(scale), relay.const(zero))


def test_rules_of_scripts_with_the_types_of_tuples() -> None:
    """TVM's `TensorAffineType` and `TupleAffineType`, for operators on tuples and with several results."""

    def stacked(call: Any, types: Any) -> list[Any]:
        (fields,), out = call.args, types[call]
        assert isinstance(types[fields], ir.TupleAffineType)
        same = [
            relay.qnn.requantize(
                relay.TupleGetItem(fields, i), t.scale, t.zero_point, out.scale, out.zero_point, out_dtype=out.dtype
            )
            for i, t in enumerate(types[fields].types)
        ]
        return [relay.stack(same, call.attrs.axis), ir.TensorAffineType(out.scale, out.zero_point, out.dtype)]

    def cut(call: Any, types: Any) -> list[Any]:
        type_ = types[call.args[0]]
        return [relay.Call(call.op, call.args, call.attrs), ir.TupleAffineType([type_, type_])]

    relay.transform.register_fake_quantization_to_integer("stack", stacked, level=20)
    relay.transform.register_fake_quantization_to_integer("split", cut, level=20)
    try:
        x = relay.var("x", shape=(4,), dtype="int8")
        halves = relay.split(dequantised(x, 0.5, 3), 2, 0)
        both = relay.stack([halves[1], dequantised(relay.take(x, relay.const([0, 3])), 0.5, -1)], 0)
        module = ir.IRModule.from_expr(relay.Function([x], quantised(both, 0.25, 1)))
        made = relay.transform.FakeQuantizationToInteger(hard_fail=True)(module)
    finally:
        for name in ("stack", "split"):
            relay.op.get(name).reset_attr("FTVMFakeQuantizationToInteger")
    assert "dequantize" not in made.astext()
    value = np.asarray([-4, 3, 20, -9], "int8")
    one, other = (relay.create_executor("debug", m).evaluate()(value).numpy() for m in (module, made))
    np.testing.assert_array_equal(one, other)
