"""Calls of intrinsics in canonical form: choices, hints, shifts as products and quotients, bitwise operators.

    x << 3   ->   8 * x         x & 7   ->   an atom within [0, 7]

The operands' forms are in the context's memo already (`canonical`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.tir.arith import division, wrapping
from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.comparisons import select
from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.opaque import is_index, opaque
from baton._src.tir.arith.polynomial import Poly
from baton._src.tir.expr import Call
from baton._src.tir.folding import wrap
from baton._src.tir.intrinsics import definition


def call(ctx: Context, node: Call) -> Poly:
    """The form of a call; most are opaque."""
    row = definition(node.op)
    name = row.name if row is not None else ""
    if name == "tir.if_then_else":
        return select(ctx, node)
    if name == "tir.likely" and p.as_constant(ctx.memo[node.args[0]]) is not None:
        return ctx.memo[node.args[0]]
    if name in ("tir.shift_left", "tir.shift_right") and is_index(node.dtype):
        amount = p.as_constant(ctx.memo[node.args[1]])
        if amount is not None and 0 <= amount < node.dtype.bits:
            form = ctx.memo[node.args[0]]
            number = p.as_constant(form)
            if name == "tir.shift_left" and number is not None:
                return p.constant(wrap(number << amount, node.dtype))
            if name == "tir.shift_left":
                return p.scale(form, 1 << amount)
            if wrapping.is_exact_quotient(ctx, form, p.constant(1 << amount)):
                return division.floor_div(ctx, form, p.constant(1 << amount), node.dtype)
    if name in _BITWISE and is_index(node.dtype):
        return _bitwise(ctx, node, name)
    return opaque(ctx, node)


_BITWISE: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "tir.bitwise_and": ("bit_and", operator.and_),
    "tir.bitwise_or": ("bit_or", operator.or_),
    "tir.bitwise_xor": ("bit_xor", operator.xor),
}
"""By name the kind of the atom, of whose value only bounds are known, and what becomes of numbers."""


def _bitwise(ctx: Context, node: Call, name: str) -> Poly:
    kind, of_numbers = _BITWISE[name]
    a, b = (ctx.memo[operand] for operand in node.args)
    x, y = p.as_constant(a), p.as_constant(b)
    if x is not None and y is not None:
        return p.constant(of_numbers(x, y))
    if not wrapping.is_exact(ctx, a, b):
        return opaque(ctx, node)

    def make() -> PrimExpr:
        return Call(node.dtype, node.op, [ctx.atoms.emit(form, node.dtype) for form in (a, b)])

    return p.atom(ctx.atoms.intern((kind, node.dtype, p.key(a), p.key(b)), kind, (a, b), node.dtype, make))
