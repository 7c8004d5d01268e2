"""LowerIntrin: express floor division and remainder by C's operators, which round towards 0.

floordiv(i, 8), floormod(i, 8)   ->   truncdiv(i, 8), truncmod(i, 8)                                  i is not negative
floordiv(x, y)                   ->   select(x mod y has y's sign or is 0, truncdiv(x, y), truncdiv(x, y) - 1)

Functions such as exp stay: code generation supports them for every target. Hints that a condition is likely are
removed.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import rewrite
from baton._src.passes.tir.loop_ranges import with_ranges
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.intrinsics import intrinsic
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.scalar_functions import select
from baton._src.transform.context import PassContext


@dataclass(frozen=True)
class LowerIntrin(PrimFuncPass):
    """See the module. The ranges of loops and axes show what is not negative."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        analyzer = with_ranges(body)
        found: st.Stmt = rewrite(body, lambda node: _lowered(node, analyzer))
        return found


def _lowered(node: Any, analyzer: Analyzer) -> PrimExpr | None:
    match node:
        case tir.FloorDiv(a=a, b=b):
            down = tir.Div(a, b)
            return down if _rounds_alike(a, b, analyzer) else select(_same_sign(a, b), down, ops.subtract(down, 1))
        case tir.FloorMod(a=a, b=b):
            rest = tir.Mod(a, b)
            return rest if _rounds_alike(a, b, analyzer) else select(_same_sign(a, b), rest, ops.add(rest, b))
        case tir.Call(op=op, args=(condition,)) if op in (intrinsic("likely"), intrinsic("ignore_loop_partition")):
            return condition if isinstance(condition, PrimExpr) else None
        case _:
            return None


def _rounds_alike(a: PrimExpr, b: PrimExpr, analyzer: Analyzer) -> bool:
    """Whether both quotients are the same because neither operand is negative."""
    if a.dtype.kind == "uint":
        return True
    return a.dtype.lanes == 1 and analyzer.prove(a >= 0) and analyzer.prove(b >= 0)


def _same_sign(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """Whether the truncated remainder is 0 or has the sign of the divisor: the quotient was not rounded up."""
    rest = tir.Mod(a, b)
    if isinstance(b, tir.IntImm):
        return ops.convert(rest >= 0 if b.value > 0 else rest <= 0)
    above = ops.logical_and(b > 0, rest >= 0)
    return ops.logical_or(above, ops.logical_and(b < 0, rest <= 0))


__all__ = ["LowerIntrin"]
