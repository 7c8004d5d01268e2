"""Functions of quantised tensors (Relay's dialect qnn): tanh, softmax, leaky_relu, ..., means, concatenation.

Each is the function of the real numbers that the integers stand for, quantised again:

    qnn.tanh(x, s, z, so, zo)  =  quantize(tanh(dequantize(x, s, z)), so, zo), in the dtype of x

concatenate gives every part the result's scale and zero point first. Source: facts relay-language §6 level 11.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from baton._src.ir.attrs import NO_ATTRS, Attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import (
    Argument,
    CallMaker,
    Definition,
    Exprs,
    Fusion,
    Input,
    NotApplicable,
    OpCall,
    OpDef,
    OwnMaker,
)
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops.elementwise.activations import ACTIVATIONS
from baton._src.ops.elementwise.unary import UNARY
from baton._src.ops.nn.pooling.pooling import POOLING
from baton._src.ops.nn.softmax import SOFTMAX
from baton._src.ops.quant.affine import DequantizeAttrs, QuantizeAttrs, reference_dequantize, reference_quantize
from baton._src.ops.quant.requantize import (
    RequantizeAttrs,
    check_parameter,
    check_parameters,
    reference_requantize,
    scalars,
)
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.shape.joining import CONCAT, ConcatAttrs
from baton._src.values.dtype import FLOAT32, DataType
from baton._src.values.tensor import AnyArray

_NO_SLOPE = NotApplicable("integers")
_DECOMPOSED = NotApplicable("decomposed into dequantize, the function, and quantize")
_BASES: dict[str, Definition] = {d.name: d for d in (*UNARY, *ACTIVATIONS, *POOLING, SOFTMAX)}


def _real(x: TensorInfo) -> TensorInfo:
    return dataclasses.replace(x, dtype=FLOAT32)


def _function(
    name: str,
    base: str,
    samples: Callable[[], Sequence[Sample]],
    first: tuple[str, str] = ("scale", "zero_point"),
    builder: Callable[..., GraphExpr] | None = None,
    spelled: tuple[Callable[[CallMaker, GraphExpr], GraphExpr], Callable[[AnyArray], AnyArray]] | None = None,
) -> Definition:
    """`base` on the real numbers. `first`: what the parameters of the operand are called; `spelled`: where Relay
    has no such function, what to build (and to compute over NumPy) instead of a call of `base`."""
    plain = _BASES[base]

    def infer(call: OpCall[Attrs]) -> Info:
        x = call.tensor(0)
        if not x.dtype.is_void and not (x.dtype.is_int and x.dtype.bits <= 32):
            call.fail(f"takes a quantised operand, got {x.dtype}", code="op-dtype", help="qnn.quantize first")
        check_parameters(call, (1, 2, 3, 4))
        found = plain.infer(OpCall(plain, (_real(x),), call.attrs, call.prover, (), call.span))
        assert isinstance(found, TensorInfo)
        return dataclasses.replace(found, dtype=x.dtype)

    def reference(inputs: Sequence[AnyArray], a: Attrs) -> AnyArray:
        x, scale, zero, new_scale, new_zero = inputs
        assert callable(plain.reference)
        data = reference_dequantize((x, scale, zero), DequantizeAttrs())
        real = plain.reference((data,), a) if spelled is None else spelled[1](data)
        return reference_quantize((real, new_scale, new_zero), QuantizeAttrs(out_dtype=DataType(x.dtype)))

    def decompose(b: CallMaker, args: Exprs, a: Attrs, out: TensorInfo) -> GraphExpr:
        x, scale, zero, new_scale, new_zero = args
        options = {f: getattr(a, f) for f in plain.attrs.names}
        real = b.op("dequantize", x, scale, zero)
        real = b.op(plain.name, real, **options) if spelled is None else spelled[0](b, real)
        return b.op("quantize", real, new_scale, new_zero, out_dtype=out.dtype)

    return OpDef(
        f"qnn.{name}",
        plain.attrs,
        inputs=tuple(Input(n) for n in ("x", *first, "output_scale", "output_zero_point")),
        infer=infer,
        compute=_DECOMPOSED,
        reference=reference,
        decompose=decompose,
        gradient=_NO_SLOPE,
        fusion=plain.fusion,
        layout=plain.layout,
        in_relax=False,
        relay_builder=builder,
        samples=samples,
        summary=f"{name} of a quantised tensor: computed on the real numbers it represents, then quantised.",
    )


def _case(x: Arr, a: Attrs = NO_ATTRS) -> tuple[Sample, ...]:
    return (Sample((x, *scalars(1), Arr((), low=0.01, high=0.02), Arr((), "int32", -5, 5)), a),)


def _signed(low: int = -99) -> Callable[[], Sequence[Sample]]:
    return lambda: _case(Arr(("n", 6), "int8", low, 99))


def relay_leaky(
    make: OwnMaker,
    x: GraphExpr,
    alpha: float,
    input_scale: Argument,
    input_zero_point: Argument,
    output_scale: Argument,
    output_zero_point: Argument,
) -> GraphExpr:
    """TVM's order: the slope comes second."""
    return make(x, input_scale, input_zero_point, output_scale, output_zero_point, alpha=alpha)


def relay_pool(
    make: OwnMaker,
    data: GraphExpr,
    input_scale: Argument,
    input_zero_point: Argument,
    output_scale: Argument,
    output_zero_point: Argument,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int] = (1, 1),
    padding: int | Sequence[int] = (0, 0),
    dilation: int | Sequence[int] = (1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "NHWC",
    out_layout: str = "",
) -> GraphExpr:
    """TVM's order and defaults."""
    operands = (data, input_scale, input_zero_point, output_scale, output_zero_point)
    options = {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad, "out_layout": out_layout}
    geometry = {"pool_size": pool_size, "strides": strides, "padding": padding, "dilation": dilation}
    return make(*operands, layout=layout, **geometry, **options)


def _hard_swish(b: CallMaker, x: GraphExpr) -> GraphExpr:
    """x * min(max(x + 3, 0), 6) / 6"""
    low, high, step, part = (b.const(v, "float32") for v in (0.0, 6.0, 3.0, 1 / 6))
    bounded = b.op("minimum", b.op("maximum", b.op("add", x, step), low), high)
    return b.op("multiply", x, b.op("multiply", bounded, part))


def _np_hard_swish(x: AnyArray) -> AnyArray:
    found: AnyArray = x * (np.clip(x + 3, 0, 6) * np.float32(1 / 6))
    return found


FUNCTIONS: tuple[Definition, ...] = (
    *(_function(n, n, _signed()) for n in ("abs", "tanh", "erf", "exp", "sigmoid")),
    *(_function(n, n, _signed(6)) for n in ("sqrt", "rsqrt", "log")),
    _function("hardswish", "nn.relu", _signed(), spelled=(_hard_swish, _np_hard_swish)),
    _function(
        "leaky_relu",
        "nn.leaky_relu",
        lambda: _case(Arr(("n", 6), "int8", -99, 99), _BASES["nn.leaky_relu"].attrs(alpha=0.3)),
        ("input_scale", "input_zero_point"),
        relay_leaky,
    ),
    _function("softmax", "nn.softmax", lambda: _case(Arr(("n", 6), "int8", -99, 99), SOFTMAX.attrs(axis=-1))),
    _function(
        "avg_pool2d",
        "nn.avg_pool2d",
        lambda: _case(
            Arr((1, 5, 6, 2), "uint8", 0, 255),
            _BASES["nn.avg_pool2d"].attrs(pool_size=(2, 3), padding=1, layout="NHWC", count_include_pad=True),
        ),
        ("input_scale", "input_zero_point"),
        relay_pool,
    ),
)

# -------------------------------------------------------------------------------------------------- concatenation


def infer_concatenate(call: OpCall[ConcatAttrs]) -> Info:
    """The parts' concatenation; a scale and a zero point for each."""
    counts = [len(v.fields) if isinstance(v, TupleInfo) else -1 for v in call.args[:3]]
    if len(set(counts)) != 1 or counts[0] < 1:
        call.fail("takes tuples of tensors, scales and zero points, as many of each", code="op-argument")
    check_parameters(call, (3, 4))
    for name, infos in zip(("data", "scale", "zero point"), call.args[:3]):
        for n, v in enumerate(infos.fields if isinstance(infos, TupleInfo) else ()):
            if not isinstance(v, TensorInfo):
                call.fail(f"{name} {n} must be a tensor", code="op-argument")
            if name != "data":
                check_parameter(call, f"{name} {n}", v)
            elif not v.dtype.is_void and not v.dtype.is_int:
                call.fail(f"data {n} must be quantised, got {v.dtype}", code="op-dtype", help="qnn.quantize first")
    return CONCAT.infer(OpCall(call.op, call.args[:1], call.attrs, call.prover, (), call.span))


def reference_concatenate(inputs: Sequence[AnyArray], a: ConcatAttrs) -> AnyArray:
    """The parts with the result's parameters, joined."""
    data, scales, zeros, scale, zero = inputs
    attributes = RequantizeAttrs(out_dtype=DataType(data[0].dtype))
    parts = [reference_requantize((x, s, z, scale, zero), attributes) for x, s, z in zip(data, scales, zeros)]
    return np.concatenate(parts, axis=a.axis)


def decompose_concatenate(b: CallMaker, args: Exprs, a: ConcatAttrs, out: TensorInfo) -> GraphExpr:
    """requantize, then concat."""
    count = len(args[0].struct_info.fields)
    parts = [
        b.op("qnn.requantize", *(b.item(v, i) for v in args[:3]), *args[3:], out_dtype=out.dtype) for i in range(count)
    ]
    return b.op("concat", b.tuple(*parts), axis=a.axis)


CONCATENATE = OpDef(
    "qnn.concatenate",
    ConcatAttrs,
    inputs=(
        *(Input(n, kind="tensors") for n in ("data", "input_scales", "input_zero_points")),
        Input("output_scale"),
        Input("output_zero_point"),
    ),
    infer=infer_concatenate,
    compute=_DECOMPOSED,
    reference=reference_concatenate,
    decompose=decompose_concatenate,
    gradient=_NO_SLOPE,
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    samples=lambda: (
        Sample(
            (
                (Arr(("n", 4), "int8", -99, 99), Arr((2, 4), "int8", -99, 99)),
                (Arr((), low=0.1, high=0.2), Arr((), low=0.2, high=0.3)),
                (Arr((), "int32", -5, 5), Arr((), "int32", -5, 5)),
                *scalars(1),
            ),
            ConcatAttrs(axis=0),
        ),
    ),
    summary="Concatenate quantised tensors along an axis, with one scale and zero point.",
)

QNN_FUNCTIONS: tuple[Definition, ...] = (*FUNCTIONS, CONCATENATE)
