"""The operands of an expression, and whether it may be evaluated speculatively."""

from __future__ import annotations

from collections.abc import Iterable

from baton._src.ir.expr import Op, PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order
from baton._src.tir import expr as tir

LARGEST_HARMLESS = 24
"""Most nodes of an expression that is cheap to evaluate speculatively."""
_CHEAP = {
    "tir.bitwise_and",
    "tir.bitwise_or",
    "tir.bitwise_xor",
    "tir.bitwise_not",
    "tir.likely",
    "tir.ignore_loop_partition",
    "tir.fabs",
    "tir.floor",
}


def operands(node: Node) -> Iterable[PrimExpr]:
    """The expressions below `node`, except the indices of a load and strings."""
    match node:
        case tir.BinaryOp(a=a, b=b) | tir.CompareOp(a=a, b=b) | tir.LogicalOp(a=a, b=b):
            return (a, b)
        case tir.Cast(value=value) | tir.Broadcast(value=value):
            return (value,)
        case tir.Not(a=a):
            return (a,)
        case tir.Ramp(base=base, stride=stride):
            return (base, stride)
        case tir.Select(condition=c, true_value=a, false_value=b):
            return (c, a, b)
        case tir.Let(value=value, body=body):
            return (value, body)
        case tir.Call(args=args):
            return [a for a in args if isinstance(a, PrimExpr) and not isinstance(a, tir.StringImm)]
        case tir.Shuffle(vectors=vectors):
            return vectors
        case _:
            return ()


def is_harmless(expr: PrimExpr) -> bool:
    """Whether evaluating `expr` when its value is not needed is safe and cheap."""
    for count, item in enumerate(post_order(expr, below=operands)):
        match item:
            case tir.BufferLoad():
                return False
            case tir.Div(b=b) | tir.Mod(b=b) | tir.FloorDiv(b=b) | tir.FloorMod(b=b):
                if not (isinstance(b, tir.IntImm) and b.value != 0):
                    return False
            case tir.Call(op=op) if not (isinstance(op, Op) and op.name in _CHEAP):
                return False
        if count > LARGEST_HARMLESS:
            return False
    return True
