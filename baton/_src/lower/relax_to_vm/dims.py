"""PrimExprs over shape variables as the executable's `DimExpr`s over slots."""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.ir.expr import Op, PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order
from baton._src.runtime.dim_expr import DimExpr
from baton._src.support.diagnostics import InternalError, fail
from baton._src.tir import expr as tir

_BINARY: dict[type[PrimExpr], str] = {
    tir.Add: "+",
    tir.Sub: "-",
    tir.Mul: "*",
    tir.FloorDiv: "//",
    tir.FloorMod: "%",
    tir.Div: "div",
    tir.Mod: "mod",
    tir.Min: "min",
    tir.Max: "max",
    tir.EQ: "==",
    tir.NE: "!=",
    tir.LT: "<",
    tir.LE: "<=",
    tir.GT: ">",
    tir.GE: ">=",
    tir.And: "and",
    tir.Or: "or",
}
_INTRINSICS = {
    "tir.if_then_else": "select",
    "tir.shift_left": "<<",
    "tir.shift_right": ">>",
    "tir.bitwise_and": "&",
    "tir.bitwise_or": "|",
    "tir.bitwise_xor": "^",
    "tir.bitwise_not": "~",
    "tir.abs": "abs",
    "tir.pow": "pow",
    "tir.ceil": "ceil",
    "tir.floor": "floor",
    "tir.sqrt": "sqrt",
    "tir.exp": "exp",
    "tir.log": "log",
}


def to_dim_expr(expr: PrimExpr, slots: Mapping[tir.Var, int]) -> DimExpr:
    """`expr` over the slots of its variables. Shared subexpressions are written out at each use."""
    if isinstance(expr, tir.IntImm):
        return bool(expr.value) if expr.dtype.is_bool else expr.value
    found: dict[Node, DimExpr] = {}
    for node in post_order(expr):
        if isinstance(node, PrimExpr):
            found[node] = _convert(node, found, slots)
    return found[expr]


def _convert(node: PrimExpr, found: Mapping[Node, DimExpr], slots: Mapping[tir.Var, int]) -> DimExpr:
    match node:
        case tir.IntImm():
            return bool(node.value) if node.dtype.is_bool else node.value
        case tir.FloatImm():
            return node.value
        case tir.Var():
            if node not in slots:
                raise InternalError(f"shape variable {node.name} has no value here")
            return ["v", slots[node]]
        case tir.Not(a):
            return ["not", found[a]]
        case tir.Select(condition, yes, no):
            return ["select", found[condition], found[yes], found[no]]
        case tir.Cast(value=value):
            return found[value] if _keeps_value(value, node) else ["cast", str(node.dtype), found[value]]
        case tir.Call(op=Op() as op, args=args) if op.name in _INTRINSICS:
            return [_INTRINSICS[op.name], *[found[a] for a in args]]
        case tir.BinaryOp(a, b) | tir.CompareOp(a, b) | tir.LogicalOp(a, b) if type(node) in _BINARY:
            return [_BINARY[type(node)], found[a], found[b]]
        case _:
            raise fail("lower-dim", f"{node!r} cannot be part of a shape", span=node.span)


def _keeps_value(value: PrimExpr, cast: tir.Cast) -> bool:
    """Whether the cast widens an integer: dims are exact integers anyway."""
    return value.dtype.is_int and cast.dtype == "int64"
