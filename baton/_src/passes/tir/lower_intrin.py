"""LowerIntrin: express floor division and remainder by shifts, masks and C's operators, which round towards 0.

floordiv(x, 8), floormod(x, 8)   ->   x >> 3, x & 7
floordiv(i, 3), floormod(i, 3)   ->   truncdiv(i, 3), truncmod(i, 3)                                  i is not negative
floordiv(i - 2, 3)               ->   truncdiv(i - 2 + 3, 3) - 1                                      i is not negative
floordiv(x, 3)                   ->   truncdiv(x, 3) + (truncmod(x, 3) >> 31)
floordiv(x, y)                   ->   select(x mod y has y's sign or is 0, truncdiv(x, y), truncdiv(x, y) - 1)

Functions such as exp stay: code generation supports them for every target. Hints that a condition is likely are
removed.
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import rewrite
from baton._src.passes.tir.lowering.loop_ranges import with_ranges
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.opaque import is_index
from baton._src.tir.builders.scalar_functions import select
from baton._src.tir.effects import is_pure
from baton._src.tir.intrinsics import intrinsic
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext


@dataclass(frozen=True)
class LowerIntrin(PrimFuncPass):
    """See the module. The ranges of loops and axes show what is not negative."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        analyzer = with_ranges(body)
        found: st.Stmt = rewrite(body, lambda node: _lowered(node, analyzer))
        return found


def _lowered(node: Node, analyzer: Analyzer) -> PrimExpr | None:
    match node:
        case tir.FloorDiv() | tir.FloorMod() if not is_pure(node):
            return _with_names(node, analyzer)
        case tir.FloorDiv(a=a, b=b):
            return _quotient(a, b, analyzer)
        case tir.FloorMod(a=a, b=b):
            return _remainder(a, b, analyzer)
        case tir.Call(op=op, args=(condition,)) if op in (intrinsic("likely"), intrinsic("ignore_loop_partition")):
            return condition if isinstance(condition, PrimExpr) else None
        case _:
            return None


def _with_names(node: tir.FloorDiv | tir.FloorMod, analyzer: Analyzer) -> PrimExpr:
    """The division of operands with effects, which are computed once: `let x = f() in x // 3`, lowered."""
    a, b = tir.Var("dividend", node.dtype), tir.Var("divisor", node.dtype)
    if isinstance(node.b, tir.IntImm):
        return tir.Let(a, node.a, _lowered(type(node)(a, node.b), analyzer))
    return tir.Let(a, node.a, tir.Let(b, node.b, _lowered(type(node)(a, b), analyzer)))


def _quotient(a: PrimExpr, b: PrimExpr, analyzer: Analyzer) -> PrimExpr:
    shift = _power_of_two(b)
    if shift is not None:
        return ops.right_shift(a, ops.const(shift, a.dtype))
    if _rounds_alike(a, b, analyzer):
        return tir.Div(a, b)
    steps = _steps_above_zero(a, b, analyzer)
    if steps is not None:
        moved = ops.add(a, ops.multiply(b, steps))
        return ops.subtract(tir.Div(moved, b), steps)
    down, rest = tir.Div(a, b), tir.Mod(a, b)
    if _is_positive(b, analyzer) and is_index(a.dtype):
        return ops.add(down, _all_ones_below_zero(rest))
    return select(_same_sign(a, b), down, tir.Sub(down, ops.const(1, a.dtype)))


def _remainder(a: PrimExpr, b: PrimExpr, analyzer: Analyzer) -> PrimExpr:
    shift = _power_of_two(b)
    if shift is not None:
        return ops.bitwise_and(a, ops.const((1 << shift) - 1, a.dtype))
    rest = tir.Mod(a, b)
    if _rounds_alike(a, b, analyzer):
        return rest
    steps = _steps_above_zero(a, b, analyzer)
    if steps is not None:
        return tir.Mod(ops.add(a, ops.multiply(b, steps)), b)
    if _is_positive(b, analyzer) and is_index(a.dtype):
        return ops.add(rest, ops.bitwise_and(b, _all_ones_below_zero(rest)))
    return select(_same_sign(a, b), rest, ops.add(rest, b))


def _power_of_two(b: PrimExpr) -> int | None:
    """The exponent of a divisor that is a power of 2."""
    if not isinstance(b, tir.IntImm) or b.value < 1 or b.value & (b.value - 1):
        return None
    return b.value.bit_length() - 1


def _all_ones_below_zero(rest: PrimExpr) -> PrimExpr:
    """-1 for negative numbers, 0 for others."""
    return ops.right_shift(rest, ops.const(rest.dtype.bits - 1, rest.dtype))


def _is_positive(b: PrimExpr, analyzer: Analyzer) -> bool:
    return b.dtype.lanes == 1 and analyzer.prove(b >= 0)


def _steps_above_zero(a: PrimExpr, b: PrimExpr, analyzer: Analyzer) -> int | None:
    """How often the divisor has to be added so that the numerator is not negative, without leaving its dtype."""
    if not is_index(a.dtype) or not isinstance(b, tir.IntImm) or b.value < 1:
        return None
    found = analyzer.const_int_bound(a)
    most = a.dtype.int_range[1]
    steps = -(found.min_value // b.value)
    return steps if 0 < steps < most and found.max_value + steps * b.value <= most else None


def _rounds_alike(a: PrimExpr, b: PrimExpr, analyzer: Analyzer) -> bool:
    """Whether both quotients are the same because neither operand is negative."""
    if a.dtype.kind == "uint":
        return True
    return a.dtype.lanes == 1 and analyzer.prove(a >= 0) and analyzer.prove(b >= 0)


def _same_sign(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """Whether the truncated remainder is 0 or has the sign of the divisor: the quotient was not rounded up."""
    rest, zero = tir.Mod(a, b), ops.const(0, a.dtype)  # a plain 0 would widen what is narrower than int32
    if isinstance(b, tir.IntImm):
        return tir.GE(rest, zero) if b.value > 0 else tir.LE(rest, zero)
    above = ops.logical_and(tir.GE(b, zero), tir.GE(rest, zero))  # a divisor of 0 leaves 0
    return ops.logical_or(above, ops.logical_and(tir.LT(b, zero), tir.LE(rest, zero)))


__all__ = ["LowerIntrin"]
