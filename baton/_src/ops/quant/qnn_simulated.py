"""qnn.simulated_quantize and qnn.simulated_dequantize: quantisation in floats, to a dtype that is a number at run time.

    simulated_quantize     clip(round(x / scale) + zero_point) to the range of the dtype, as floats
    simulated_dequantize   (x - zero_point) * scale

The dtype is an int32 scalar: 1 is int8, 2 uint8, 3 int32, others (0) leave the data alone. So one program tries out
what the dtypes cost, without being compiled again. Halves go to the even neighbour, as in quantize; scales and zero
points are vectors along `axis`, or have one element. Source: facts relay-language §6 level 11.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import (
    AnyMaker,
    Argument,
    Compute,
    Definition,
    Fusion,
    Input,
    NotApplicable,
    OpCall,
    OpDef,
    OwnMaker,
    Reference,
)
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.dims import show_shape
from baton._src.ops.operand_checks import check_floats
from baton._src.ops.quant.parameters import check_lengths, np_along, parameter_at
from baton._src.ops.samples import Arr, Sample
from baton._src.support.diagnostics import fail
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

CODES = {"disable": 0, "int8": 1, "uint8": 2, "int32": 3}
"""What the scalar that names the dtype holds."""

_RANGES = {code: DataType(name).int_range for name, code in CODES.items() if code}
_REAL = "float64"


@attrs
class SimulatedAttrs(Attrs):
    """The axis."""

    axis: int = attr(-1, "the axis along which scale and zero point vary")


def infer(call: OpCall[SimulatedAttrs]) -> Info:
    """The data's own type."""
    x, code = call.tensor(0), call.tensor(1)
    check_floats(call, 0)
    if code.ndim not in (-1, 0) or not (code.dtype.is_void or code.dtype.is_int):
        call.fail(f"{call.op.inputs[1].name} must be an integer scalar, got {show_shape(code.shape, code.ndim)}")
    if x.ndim > 0:
        normal_axis(call, call.attrs.axis, x.ndim)
    check_lengths(call, (2, 3), x, call.attrs.axis)
    return x


def _compute(
    name: str, value_of: Callable[[k.Scalar, k.Scalar, k.Scalar, k.Scalar], k.Scalar]
) -> Compute[SimulatedAttrs]:
    """Elements by `value_of(x, scale, zero point, code)` in float64, where the code is a dtype's."""

    def compute(inputs: Sequence[k.Tensor], a: SimulatedAttrs, out: k.Result) -> k.Tensor:
        x, code, scale, zero = inputs
        axis = from_front(a.axis, x.ndim) if x.ndim else 0

        def body(*i: k.Scalar) -> k.Scalar:
            kind, element = k.cast("int32", code()), x(*i)
            own_scale, own_zero = (k.cast(_REAL, parameter_at(v, i, axis)) for v in (scale, zero))
            value = value_of(k.cast(_REAL, element), own_scale, own_zero, kind)
            known = k.all_of([kind > k.const(0, "int32"), kind <= k.const(max(_RANGES), "int32")])
            return k.select(known, k.cast(out.dtype, value), element)

        return k.compute(out.shape, body, name)

    return compute


def _quantized(x: k.Scalar, scale: k.Scalar, zero: k.Scalar, kind: k.Scalar) -> k.Scalar:
    value = k.nearbyint(x / scale) + zero
    low, high = (k.const(float(bound), _REAL) for bound in _RANGES[3])
    for code in (1, 2):
        least, most = (k.const(float(bound), _REAL) for bound in _RANGES[code])
        is_it = k.tir.EQ(kind, k.const(code, "int32"))
        low, high = k.select(is_it, least, low), k.select(is_it, most, high)
    return k.maximum(low, k.minimum(high, value))


def _reference(value_of: Callable[[AnyArray, AnyArray, AnyArray, int], AnyArray]) -> Reference[SimulatedAttrs]:
    def reference(inputs: Sequence[AnyArray], a: SimulatedAttrs) -> AnyArray:
        x, code, *parameters = inputs
        if int(code) not in _RANGES:
            return x
        scale, zero = (np_along(np.asarray(v).astype(np.float64), x.ndim, a.axis) for v in parameters)
        return np.asarray(value_of(x.astype(np.float64), scale, zero, int(code))).astype(x.dtype)

    return reference


def relay_quantize(
    make: OwnMaker,
    data: GraphExpr,
    output_scale: Argument,
    output_zero_point: Argument,
    axis: int = -1,
    out_dtype: str | GraphExpr = "int8",
) -> GraphExpr:
    """TVM's order: the dtype comes last, by name or as a scalar."""
    return make(data, _code(make, out_dtype), output_scale, output_zero_point, axis=axis)


def relay_dequantize(
    make: OwnMaker,
    data: GraphExpr,
    input_scale: Argument,
    input_zero_point: Argument,
    axis: int = -1,
    in_dtype: str | GraphExpr = "int8",
) -> GraphExpr:
    """The same."""
    return make(data, _code(make, in_dtype), input_scale, input_zero_point, axis=axis)


def _code(make: AnyMaker, dtype: str | GraphExpr) -> GraphExpr:
    """The number of a dtype that is given by name; an operand as it is."""
    if not isinstance(dtype, str):
        return dtype
    if dtype not in CODES:
        raise fail("op-argument", f"nothing is quantised to {dtype!r}", help=f"one of {', '.join(CODES)}")
    return make.const(np.array(CODES[dtype], "int32"))


def _samples() -> tuple[Sample, ...]:
    scalars = (Arr((), values=0.05), Arr((), "int32", values=3))
    vectors = (Arr((4,), low=0.01, high=0.5), Arr((4,), "int32", -5, 5))
    return (
        *(
            Sample((Arr(("n", 4), low=-20, high=20), Arr((), "int32", values=c), *scalars), SimulatedAttrs())
            for c in (0, 1)
        ),
        *(Sample((Arr((2, 4, 3)), Arr((), "int32", values=c), *vectors), SimulatedAttrs(1)) for c in (2, 3)),
    )


def _define(
    name: str,
    parameter: str,
    dtype: str,
    builder: Callable[..., GraphExpr],
    summary: str,
    compute: Callable[[k.Scalar, k.Scalar, k.Scalar, k.Scalar], k.Scalar],
    reference: Callable[[AnyArray, AnyArray, AnyArray, int], AnyArray],
) -> OpDef[SimulatedAttrs]:
    return OpDef(
        f"qnn.{name}",
        SimulatedAttrs,
        inputs=(
            Input("data"),
            Input(dtype, "the dtype's number"),
            Input(f"{parameter}_scale", "a scalar or a vector"),
            Input(f"{parameter}_zero_point", "a scalar or a vector"),
        ),
        infer=infer,
        compute=_compute(name, compute),
        reference=_reference(reference),
        gradient=NotApplicable("Relay does not offer it"),
        # Not ELEMWISE: the operands have dtypes of their own, also where Relay's text has bare numbers.
        fusion=Fusion.INJECTIVE,
        in_relax=False,
        relay_builder=builder,
        samples=_samples,
        summary=summary,
    )


QNN_SIMULATED: tuple[Definition, ...] = (
    _define(
        "simulated_quantize",
        "output",
        "out_dtype",
        relay_quantize,
        "quantize in floats, to a dtype that is a number at run time.",
        _quantized,
        lambda x, scale, zero, code: np.clip(np.rint(x / scale) + zero, *_RANGES[code]),
    ),
    _define(
        "simulated_dequantize",
        "input",
        "in_dtype",
        relay_dequantize,
        "dequantize in floats, of a dtype that is a number at run time.",
        lambda x, scale, zero, kind: (x - zero) * scale,
        lambda x, scale, zero, code: (x - zero) * scale,
    ),
)
