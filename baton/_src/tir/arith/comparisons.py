"""Comparisons, logic and choices in canonical form: conditions on what is known of the difference of the operands.

    i + 1 > i   ->   1          select(c, a, a)   ->   a

The operands' forms are in the context's memo already (`canonical`).
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.tir import expr as tir
from baton._src.tir.arith import conditions, joins, wrapping
from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.opaque import is_index, opaque
from baton._src.tir.arith.polynomial import Poly
from baton._src.tir.expr import Call


def comparison(ctx: Context, node: Any) -> Poly:
    """A comparison of integers: a condition on their difference."""
    dtype = node.a.dtype
    if not is_index(dtype):
        return opaque(ctx, node)
    a, b = ctx.memo[node.a], ctx.memo[node.b]
    if not wrapping.is_exact(ctx, a, b):
        return _wrapped_comparison(ctx, node, p.as_constant(p.subtract(a, b)))
    match node:
        case tir.EQ():
            return conditions.is_zero(ctx, p.subtract(a, b), dtype)
        case tir.NE():
            return conditions.negation(ctx, conditions.is_zero(ctx, p.subtract(a, b), dtype))
        case tir.LT():
            gap = p.shift(p.subtract(b, a), -1)
        case tir.LE():
            gap = p.subtract(b, a)
        case tir.GT():
            gap = p.shift(p.subtract(a, b), -1)
        case _:
            gap = p.subtract(a, b)
    return conditions.at_least_zero(ctx, joins.recombine(ctx, gap, dtype), dtype)


def _wrapped_comparison(ctx: Context, node: Any, gap: int | None) -> Poly:
    """A comparison of sums that may wrap: equal ones are known, and those that differ by a constant differ."""
    if gap is not None and gap % (1 << node.a.dtype.bits) == 0:
        return p.constant(int(isinstance(node, tir.EQ | tir.LE | tir.GE)))
    if gap is not None and isinstance(node, tir.EQ | tir.NE):
        return p.constant(int(isinstance(node, tir.NE)))
    return opaque(ctx, node)


def logical(ctx: Context, node: Any) -> Poly:
    """`and`, `or`."""
    if node.dtype.lanes > 1:
        return opaque(ctx, node)
    kind = "and" if isinstance(node, tir.And) else "or"
    return conditions.combination(ctx, kind, (ctx.memo[node.a], ctx.memo[node.b]))


def negated(ctx: Context, node: tir.Not) -> Poly:
    """`not`."""
    return opaque(ctx, node) if node.dtype.lanes > 1 else conditions.negation(ctx, ctx.memo[node.a])


def select(ctx: Context, node: Any) -> Poly:
    """A choice of two, in either spelling (`Select`, `if_then_else`); of equal ones it is none."""
    test, yes, no = (node.condition, node.true_value, node.false_value) if isinstance(node, tir.Select) else node.args
    if test.dtype.lanes > 1:
        return opaque(ctx, node)
    condition, a, b = ctx.memo[test], ctx.memo[yes], ctx.memo[no]
    number = p.as_constant(condition)
    if number is not None:
        return a if number else b
    if a == b:
        return a
    if not wrapping.is_exact(ctx, a, b):
        return opaque(ctx, node)

    def make() -> PrimExpr:
        parts = [ctx.atoms.emit(f, e.dtype) for f, e in ((condition, test), (a, yes), (b, no))]
        return tir.Select(*parts) if isinstance(node, tir.Select) else Call(node.dtype, node.op, parts)

    identity = ("select", type(node), node.dtype, p.key(condition), p.key(a), p.key(b))
    return p.atom(ctx.atoms.intern(identity, "select", (condition, a, b), node.dtype, make))
