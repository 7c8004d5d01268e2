"""Bitwise operators and shifts on integers, with constants folded; on bools the logical operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import Call
from baton._src.tir.folding import fold_arithmetic, fold_shift
from baton._src.tir.intrinsics import intrinsic
from baton._src.tir.operators.conditions import logical_and, logical_not, logical_or, not_equal
from baton._src.tir.operators.operands import convert, match_types


def _bitwise(name: str, on_bools: Callable[[Any, Any], PrimExpr]) -> Callable[[Any, Any], PrimExpr]:
    op = intrinsic(name)

    def combine(a: Any, b: Any) -> PrimExpr:
        """The operation on each pair of bits of two integers of one type; on bools the logical one."""
        x, y = match_types(a, b)
        if x.dtype.is_bool:
            return on_bools(x, y)
        x, y = _integers(name, x, y)
        folded = fold_arithmetic(name, x, y)
        return Call(x.dtype, op, (x, y)) if folded is None else folded

    combine.__name__ = name
    return combine


bitwise_and = _bitwise("bitwise_and", logical_and)
bitwise_or = _bitwise("bitwise_or", logical_or)
bitwise_xor = _bitwise("bitwise_xor", not_equal)


def bitwise_not(a: Any) -> PrimExpr:
    """Every bit flipped; of a bool its negation."""
    x = convert(a)
    if x.dtype.is_bool:
        return logical_not(x)
    if not x.dtype.is_int:
        raise fail("tir-dtype", f"bitwise_not takes integers, got {x.dtype}", span=x.span)
    return Call(x.dtype, intrinsic("bitwise_not"), (x,))


def left_shift(a: Any, b: Any) -> PrimExpr:
    """a << b"""
    x, y = _integers("left_shift", a, b)
    folded = fold_shift("left_shift", x, y)
    return Call(x.dtype, intrinsic("shift_left"), (x, y)) if folded is None else folded


def right_shift(a: Any, b: Any) -> PrimExpr:
    """a >> b; of signed integers the sign is shifted in."""
    x, y = _integers("right_shift", a, b)
    folded = fold_shift("right_shift", x, y)
    return Call(x.dtype, intrinsic("shift_right"), (x, y)) if folded is None else folded


def _integers(name: str, a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    x, y = match_types(a, b)
    if not x.dtype.is_int:
        raise fail("tir-dtype", f"{name} takes integers, got {x.dtype}", span=x.span or y.span)
    return x, y
