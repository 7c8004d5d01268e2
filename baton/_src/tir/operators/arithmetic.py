"""Arithmetic on scalar expressions, with constants folded and the trivial identities (x + 0, x * 1) applied.

Integer `/` is refused as ambiguous: `truncdiv` or `floordiv` must be named. Floats are folded only where the result is
exactly that of the machine, and operands that call functions with effects stay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir.effects import is_pure
from baton._src.tir.expr import Call, FloatImm, IntImm, literal
from baton._src.tir.folding import fold_arithmetic
from baton._src.tir.intrinsics import intrinsic
from baton._src.tir.operators.operands import convert, match_types


def is_const(value: object, number: float) -> bool:
    """Whether `value` is the literal `number`."""
    return isinstance(value, (IntImm, FloatImm)) and value.value == number


def _folded(name: str, node: Callable[[PrimExpr, PrimExpr], PrimExpr], x: PrimExpr, y: PrimExpr) -> PrimExpr:
    found = fold_arithmetic(name, x, y)
    return node(x, y) if found is None else found


def add(a: Any, b: Any) -> PrimExpr:
    """a + b"""
    x, y = match_types(a, b)
    if not x.dtype.is_float:
        if is_const(y, 0):
            return x
        if is_const(x, 0):
            return y
    return _folded("add", tir.Add, x, y)


def subtract(a: Any, b: Any) -> PrimExpr:
    """a - b"""
    x, y = match_types(a, b)
    if not x.dtype.is_float:
        if is_const(y, 0):
            return x
        if x is y and x.dtype.lanes == 1 and is_pure(x):
            return literal(0, x.dtype)
    return _folded("subtract", tir.Sub, x, y)


def multiply(a: Any, b: Any) -> PrimExpr:
    """a * b"""
    x, y = match_types(a, b)
    if is_const(y, 1):
        return x
    if is_const(x, 1):
        return y
    if not x.dtype.is_float:
        if is_const(x, 0) and is_pure(y):
            return x
        if is_const(y, 0) and is_pure(x):
            return y
    return _folded("multiply", tir.Mul, x, y)


def divide(a: Any, b: Any) -> PrimExpr:
    """a / b of floats; of integers refused: name `truncdiv` or `floordiv`."""
    x, y = match_types(a, b)
    if not x.dtype.is_float:
        raise fail(
            "tir-division",
            f"a / b of {x.dtype} is ambiguous",
            span=x.span or y.span,
            help="use a // b (floordiv) or tir.truncdiv(a, b); cast to float first for true division",
        )
    return div(x, y)


def div(a: Any, b: Any) -> PrimExpr:
    """C's division: true on floats, truncating on integers (`tvm.tir.div`)."""
    x, y = match_types(a, b)
    if not x.dtype.is_float:
        return truncdiv(x, y)
    if is_const(y, 1):
        return x
    return _folded("divide", tir.Div, x, y)


def truncdiv(a: Any, b: Any) -> PrimExpr:
    """The integer quotient rounded toward zero."""
    x, y = _dividend("truncdiv", a, b)
    if is_const(y, 1):
        return x
    return _folded("truncate_divide", tir.Div, x, y)


def truncmod(a: Any, b: Any) -> PrimExpr:
    """The remainder of `truncdiv`: the sign of `a`."""
    x, y = _dividend("truncmod", a, b)
    return _folded("truncate_mod", tir.Mod, x, y)


def floordiv(a: Any, b: Any) -> PrimExpr:
    """The quotient rounded down; of floats `floor(a / b)`."""
    x, y = match_types(a, b)
    if x.dtype.is_float:
        return Call(x.dtype, intrinsic("floor"), (div(x, y),))
    x, y = _dividend("floordiv", x, y)
    if is_const(y, 1):
        return x
    return _folded("floor_divide", tir.FloorDiv, x, y)


def floormod(a: Any, b: Any) -> PrimExpr:
    """The remainder of `floordiv`: the sign of `b`."""
    x, y = match_types(a, b)
    if x.dtype.is_float:
        return subtract(x, multiply(floordiv(x, y), y))
    x, y = _dividend("floormod", x, y)
    if is_const(y, 1) and is_pure(x):
        return literal(0, x.dtype)
    return _folded("floor_mod", tir.FloorMod, x, y)


def _dividend(name: str, a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    x, y = match_types(a, b)
    if not (x.dtype.is_int or x.dtype.is_bool):
        raise fail("tir-dtype", f"{name} takes integers, got {x.dtype}", span=x.span or y.span)
    if is_const(y, 0):
        raise fail("tir-zero-division", f"{name} by zero", span=x.span or y.span)
    return x, y


def indexdiv(a: Any, b: Any) -> PrimExpr:
    """The quotient of non-negative indices (equal to `floordiv` there)."""
    return floordiv(a, b)


def indexmod(a: Any, b: Any) -> PrimExpr:
    """The remainder of non-negative indices (equal to `floormod` there)."""
    return floormod(a, b)


def ceildiv(a: Any, b: Any) -> PrimExpr:
    """The quotient rounded up, of a positive divisor."""
    x, y = match_types(a, b)
    return floordiv(subtract(add(x, y), literal(1, x.dtype)), y)


def min(a: Any, b: Any) -> PrimExpr:
    """The smaller one; of floats NaN if either is."""
    x, y = match_types(a, b)
    return x if x is y and is_pure(x) else _folded("minimum", tir.Min, x, y)


def max(a: Any, b: Any) -> PrimExpr:
    """The larger one; of floats NaN if either is."""
    x, y = match_types(a, b)
    return x if x is y and is_pure(x) else _folded("maximum", tir.Max, x, y)


def negative(a: Any) -> PrimExpr:
    """-a"""
    x = convert(a)
    return multiply(x, literal(-1, x.dtype)) if x.dtype.kind != "uint" else subtract(literal(0, x.dtype), x)


def power(a: Any, b: Any) -> PrimExpr:
    """a ** b (the intrinsic `tir.pow`)."""
    x, y = match_types(a, b)
    return Call(x.dtype, intrinsic("pow"), (x, y))
