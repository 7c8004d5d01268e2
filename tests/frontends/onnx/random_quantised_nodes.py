"""How to draw quantised nodes: `QUANTISED`, for `random_graphs.grown`.

Scales are powers of two, so that all numbers stay exact and a rounding that is done at another place is seen. Products
are drawn as both kinds of models have them: on integers, and on real numbers between DequantizeLinear and
QuantizeLinear.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.frontends.onnx.random_graphs import Drawn, Plan, Scope, Unsuited, appended
from tests.frontends.onnx.random_nodes import (
    clip,
    concat,
    convolution,
    cut,
    exact,
    gather,
    pad,
    product,
    reduction,
    reshape,
    transpose,
)  # fmt: skip

BYTES = (np.int8, np.uint8)
MICROSOFT = "com.microsoft"


def _scale(s: Scope, *dims: int) -> Drawn:
    return s.given((2.0 ** s.random.integers(-4, 1, dims)).astype("float32"))


def _zero(s: Scope, dtype: Any, *dims: int) -> Drawn:
    low = 0 if np.dtype(dtype) == np.uint8 else -9
    return s.given(s.random.integers(low, 10, dims).astype(dtype) * (s.random.random() < 0.7))


def _weights(s: Scope, *dims: int, dtype: Any = None) -> Drawn:
    kind = np.dtype(s.choice(BYTES) if dtype is None else dtype)
    return s.given(s.random.integers(*((-5, 6) if kind == np.int8 else (0, 9)), dims).astype(kind))


def _bytes(s: Scope, ranks: Any = (1, 2, 3, 4)) -> Drawn:
    """Numbers of 8 bits; made of real ones if there are none."""
    fitting = [v for v in s.values if v.dtype in BYTES and v.rank in ranks and all(a.size for a in v.arrays)]
    return s.choice(fitting) if fitting and s.chance(0.8) else appended(s, quantize(s, ranks))


def quantize(s: Scope, ranks: Any = (1, 2, 3, 4)) -> Plan:
    """By one scale, or one for each part of an axis."""
    x = s.pick("f", ranks=ranks, exact=True)
    if x.dtype != np.float32:
        raise Unsuited
    axis, dtype = int(s.random.integers(x.rank)), s.choice(BYTES)
    dims = [x.least(axis)] if x.has_one_size(axis) and s.chance(0.3) else []
    zero = [_zero(s, dtype, *dims)] if dtype != np.uint8 or s.chance(0.8) else []
    return Plan("QuantizeLinear", [x, _scale(s, *dims), *zero], {"axis": axis} if dims else {})


def dequantize(s: Scope) -> Plan:
    """Also of the sums of integers."""
    sums = [v for v in s.values if v.dtype == np.int32 and v.rank]
    if sums and s.chance(0.3):
        return Plan("DequantizeLinear", [s.choice(sums), _scale(s)])
    x = _bytes(s)
    axis = int(s.random.integers(x.rank))
    dims = [x.least(axis)] if x.has_one_size(axis) and s.chance(0.3) else []
    return Plan("DequantizeLinear", [x, _scale(s, *dims), _zero(s, x.dtype, *dims)], {"axis": axis} if dims else {})


def _real(s: Scope, x: Drawn) -> Drawn:
    return appended(s, Plan("DequantizeLinear", [x, _scale(s), _zero(s, x.dtype)]))


def _requantized(s: Scope, real: Drawn) -> Plan:
    dtype = s.choice(BYTES)
    if not real.exact:
        raise Unsuited
    return Plan("QuantizeLinear", [real, _scale(s), _zero(s, dtype)])


def real_product(s: Scope) -> Plan:
    """MatMul, Gemm or Conv of dequantised numbers, quantised again."""
    x = _bytes(s, (2, 3, 4))
    if x.rank == 4 and s.chance(0.8):
        weight, bias, attributes = _kernel(s, x, x.least(1))
        scale = _scale(s, weight.arrays[0].shape[0]) if s.chance(0.5) else _scale(s)
        w = appended(s, Plan("DequantizeLinear", [weight, scale], {"axis": 0}))
        return _requantized(s, appended(s, Plan("Conv", [_real(s, x), w, *bias], attributes)))
    w = appended(s, Plan("DequantizeLinear", [_weights(s, x.least(x.rank - 1), s.choice([1, 4])), _scale(s)]))
    op = "Gemm" if x.rank == 2 and s.chance(0.4) else "MatMul"
    return _requantized(s, appended(s, Plan(op, [_real(s, x), w])))


def _kernel(s: Scope, x: Drawn, channels: int) -> tuple[Drawn, list[Drawn], dict[str, Any]]:
    size, group = s.choice([1, 3]), channels if s.chance(0.3) else 1
    if min(x.least(2), x.least(3)) < size or not x.has_one_size(1):
        raise Unsuited
    outputs = group * s.choice([1, 2, 3])
    attributes = {"kernel_shape": [size] * 2, "pads": [s.choice([0, 1])] * 4, "strides": [s.choice([1, 2])] * 2}
    bias = [s.given(s.numbers(outputs))] if s.chance(0.5) else []
    return _weights(s, outputs, channels // group, size, size), bias, {**attributes, "group": group}


def real_function(s: Scope) -> Plan:
    """What keeps numbers exact, of dequantised ones, quantised again."""
    real = _real(s, _bytes(s))
    op = s.choice(["Relu", "Neg", "Abs", "Add", "Mul", "MaxPool", "Transpose", "ReduceMax", "Concat"])
    if op in ("Add", "Mul"):
        return _requantized(s, appended(s, Plan(op, [real, real if s.chance(0.4) else _real(s, _bytes(s))])))
    if op == "MaxPool":
        if min((real.least(a) for a in range(2, real.rank)), default=0) < 2:  # no window, which baton refuses
            raise Unsuited
        return _requantized(s, appended(s, Plan(op, [real], {"kernel_shape": [2] * (real.rank - 2)})))
    if op == "Concat":
        return _requantized(s, appended(s, Plan(op, [real, real], {"axis": int(s.random.integers(real.rank))})))
    return _requantized(s, appended(s, Plan(op, [real])))


def whole_product(s: Scope) -> Plan:
    """MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv."""
    x = _bytes(s, (2, 3, 4))
    x_zero, scale, zero = _zero(s, x.dtype), _scale(s), _zero(s, x.dtype)
    if x.rank == 4 and s.chance(0.8):
        weight, bias, attributes = _kernel(s, x, x.least(1))
        w_zero = _zero(s, weight.dtype)
        if s.chance(0.4):
            return Plan("ConvInteger", [x, weight, x_zero, w_zero], attributes)
        whole = [s.given(b.arrays[0].astype("int32")) for b in bias]
        operands = [x, _scale(s), x_zero, weight, _scale(s), w_zero, scale, zero, *whole]
        return Plan("QLinearConv", operands, attributes)
    w = _weights(s, x.least(x.rank - 1), s.choice([1, 4]))
    w_zero = _zero(s, w.dtype)
    if s.chance(0.4):
        return Plan("MatMulInteger", [x, w, x_zero, w_zero])
    return Plan("QLinearMatMul", [x, _scale(s), x_zero, w, _scale(s), w_zero, scale, zero])


def whole_function(s: Scope) -> Plan:
    """What ONNX Runtime computes of integers. It adds the new zero point before it rounds halves to even, baton behind
    that, as QuantizeLinear does: with an even one it is the same."""
    x = _bytes(s)
    op = s.choice(["QLinearAdd", "QLinearMul", "QLinearConcat", "QLinearLeakyRelu", "QLinearGlobalAveragePool"])
    scale, zero = _scale(s), s.given(np.array(s.choice([0, 2, 8]), x.dtype))
    one = [x, _scale(s), _zero(s, x.dtype)]
    if op in ("QLinearAdd", "QLinearMul"):
        other = x if s.chance(0.5) else _weights(s, x.least(x.rank - 1), dtype=x.dtype)
        return Plan(op, [*one, other, _scale(s), _zero(s, x.dtype), scale, zero], domain=MICROSOFT)
    if op == "QLinearConcat":
        axis = {"axis": int(s.random.integers(x.rank))}
        return Plan(op, [scale, zero, *one, x, _scale(s), _zero(s, x.dtype)], axis, domain=MICROSOFT)
    if op == "QLinearLeakyRelu":
        return Plan(op, [*one, scale, zero], {"alpha": 0.25}, domain=MICROSOFT)
    if any((a.shape[2] * a.shape[3]).bit_count() > 1 for a in x.arrays):
        raise Unsuited
    return Plan(op, [*one, scale, zero], domain=MICROSOFT)


QUANTISED = (
    quantize, quantize, dequantize, dequantize, real_product, real_product, real_product, real_function, real_function,
    whole_product, whole_product, whole_function, whole_function, clip, concat, convolution, cut, exact, gather, pad,
    product, reduction, reshape, transpose,
)  # fmt: skip
