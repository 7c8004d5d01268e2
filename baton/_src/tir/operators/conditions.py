"""Comparisons and logic on scalar expressions, with constants folded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir.effects import is_pure
from baton._src.tir.expr import IntImm
from baton._src.tir.folding import fold_comparison
from baton._src.tir.operators.operands import convert, match_types
from baton._src.values.dtype import BOOL


def _comparison(name: str, node: Callable[[PrimExpr, PrimExpr], PrimExpr]) -> Callable[[Any, Any], PrimExpr]:
    def compare(a: Any, b: Any) -> PrimExpr:
        x, y = match_types(a, b)
        folded = fold_comparison(name, x, y)
        return node(x, y) if folded is None else folded

    return compare


equal = _comparison("equal", tir.EQ)
not_equal = _comparison("not_equal", tir.NE)
less = _comparison("less", tir.LT)
less_equal = _comparison("less_equal", tir.LE)
greater = _comparison("greater", tir.GT)
greater_equal = _comparison("greater_equal", tir.GE)


def _conditions(name: str, a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    x, y = match_types(a, b)
    if not x.dtype.is_bool:
        raise fail("tir-dtype", f"{name} takes conditions (bool), got {x.dtype}", span=x.span or y.span)
    return x, y


def logical_and(a: Any, b: Any) -> PrimExpr:
    """Both conditions hold."""
    x, y = _conditions("logical_and", a, b)
    if isinstance(x, IntImm):
        return y if x.value else x
    if isinstance(y, IntImm) and (y.value or is_pure(x)):
        return x if y.value else y
    return tir.And(x, y)


def conjuncts(condition: PrimExpr) -> list[PrimExpr]:
    """What a conjunction consists of, in order; nothing for a condition that is true."""
    found: list[PrimExpr] = []
    pending = [condition]
    while pending:
        term = pending.pop()
        if isinstance(term, tir.And):
            pending += [term.b, term.a]
        elif not (isinstance(term, IntImm) and term.value == 1):
            found.append(term)
    return found


def logical_or(a: Any, b: Any) -> PrimExpr:
    """At least one condition holds."""
    x, y = _conditions("logical_or", a, b)
    if isinstance(x, IntImm):
        return x if x.value else y
    if isinstance(y, IntImm) and (not y.value or is_pure(x)):
        return y if y.value else x
    return tir.Or(x, y)


def logical_not(a: Any) -> PrimExpr:
    """The condition does not hold."""
    x = convert(a)
    if not x.dtype.is_bool:
        raise fail("tir-dtype", f"logical_not takes a condition (bool), got {x.dtype}", span=x.span)
    return IntImm(BOOL, 1 - x.value) if isinstance(x, IntImm) else tir.Not(x)


def all(*conditions: Any) -> PrimExpr:
    """Every condition holds; true of none."""
    found: PrimExpr = IntImm(BOOL, 1)
    for condition in conditions:
        found = logical_and(found, condition)
    return found


def any(*conditions: Any) -> PrimExpr:
    """Some condition holds; false of none."""
    found: PrimExpr = IntImm(BOOL, 0)
    for condition in conditions:
        found = logical_or(found, condition)
    return found
