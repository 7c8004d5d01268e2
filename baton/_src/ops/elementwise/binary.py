"""Arithmetic, logic, bits and comparisons of two operands, broadcast. Rows become OpDefs.

`divide` and `mod` truncate on integers (C's), `floor_*` round down (Python's). A host scalar may stand for an operand.
Source: facts relax-ops-passes-vm §1, relay-language §6 (levels 1, 4).
"""

from __future__ import annotations

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
from baton._src.ops.broadcasting import infer_broadcast, infer_comparison, operand
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.precision import computed_wide
from baton._src.ops.samples import Arr, Sample, SampleDim
from baton._src.support.dataclass import dataclass
from baton._src.tir.integer_power import power
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

tir = k.tir


Pair = tuple[GraphExpr, GraphExpr]
Slopes = Callable[[CallMaker, GraphExpr, GraphExpr, GraphExpr, GraphExpr], Pair]
"""`slopes(b, x, y, out, grad)` builds both gradients."""


@dataclass(frozen=True)
class Row:
    """One operator. `operands`: number (and bool if `of_bools`), int (and bool), int only, bool."""

    name: str
    scalar: k.Combine
    numpy: Callable[[AnyArray, AnyArray], AnyArray]
    operands: str = "number"
    of_bools: bool = True
    compares: bool = False
    low: float = -4.0
    high: float = 5.0
    right_low: float | None = None
    in_relax: bool = True
    slopes: Slopes | None = None


def _divide(a: k.Scalar, b: k.Scalar) -> k.Scalar:
    return tir.Div(a, b)


def _np_divide(a: AnyArray, b: AnyArray) -> AnyArray:
    if np.issubdtype(np.asarray(a).dtype, np.integer):  # an integer divided by zero is zero, as in kernels
        divisor = np.where(b == 0, 1, b).astype(np.asarray(b).dtype)
        below, rest = np.floor_divide(a, divisor), np.mod(a, divisor)
        return np.where(b == 0, 0, below + ((rest != 0) & ((a < 0) != (b < 0)))).astype(a.dtype)
    return np.true_divide(a, b)


def _np_trunc_divide(a: AnyArray, b: AnyArray) -> AnyArray:
    found = _np_divide(a, b)
    return found if np.issubdtype(np.asarray(a).dtype, np.integer) else np.trunc(found)


def _trunc_divide(a: k.Scalar, b: k.Scalar) -> k.Scalar:
    return k.trunc(tir.Div(a, b)) if a.dtype.is_float else tir.Div(a, b)


def _floor_divide(a: k.Scalar, b: k.Scalar) -> k.Scalar:
    return k.floor(tir.Div(a, b)) if a.dtype.is_float else tir.FloorDiv(a, b)


def _np_floor_divide(a: AnyArray, b: AnyArray) -> AnyArray:
    return a // b if np.issubdtype(np.asarray(a).dtype, np.integer) else np.floor(np.true_divide(a, b))


def _mod(a: k.Scalar, b: k.Scalar) -> k.Scalar:
    return k.call("fmod", a, b) if a.dtype.is_float else tir.Mod(a, b)


def _bits(name: str, on_bools: k.Combine) -> k.Combine:
    return lambda a, b: on_bools(a, b) if a.dtype.is_bool else k.call(name, a, b)


def _and(a: k.Scalar, b: k.Scalar) -> k.Scalar:
    """Both operands are there anyway: `tir.And` reads the second one only where the first one is true."""
    return tir.Select(a, b, k.const(False, "bool"))


def _or(a: k.Scalar, b: k.Scalar) -> k.Scalar:
    return tir.Select(a, k.const(True, "bool"), b)


def _xor(a: k.Scalar, b: k.Scalar) -> k.Scalar:
    return tir.NE(a, b)


def _add_slopes(b: CallMaker, x: GraphExpr, y: GraphExpr, out: GraphExpr, grad: GraphExpr) -> Pair:
    return grad, grad


def _subtract_slopes(b: CallMaker, x: GraphExpr, y: GraphExpr, out: GraphExpr, grad: GraphExpr) -> Pair:
    return grad, b.op("negative", grad)


def _multiply_slopes(b: CallMaker, x: GraphExpr, y: GraphExpr, out: GraphExpr, grad: GraphExpr) -> Pair:
    return b.op("multiply", grad, y), b.op("multiply", grad, x)


def _divide_slopes(b: CallMaker, x: GraphExpr, y: GraphExpr, out: GraphExpr, grad: GraphExpr) -> Pair:
    left = b.op("divide", grad, y)
    return left, b.op("negative", b.op("multiply", left, out))


def _power_slopes(b: CallMaker, x: GraphExpr, y: GraphExpr, out: GraphExpr, grad: GraphExpr) -> Pair:
    """Of 0 to the power of 0 they are 0: neither is 0 * x**-1 computed there, nor the logarithm."""
    is_zero = b.op("equal", y, b.full_like(y, 0))
    below = b.op("power", x, b.op("where", is_zero, y, b.op("subtract", y, b.full_like(y, 1))))
    left = b.op("multiply", grad, b.op("multiply", y, below))
    base = b.op("where", b.op("equal", x, b.full_like(x, 0)), b.full_like(x, 1), x)
    return left, b.op("multiply", grad, b.op("multiply", out, b.op("log", base)))


def _remainder_slopes(quotient: str) -> Slopes:
    """x - quotient * y, where the quotient is a whole number."""

    def slopes(b: CallMaker, x: GraphExpr, y: GraphExpr, out: GraphExpr, grad: GraphExpr) -> Pair:
        return grad, b.op("negative", b.op("multiply", grad, b.op(quotient, x, y)))

    return slopes


def _extremum_slopes(comparison: str) -> Slopes:
    def slopes(b: CallMaker, x: GraphExpr, y: GraphExpr, out: GraphExpr, grad: GraphExpr) -> Pair:
        left = b.op(comparison, x, y)
        zero = b.full_like(grad, 0)
        return b.op("where", left, grad, zero), b.op("where", left, zero, grad)

    return slopes


ROWS = (
    Row("add", tir.Add, np.add, slopes=_add_slopes),
    Row("subtract", tir.Sub, np.subtract, of_bools=False, slopes=_subtract_slopes),
    Row("multiply", tir.Mul, np.multiply, slopes=_multiply_slopes),
    Row("divide", _divide, _np_divide, of_bools=False, right_low=1.0, slopes=_divide_slopes),
    Row("floor_divide", _floor_divide, _np_floor_divide, of_bools=False, right_low=1.0),
    Row("mod", _mod, np.fmod, of_bools=False, right_low=1.0, slopes=_remainder_slopes("trunc_divide")),
    Row("floor_mod", tir.FloorMod, np.mod, of_bools=False, right_low=1.0, slopes=_remainder_slopes("floor_divide")),
    Row("trunc_divide", _trunc_divide, _np_trunc_divide, of_bools=False, right_low=1.0, in_relax=False),
    Row(
        "trunc_mod",
        _mod,
        np.fmod,
        of_bools=False,
        right_low=1.0,
        in_relax=False,
        slopes=_remainder_slopes("trunc_divide"),
    ),
    Row("power", k.power, power, low=1.0, high=4.0, slopes=_power_slopes),
    Row("maximum", tir.Max, np.maximum, slopes=_extremum_slopes("greater_equal")),
    Row("minimum", tir.Min, np.minimum, slopes=_extremum_slopes("less_equal")),
    Row("logical_and", _and, np.logical_and, "bool"),
    Row("logical_or", _or, np.logical_or, "bool"),
    Row("logical_xor", _xor, np.logical_xor, "bool"),
    Row("bitwise_and", _bits("bitwise_and", _and), np.bitwise_and, "int"),
    Row("bitwise_or", _bits("bitwise_or", _or), np.bitwise_or, "int"),
    Row("bitwise_xor", _bits("bitwise_xor", _xor), np.bitwise_xor, "int"),
    Row("left_shift", lambda a, b: k.call("shift_left", a, b), np.left_shift, "int only", low=0),
    Row("right_shift", lambda a, b: k.call("shift_right", a, b), np.right_shift, "int only", low=0),
    Row("equal", tir.EQ, np.equal, compares=True),
    Row("not_equal", tir.NE, np.not_equal, compares=True),
    Row("less", tir.LT, np.less, compares=True),
    Row("less_equal", tir.LE, np.less_equal, compares=True),
    Row("greater", tir.GT, np.greater, compares=True),
    Row("greater_equal", tir.GE, np.greater_equal, compares=True),
)

_ALLOWED: dict[str, Callable[[DataType], bool]] = {
    "number": lambda d: True,
    "int": lambda d: d.is_int or d.is_bool,
    "int only": lambda d: d.is_int,
    "bool": lambda d: d.is_bool,
}


def _check_dtype(call: OpCall[Attrs], row: Row) -> None:
    for position in range(len(call.args)):
        dtype = operand(call, position).dtype
        if not dtype.is_void and not _ALLOWED[row.operands](dtype):
            wanted = {"bool": "bool", "int": "integer or bool", "int only": "integer"}[row.operands]
            call.fail(f"takes {wanted} operands, got {dtype}", code="op-dtype", help="cast with astype")
        if dtype.is_bool and not row.of_bools:
            call.fail("takes numbers, got bool", code="op-dtype", help='astype(x, "int32") first, or logical_xor')


def _define(row: Row) -> Definition:
    def infer(call: OpCall[Attrs]) -> Info:
        _check_dtype(call, row)
        return infer_comparison(call) if row.compares else infer_broadcast(call)

    def compute(inputs: Sequence[k.Operand | float], attrs: Attrs, out: k.Result) -> k.Tensor:
        return k.elementwise(row.scalar, _matched(inputs), out, f"T_{row.name}", axes="ax")

    def reference(inputs: tuple[AnyArray | float, AnyArray | float], attrs: Attrs) -> AnyArray:
        a, b = _same_kind(*inputs)
        if row.compares or row.operands == "bool":
            return np.asarray(row.numpy(a, b))
        return computed_wide(row.numpy, a, b)

    return OpDef(
        row.name,
        inputs=(Input("x1", relay_name="lhs"), Input("x2", relay_name="rhs")),
        infer=infer,
        compute=compute,
        reference=reference,
        fusion=Fusion.BROADCAST,
        layout=FollowsInput(),
        gradient=_gradient(row),
        in_relax=row.in_relax,
        samples=lambda: _samples(row),
        summary=f"Elementwise {row.name.replace('_', ' ')} of two operands, with broadcasting"
        + ("; the result is bool." if row.compares else "."),
    )


def _matched(inputs: Sequence[k.Operand | float]) -> list[k.Operand]:
    """Host scalars as literals of the other operand's dtype."""
    dtype = next((x.dtype for x in inputs if isinstance(x, k.Tensor)), DataType("float32"))
    return [x if isinstance(x, (k.Tensor, k.PrimExpr)) else k.const(x, dtype) for x in inputs]


def _same_kind(a: AnyArray | float, b: AnyArray | float) -> tuple[AnyArray, AnyArray]:
    """Python numbers as arrays of the other operand's dtype."""
    if type(a) is np.ndarray and type(b) is np.ndarray:
        return a, b
    if isinstance(a, (int, float)) and not isinstance(b, (int, float)):
        return np.asarray(a, np.asarray(b).dtype), np.asarray(b)
    if isinstance(b, (int, float)) and not isinstance(a, (int, float)):
        return np.asarray(a), np.asarray(b, np.asarray(a).dtype)
    return np.asarray(a), np.asarray(b)


def _gradient(row: Row) -> Gradient[Attrs] | NotApplicable:
    slopes = row.slopes
    if slopes is None:
        why = "not differentiable" if row.compares or row.operands != "number" else "piecewise constant"
        return NotApplicable(why)

    def gradient(b: CallMaker, args: Exprs, attrs: Attrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
        left, right = slopes(b, args[0], args[1], out, grad)
        return [b.op("collapse_sum_like", left, args[0]), b.op("collapse_sum_like", right, args[1])]

    return gradient


def _samples(row: Row) -> tuple[Sample, ...]:
    kinds = {
        "number": ("float32", "int32", "float16", "bfloat16", "int64", "float64"),
        "int": ("int32", "uint8", "bool"),
        "int only": ("int32", "int64", "uint8"),
        "bool": ("bool",),
    }
    low, high = row.low, row.high
    right = low if row.right_low is None else row.right_low

    def pair(a: tuple[SampleDim, ...], b: tuple[SampleDim, ...], dtype: str) -> Sample:
        tolerance = 2e-2 if "16" in dtype and "float" in dtype else 2e-5
        return Sample((Arr(a, dtype, low, high), Arr(b, dtype, right, high)), rtol=tolerance)

    dtypes = kinds[row.operands]
    first = dtypes[0]
    return (
        *(pair(("n", 4), ("n", 4), d) for d in dtypes),
        pair(("n", 1, 4), (5, 1), first),
        pair((), ("n", "m"), first),
        pair((2, 1), (2, 3), first),
    )


BINARY: tuple[Definition, ...] = tuple(_define(row) for row in ROWS)
