"""Scalars (dims of shapes, prim values) as TVMScript. Plain integers are int64 here, as Relax's dims are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import GlobalVar, PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.tir import expr as tir
from baton._src.values.dtype import INT64

NameOf = Callable[[tir.Var], str]

_INFIX: dict[type, tuple[str, int]] = {
    tir.Mul: ("*", 5),
    tir.FloorDiv: ("//", 5),
    tir.FloorMod: ("%", 5),
    tir.Add: ("+", 4),
    tir.Sub: ("-", 4),
    tir.LT: ("<", 3),
    tir.LE: ("<=", 3),
    tir.GT: (">", 3),
    tir.GE: (">=", 3),
    tir.EQ: ("==", 3),
    tir.NE: ("!=", 3),
}
_PREFIX: dict[type, str] = {
    tir.Div: "T.Div",
    tir.Mod: "T.truncmod",
    tir.Min: "T.min",
    tir.Max: "T.max",
    tir.And: "T.And",
    tir.Or: "T.Or",
}
_ATOM = 9


def scalar_text(root: PrimExpr, name_of: NameOf) -> str:
    """`root` as an expression; parentheses only where the grouping needs them."""
    if isinstance(root, tir.Var):
        return name_of(root)
    if isinstance(root, tir.IntImm) and root.dtype == INT64:
        return str(root.value)
    done: dict[Any, tuple[str, int]] = {}
    for node in post_order(root):
        if isinstance(node, PrimExpr):
            done[node] = _one(node, done, name_of)
    return done[root][0]


def _one(node: PrimExpr, done: dict[Any, tuple[str, int]], name_of: NameOf) -> tuple[str, int]:
    """The text of a node and how strongly it binds."""
    match node:
        case tir.Var():
            return name_of(node), _ATOM
        case tir.IntImm():
            return _integer(node)
        case tir.FloatImm():
            return _float(node), _ATOM
        case tir.StringImm():
            return repr(node.value), _ATOM
        case tir.Not():
            return f"T.Not({done[node.a][0]})", _ATOM
        case tir.Select():
            parts = (node.condition, node.true_value, node.false_value)
            return f"T.Select({', '.join(done[p][0] for p in parts)})", _ATOM
        case tir.Cast():
            return f'T.Cast("{node.dtype}", {done[node.value][0]})', _ATOM
        case tir.Call():
            args = ", ".join(done[a][0] if isinstance(a, PrimExpr) else repr(a) for a in node.args)
            name = node.op.name_hint if isinstance(node.op, GlobalVar) else node.op.name
            return f"T.{name.removeprefix('tir.')}({args})", _ATOM
        case tir.BinaryOp() | tir.CompareOp() | tir.LogicalOp():
            return _binary(node, done)
        case _:
            return f"<{type(node).__name__}>", _ATOM


def _binary(node: Any, done: dict[Any, tuple[str, int]]) -> tuple[str, int]:
    (left, left_level), (right, right_level) = done[node.a], done[node.b]
    infix = _INFIX.get(type(node))
    if infix is None:
        return f"{_PREFIX[type(node)]}({left}, {right})", _ATOM
    sign, level = infix
    # Comparisons do not chain in the scalar language, so both sides of one need parentheses at equal strength.
    left_low = left_level < level or (level == 3 and left_level == level)
    left = f"({left})" if left_low else left
    right = f"({right})" if right_level <= level else right
    return f"{left} {sign} {right}", level


def _integer(node: tir.IntImm) -> tuple[str, int]:
    if node.dtype == INT64:
        return str(node.value), _ATOM if node.value >= 0 else 6
    if node.dtype.is_bool:
        return f"T.bool({bool(node.value)})", _ATOM
    return f"T.{node.dtype}({node.value})", _ATOM


def _float(node: tir.FloatImm) -> str:
    text = repr(node.value)
    return f'T.{node.dtype}("{text}")' if text in ("inf", "-inf", "nan") else f"T.{node.dtype}({text})"
