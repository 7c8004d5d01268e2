"""Functions of one operand: name, scalar kernel, NumPy meaning, what dtypes it takes. Rows become OpDefs.

`y[i] = f(x[i])`, same shape and dtype; the checks (`isnan`, ...) give bool. Float-only functions reject integers.
`round` rounds halves to even, `sign` keeps NaN. Source: facts relax-ops-passes-vm §1, relay-language §6 (levels 1, 3).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from baton._src.ir.attrs import Attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import (
    CallMaker,
    Definition,
    Exprs,
    Fusion,
    Gradient,
    Gradients,
    Input,
    NotApplicable,
    OpCall,
    OpDef,
)
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import like
from baton._src.ops.elementwise.special_functions import erf
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.precision import computed_wide
from baton._src.ops.samples import Arr, Sample, each
from baton._src.support.dataclass import dataclass
from baton._src.values.dtype import BOOL, DataType
from baton._src.values.tensor import AnyArray

Slope = Callable[[CallMaker, GraphExpr, GraphExpr], GraphExpr]
"""`slope(b, x, y)` builds dy/dx in operators."""


@dataclass(frozen=True)
class Row:
    """One function. `of_bools`: if not only of floats, it is one of bools, too. `domain` bounds the samples;
    `stage` and `axes` name the kernel's block and loops."""

    name: str
    scalar: Callable[[k.Scalar], k.Scalar]
    numpy: Callable[[AnyArray], AnyArray]
    float_only: bool = True
    domain: tuple[float, float] = (-2.0, 2.0)
    result: str = "same"
    operands: str = "float"
    of_bools: bool = True
    in_relax: bool = True
    slope: Slope | None = None
    no_slope: str = "piecewise constant"
    stage: str = "compute"
    axes: str | None = None


def _rsqrt(x: k.Scalar) -> k.Scalar:
    return k.const(1, x.dtype) / k.sqrt(x)


def _sign(x: k.Scalar) -> k.Scalar:
    zero, one = k.const(0, x.dtype), k.const(1, x.dtype)
    if x.dtype.kind == "uint":
        return k.select(x > zero, one, zero)
    return k.select(x > zero, one, k.select(x < zero, k.const(-1, x.dtype), x if x.dtype.is_float else zero))


def _absolute(x: k.Scalar) -> k.Scalar:
    if x.dtype.is_float:
        return k.fabs(x)
    return x if x.dtype.kind == "uint" else k.maximum(x, k.const(0, x.dtype) - x)


def _rounded(name: str) -> Callable[[k.Scalar], k.Scalar]:
    """A rounding function, which leaves integers unchanged."""
    return lambda x: k.call(name, x) if x.dtype.is_float else x


def _check(name: str, on_integers: bool) -> Callable[[k.Scalar], k.Scalar]:
    return lambda x: k.call(name, x) if x.dtype.is_float else k.const(on_integers, BOOL)


def _whole(function: Callable[[AnyArray], AnyArray]) -> Callable[[AnyArray], AnyArray]:
    return lambda x: x if np.issubdtype(x.dtype, np.integer) else function(x)


def _negative(x: k.Scalar) -> k.Scalar:
    return k.const(0, x.dtype) - x if not x.dtype.is_float else k.const(-1, x.dtype) * x


def _reciprocal(b: CallMaker, value: GraphExpr) -> GraphExpr:
    return b.op("divide", b.full_like(value, 1), value)


def _erf_slope(b: CallMaker, x: GraphExpr, y: GraphExpr) -> GraphExpr:
    bell = b.op("exp", b.op("negative", b.op("multiply", x, x)))
    return b.op("multiply", bell, b.full_like(x, 2 / math.sqrt(math.pi)))


def _inverse_root(sign: float, shift: float) -> Slope:
    """sign / sqrt(shift ± x²): the slopes of asin, acos, asinh, acosh."""

    def slope(b: CallMaker, x: GraphExpr, y: GraphExpr) -> GraphExpr:
        square = b.op("multiply", x, x)
        inside = (
            b.op("add", square, b.full_like(x, shift)) if shift != _ARC else b.op("subtract", b.full_like(x, 1), square)
        )
        return b.op("divide", b.full_like(x, sign), b.op("sqrt", inside))

    return slope


def _inverse(sign: float) -> Slope:
    """1 / (1 + sign * x²): the slopes of atan and atanh."""

    def slope(b: CallMaker, x: GraphExpr, y: GraphExpr) -> GraphExpr:
        square = b.op("multiply", b.op("multiply", x, x), b.full_like(x, sign))
        return _reciprocal(b, b.op("add", square, b.full_like(x, 1)))

    return slope


def _logarithm(base: float) -> Slope:
    return lambda b, x, y: b.op("divide", b.full_like(x, 1 / math.log(base)), x)


_ARC = math.inf
ROWS = (
    Row("exp", k.exp, np.exp, slope=lambda b, x, y: y),
    Row("log", k.log, np.log, domain=(0.1, 4), slope=lambda b, x, y: _reciprocal(b, x)),
    Row("log2", k.log2, np.log2, domain=(0.1, 4), in_relax=False, slope=_logarithm(2)),
    Row("log10", k.log10, np.log10, domain=(0.1, 4), in_relax=False, slope=_logarithm(10)),
    Row("sqrt", k.sqrt, np.sqrt, domain=(0.1, 4), slope=lambda b, x, y: b.op("divide", b.full_like(y, 0.5), y)),
    Row(
        "rsqrt",
        _rsqrt,
        lambda x: 1 / np.sqrt(x),
        domain=(0.1, 4),
        slope=lambda b, x, y: b.op("multiply", b.full_like(y, -0.5), b.op("divide", y, x)),
    ),
    Row("sin", k.sin, np.sin, slope=lambda b, x, y: b.op("cos", x)),
    Row("cos", k.cos, np.cos, slope=lambda b, x, y: b.op("negative", b.op("sin", x))),
    Row(
        "tan",
        k.tan,
        np.tan,
        domain=(-1.2, 1.2),
        slope=lambda b, x, y: b.op("add", b.full_like(y, 1), b.op("multiply", y, y)),
    ),
    Row("sinh", k.sinh, np.sinh, slope=lambda b, x, y: b.op("cosh", x)),
    Row("cosh", k.cosh, np.cosh, slope=lambda b, x, y: b.op("sinh", x)),
    Row("tanh", k.tanh, np.tanh, slope=lambda b, x, y: b.op("subtract", b.full_like(y, 1), b.op("multiply", y, y))),
    Row("asin", k.asin, np.arcsin, domain=(-0.95, 0.95), slope=_inverse_root(1, _ARC)),
    Row("acos", k.acos, np.arccos, domain=(-0.95, 0.95), slope=_inverse_root(-1, _ARC)),
    Row("atan", k.atan, np.arctan, slope=_inverse(1)),
    Row("asinh", k.asinh, np.arcsinh, slope=_inverse_root(1, 1)),
    Row("acosh", k.acosh, np.arccosh, domain=(1.1, 4), slope=_inverse_root(1, -1)),
    Row("atanh", k.atanh, np.arctanh, domain=(-0.95, 0.95), slope=_inverse(-1)),
    Row("erf", k.erf, erf, slope=_erf_slope),
    Row("fast_exp", k.exp, np.exp, in_relax=False, no_slope="introduced by FastMath, after differentiation"),
    Row("fast_tanh", k.tanh, np.tanh, in_relax=False, no_slope="introduced by FastMath, after differentiation"),
    Row("fast_erf", k.erf, erf, in_relax=False, no_slope="introduced by FastMath, after differentiation"),
    Row(
        "sigmoid",
        k.sigmoid,
        lambda x: 1 / (1 + np.exp(-x)),
        slope=lambda b, x, y: b.op("multiply", y, b.op("subtract", b.full_like(y, 1), y)),
    ),
    Row("ceil", _rounded("ceil"), _whole(np.ceil), False),
    Row("floor", _rounded("floor"), _whole(np.floor), False),
    Row("round", _rounded("nearbyint"), _whole(np.rint), False, domain=(-4, 4)),
    Row("trunc", _rounded("trunc"), _whole(np.trunc), False, domain=(-4, 4)),
    Row("sign", _sign, np.sign, False, of_bools=False, stage="T_sign", axes="ax"),
    Row("abs", _absolute, np.abs, False, slope=lambda b, x, y: b.op("sign", x)),
    Row("negative", _negative, np.negative, False, of_bools=False, slope=lambda b, x, y: b.full_like(y, -1)),
    Row(
        "square",
        lambda x: x * x,
        np.square,
        False,
        slope=lambda b, x, y: b.op("add", x, x),
        stage="T_multiply",
        axes="ax",
    ),
    Row("isnan", _check("isnan", False), np.isnan, False, result="bool"),
    Row("isinf", _check("isinf", False), np.isinf, False, result="bool"),
    Row("isfinite", _check("isfinite", True), np.isfinite, False, result="bool"),
    Row(
        "logical_not", lambda x: k.tir.Not(x), np.logical_not, False, operands="bool", stage="T_logical_not", axes="ax"
    ),
    Row(
        "bitwise_not",
        lambda x: k.call("bitwise_not", x) if x.dtype.is_int else k.tir.Not(x),
        np.invert,
        False,
        operands="int",
        stage="T_bitwise_not",
        axes="ax",
    ),
)


def _define(row: Row) -> Definition:
    def infer(call: OpCall[Attrs]) -> Info:
        x = call.tensor(0)
        if not x.dtype.is_void:
            _check_dtype(call, row, x.dtype)
        return like(x, BOOL) if row.result == "bool" else x

    def compute(inputs: Sequence[k.Tensor], attrs: Attrs, out: k.Result) -> k.Tensor:
        return k.elementwise(row.scalar, inputs, out, row.stage, row.axes)

    def reference(inputs: Sequence[AnyArray], attrs: Attrs) -> AnyArray:
        (x,) = inputs
        if row.result == "bool":
            return np.asarray(row.numpy(np.asarray(x)))
        return computed_wide(row.numpy, np.asarray(x))

    return OpDef(
        row.name,
        inputs=(Input("x", relay_name="data"),),
        infer=infer,
        compute=compute,
        reference=reference,
        fusion=Fusion.ELEMWISE,
        layout=FollowsInput(),
        gradient=_gradient(row),
        in_relax=row.in_relax,
        samples=lambda: _samples(row),
        summary=f"Elementwise {row.name.replace('_', ' ')}." + (" The result is bool." if row.result == "bool" else ""),
    )


def _check_dtype(call: OpCall[Attrs], row: Row, dtype: DataType) -> None:
    if row.float_only and not dtype.is_float:
        call.fail(f"takes floating-point elements, got {dtype}", code="op-dtype", help="astype first")
    if row.operands == "bool" and not dtype.is_bool:
        call.fail(f"takes bool elements, got {dtype}", code="op-dtype", help='astype(x, "bool") first')
    if dtype.is_bool and not row.of_bools:
        call.fail("takes numbers, got bool", code="op-dtype", help='astype(x, "int32") first, or logical_not')
    if row.operands == "int" and dtype.is_float:
        call.fail(f"takes integer or bool elements, got {dtype}", code="op-dtype")


_SAMPLED = {
    "float": ("float32", "float64", "float16", "bfloat16"),
    "bool": ("bool",),
    "int": ("int32", "uint8", "bool"),
}
"""Dtypes of the samples, by the kind of operands."""


def _samples(row: Row) -> tuple[Sample, ...]:
    low, high = row.domain
    dtypes = _SAMPLED[row.operands] + (("int32",) if row.operands == "float" and not row.float_only else ())
    small = [Sample((Arr(("n", 4), d, low, high),), rtol=2e-2 if "16" in d else 2e-5) for d in dtypes]
    return (*small, *each((Arr((), dtypes[0], low, high),), rtol=2e-5))


def _gradient(row: Row) -> Gradient[Attrs] | NotApplicable:
    slope = row.slope
    if slope is None:
        return NotApplicable(row.no_slope)

    def gradient(b: CallMaker, args: Exprs, attrs: Attrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
        return [b.op("multiply", grad, slope(b, args[0], out))]

    return gradient


UNARY: tuple[Definition, ...] = tuple(_define(row) for row in ROWS)
