"""The vocabulary of `compute` functions: scalar functions, casts, conditions, and computations over tensors.

    def compute(inputs, attrs, out):
        (x,) = inputs
        return k.compute(out.shape, lambda *i: k.exp(x(*i)), "exp")

Indices are int64 throughout. Sixteen-bit floats are computed in float32 and rounded once (`wide`, `narrow`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import Dim
from baton._src.ops.precision import accumulator
from baton._src.te import computation, reduction
from baton._src.te.tensor import Tensor
from baton._src.tir import expr as tir
from baton._src.tir.intrinsics import definition, intrinsic
from baton._src.values.dtype import BOOL, INT64, DataType

__all__ = ["DataType", "PrimExpr", "Tensor", "intrinsic", "tir"]
"""What is imported for others; the rest is defined here."""

Scalar = PrimExpr
Indices = Sequence[PrimExpr]
Combine = Callable[[Scalar, Scalar], Scalar]
Operand = Tensor | PrimExpr
"""An operand of an elementwise operator: a tensor, or a scalar of the host."""


class Result(Protocol):
    """What a kernel computes: a tensor whose dims and dtype are known (`TensorInfo` has them optional)."""

    @property
    def shape(self) -> tuple[Dim, ...]: ...

    @property
    def dtype(self) -> DataType: ...

    @property
    def ndim(self) -> int: ...


@runtime_checkable
class Results(Protocol):
    """What a kernel of several results computes."""

    @property
    def fields(self) -> tuple[Result, ...]: ...


def first_of(out: Result | Results) -> Result:
    """What is computed, of several results the first."""
    return out.fields[0] if isinstance(out, Results) else out


# ------------------------------------------------------------------------------------------------- scalars


def const(value: object, dtype: object) -> Scalar:
    """A literal of `dtype`; infinities and bools included."""
    return tir.literal(value, DataType(dtype))


def divisor(dim: Dim) -> Scalar:
    """An extent to divide an index by: 1 for an axis without elements, of which nothing is computed."""
    number = dim.value if isinstance(dim, tir.IntImm) else dim
    return index(1 if isinstance(number, int) and number == 0 else dim)


def index(value: Dim) -> Scalar:
    """A dim or an index as an int64 expression."""
    if isinstance(value, PrimExpr):
        return cast(INT64, value)
    return tir.IntImm("int64", int(value))


def dims(shape: Sequence[Dim]) -> tuple[Scalar, ...]:
    """A shape as int64 expressions."""
    return tuple(index(d) for d in shape)


def cast(dtype: object, value: Scalar) -> Scalar:
    """`value` as `dtype`; literals are converted here and now."""
    wanted = DataType(dtype)
    if value.dtype == wanted:
        return value
    if isinstance(value, tir.IntImm) and (wanted.is_int or wanted.is_float):
        return const(value.value, wanted)
    if wanted.is_bool:
        return tir.NE(value, tir.literal(0, value.dtype))
    return tir.Cast(wanted, value)


def wide(value: Scalar) -> Scalar:
    """`value` in the dtype it is computed in."""
    return cast("float32", value) if value.dtype.is_narrow else value


def call(name: str, *operands: Scalar) -> Scalar:
    """The intrinsic `name`, with the dtype of its first operand (bool for tests)."""
    op = intrinsic(name)
    row = definition(op)
    dtype = BOOL if row is not None and row.result.name == "BOOL" else operands[0].dtype
    return tir.Call(dtype, op, operands)


def _function(name: str) -> Callable[[Scalar], Scalar]:
    return lambda x: call(name, x)


exp, log, log2, log10, sqrt = (_function(n) for n in ("exp", "log", "log2", "log10", "sqrt"))
sin, cos, tan, sinh, cosh, tanh = (_function(n) for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh"))
asin, acos, atan, asinh, acosh, atanh = (_function(n) for n in ("asin", "acos", "atan", "asinh", "acosh", "atanh"))
erf, sigmoid, floor, ceil, trunc = (_function(n) for n in ("erf", "sigmoid", "floor", "ceil", "trunc"))
nearbyint = _function("nearbyint")
fabs, isnan, isinf, isfinite = (_function(n) for n in ("fabs", "isnan", "isinf", "isfinite"))


def power(x: Scalar, y: Scalar) -> Scalar:
    return call("pow", x, y)


def within(position: Scalar, extent: Scalar, text: str, shown: Scalar | None = None) -> Scalar:
    """`position` if it lies in [0, extent); otherwise the kernel ends with `text` of it ({0}; or of `shown`) and of the
    extent ({1}). For what no index of a buffer checks.
    """
    operands = (position, extent, tir.StringImm(text), position if shown is None else shown)
    return tir.Call(position.dtype, intrinsic("index_within"), operands)


def maximum(a: Scalar, b: Scalar) -> Scalar:
    return tir.Max(a, b)


def minimum(a: Scalar, b: Scalar) -> Scalar:
    return tir.Min(a, b)


def select(condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
    """Both sides may be evaluated: for cheap, safe operands."""
    return tir.Select(condition, a, b)


def if_then_else(condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
    """A conditional that evaluates only the chosen side, for loads that may be out of bounds."""
    return tir.Call(a.dtype, intrinsic("if_then_else"), (condition, a, b))


def all_of(conditions: Sequence[Scalar]) -> Scalar:
    """Their conjunction; true for none."""
    found: Scalar = tir.IntImm("bool", 1)
    for position, condition in enumerate(conditions):
        found = condition if position == 0 else tir.And(found, condition)
    return found


def lowest(dtype: DataType) -> Scalar:
    """The least value: -inf for floats."""
    if dtype.is_float:
        return const(float("-inf"), dtype)
    return tir.IntImm(dtype, -(1 << (dtype.bits - 1)) if dtype.kind == "int" else 0)


def highest(dtype: DataType) -> Scalar:
    """The greatest value: inf for floats."""
    if dtype.is_float:
        return const(float("inf"), dtype)
    return tir.IntImm(dtype, (1 << (dtype.bits - (1 if dtype.kind == "int" else 0))) - 1)


# ----------------------------------------------------------------------------------------- computations


def compute(
    shape: Sequence[Dim],
    body: Callable[..., Scalar],
    name: str = "compute",
    tag: str = "",
    *,
    axes: str | Sequence[str] | None = None,
    **attrs: object,
) -> Tensor:
    """The tensor of `shape` whose elements are `body(*indices)`.

    `name` is the block's and `axes` are the loops': a name for each, or what a body of `*indices` has them numbered
    behind; None: its parameters, `i0` and so on. They are TVM's own where its kernel has the stage: schedules look
    them up.
    """
    names = [f"{axes}{n}" for n in range(len(shape))] if isinstance(axes, str) else axes
    found: Tensor = computation.compute(dims(shape), body, name, tag, attrs, names)
    return found


def reduce_axis(extent: Dim, name: str = "k") -> tir.IterVar:
    """An axis to reduce over, from 0 to `extent`."""
    return computation.reduce_axis((index(0), index(extent)), name)


def reduce_sum(value: Scalar, axes: Sequence[tir.IterVar]) -> Scalar:
    """The sum over `axes`."""
    found: Scalar = reduction.sum(value, axes)
    return found


def reduce_max(value: Scalar, axes: Sequence[tir.IterVar]) -> Scalar:
    """The largest over `axes`."""
    found: Scalar = reduction.max(value, axes)
    return found


def reduce_min(value: Scalar, axes: Sequence[tir.IterVar]) -> Scalar:
    """The least over `axes`."""
    found: Scalar = reduction.min(value, axes)
    return found


def reduce_product(value: Scalar, axes: Sequence[tir.IterVar]) -> Scalar:
    """The product over `axes`."""
    found: Scalar = reduction.prod(value, axes)
    return found


def broadcast_indices(x: Tensor, indices: Indices, shape: Sequence[Dim]) -> list[Scalar]:
    """The indices at which `x` is read for element `indices` of a result of `shape`, to which it broadcasts."""
    offset = len(shape) - x.ndim
    found: list[Scalar] = []
    for position, dim in enumerate(x.shape):
        same = dim is shape[offset + position] or _is_same_number(dim, shape[offset + position])
        found.append(index(0) if is_one(dim) and not (same and is_one(dim)) else indices[offset + position])
    return found


def stretched_indices(x: Tensor, indices: Indices, shape: Sequence[Dim]) -> list[Scalar]:
    """As `broadcast_indices`; an axis of unknown extent is read at the index, or at 0 if it turns out to be 1."""
    offset = len(shape) - x.ndim
    return [_stretched(d, indices[offset + n], shape[offset + n]) for n, d in enumerate(x.shape)]


def _stretched(dim: Dim, at: Scalar, wanted: Dim) -> Scalar:
    if is_one(dim):
        return index(0)
    if isinstance(dim, (int, tir.IntImm)) or dim is wanted:
        return at
    return select(tir.EQ(index(dim), index(1)), index(0), at)


def is_one(dim: Dim) -> bool:
    """Whether a dim is the number 1."""
    return (isinstance(dim, tir.IntImm) and dim.value == 1) or (isinstance(dim, int) and dim == 1)


def _is_same_number(a: Dim, b: Dim) -> bool:
    left = a.value if isinstance(a, tir.IntImm) else a
    right = b.value if isinstance(b, tir.IntImm) else b
    return isinstance(left, int) and isinstance(right, int) and left == right


def elementwise(
    function: Callable[..., Scalar],
    operands: Sequence[Operand],
    out: Result,
    name: str = "compute",
    axes: str | None = None,
) -> Tensor:
    """`function` of the elements of `operands` (tensors, broadcast to `out`; host scalars), computed wide, rounded
    once.
    """

    def body(*indices: Scalar) -> Scalar:
        elements = [
            wide(x(*broadcast_indices(x, indices, out.shape))) if isinstance(x, Tensor) else wide(x) for x in operands
        ]
        return cast(out.dtype, function(*elements))

    return compute(out.shape, body, name, axes=axes)


def sum_dtype(dtype: DataType) -> DataType:
    """The dtype sums of `dtype` are kept in."""
    return accumulator(dtype)
