"""Convert two operands of an elementwise function to one dtype: scalars with tensors, tensors of different dtypes.

A function of two scalars is a scalar: `topi.add(n, 1)` is `n + 1`. topi applies the arithmetic of expressions to
elements, so a function of tensors has the dtype that the same function of their elements has: `topi.add(x, 1.5)` that
of `x[0] + 1.5`, `topi.add(halves, ints)` float16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.te.computation import compute
from baton._src.te.tensor import Tensor
from baton._src.tir import operators
from baton._src.tir.expr import Var
from baton._src.tir.operators import cast, convert, is_operand, match_types


def of_scalars(name: str, a: Any, b: Any) -> PrimExpr | None:
    """The elementwise function of this name of two scalars; None if an operand is none, or it has no such meaning."""
    if name not in _OF_SCALARS or not (is_operand(a) and is_operand(b)):
        return None
    return _OF_SCALARS[name](*match_types(a, b))


def _quotient(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return operators.divide(a, b) if a.dtype.is_float else operators.truncdiv(a, b)


_OF_SCALARS: dict[str, Callable[[PrimExpr, PrimExpr], PrimExpr]] = {
    **{
        name: getattr(operators, name)
        for name in (
            "add", "subtract", "multiply", "power", "left_shift", "right_shift", "bitwise_and", "bitwise_or",
            "bitwise_xor", "logical_and", "logical_or", "equal", "not_equal", "less", "less_equal", "greater",
            "greater_equal",
        )
    },
    "divide": _quotient,
    "floor_divide": operators.floordiv,
    "floor_mod": operators.floormod,
    "maximum": operators.max,
    "minimum": operators.min,
}  # fmt: skip


def matched(a: Any, b: Any) -> list[Any]:
    """`a` and `b` as tensors of one dtype, scalars as tensors of no axes; anything else is left as it is."""
    if not all(isinstance(one, Tensor) or is_operand(one) for one in (a, b)):
        return [a, b]
    elements = match_types(_element(a), _element(b))
    return [_in_dtype(one, element) for one, element in zip((a, b), elements)]


def _element(operand: Any) -> Any:
    return Var("element", operand.dtype) if isinstance(operand, Tensor) else operand


def _in_dtype(operand: Any, element: Any) -> Any:
    if not isinstance(operand, Tensor):
        return compute((), lambda: convert(element), "scalar")
    if operand.dtype == element.dtype:
        return operand
    return compute(operand.shape, lambda *at: cast(element.dtype, operand(*at)), "T_cast", tag="elemwise")
