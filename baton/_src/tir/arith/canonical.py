"""Convert scalar expressions to polynomials over atoms, without recursion.

int32 and int64 expressions are treated as integers that do not overflow (they are sizes and indices; `wrapping` has the
exceptions for data); everything else (floats, narrow or unsigned integers, loads, calls) is opaque with simplified
operands. Chains a + b + c + ... are summed in one step, however long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order
from baton._src.support.integer_division import truncated_division
from baton._src.tir import expr as tir
from baton._src.tir.arith import division, extrema, joins, wrapping
from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.atoms import DoesNotFit
from baton._src.tir.arith.bounds import bound
from baton._src.tir.arith.calls import call
from baton._src.tir.arith.comparisons import comparison, logical, negated, select
from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.opaque import direct_parts, is_index, opaque
from baton._src.tir.arith.polynomial import Poly
from baton._src.tir.arith.vectors import vector
from baton._src.tir.expr import Call, FloatImm, IntImm, Var
from baton._src.values.dtype import DataType

_MAX_DEGREE = 12
_SPLIT = (tir.Add, tir.Sub)


def canonical(ctx: Context, expr: PrimExpr) -> Poly:
    """The canonical form of `expr` under the current facts."""
    memo = ctx.memo
    found = memo.get(expr)
    if found is not None:
        return found
    if not isinstance(expr, (Var, IntImm)):

        def below(node: Node) -> Iterable[Any]:
            return () if node in memo else _operands(ctx, node)

        for node in post_order(expr, below=below):
            if node not in memo:
                memo[node] = _convert(ctx, node)
        return memo[expr]
    found = memo[expr] = _convert(ctx, expr)
    return found


def _operands(ctx: Context, node: Node) -> list[Any]:
    if isinstance(node, _SPLIT) and is_index(node.dtype):
        return [operand for operand, _ in _addends(ctx, node)]
    match node:
        case tir.BinaryOp() | tir.CompareOp() | tir.LogicalOp():
            return [node.a, node.b]
        case Var() | IntImm() | FloatImm() | tir.StringImm() | tir.AnyDim() | tir.Let() | tir.Reduce():
            return []
        case _:
            return [c for c in direct_parts(node) if isinstance(c, PrimExpr)]


def _addends(ctx: Context, node: Any) -> list[tuple[Any, int]]:
    """The operands of a chain of sums and differences, with their signs; follows one side at each step."""
    found: list[tuple[Any, int]] = []
    sign = 1
    while True:
        right_sign = -sign if isinstance(node, tir.Sub) else sign
        if isinstance(node.a, _SPLIT) and node.a not in ctx.memo:
            found.append((node.b, right_sign))
            node = node.a
        elif isinstance(node.b, _SPLIT) and node.b not in ctx.memo:
            found.append((node.a, sign))
            node, sign = node.b, right_sign
        else:
            found += [(node.b, right_sign), (node.a, sign)]
            found.reverse()
            return found


def _convert(ctx: Context, node: Any) -> Poly:
    """The canonical form of a node whose operands are in the memo."""
    try:
        convert = _CONVERTERS.get(type(node))
        return convert(ctx, node) if convert is not None else opaque(ctx, node)
    except DoesNotFit:
        return p.atom(ctx.atoms.intern(("once", node), "opaque", (), node.dtype, lambda: node))


# ------------------------------------------------------------------------------------------------- leaves


def _var(ctx: Context, node: Var) -> Poly:
    index = ctx.atoms.intern(("var", node), "var", (), node.dtype, lambda: node)
    if isinstance(node, tir.SizeVar) and index not in ctx.facts.bounds:
        ctx.facts.narrow(index, 0, float("inf"))
    defined = ctx.facts.definitions.get(index)
    return p.atom(index) if defined is None else defined


def _literal(ctx: Context, node: IntImm) -> Poly:
    return p.constant(node.value) if is_index(node.dtype) or node.dtype.is_bool else opaque(ctx, node)


# -------------------------------------------------------------------------------------------- arithmetic


def _sum(ctx: Context, node: Any) -> Poly:
    if node.dtype.lanes > 1:
        return vector(ctx, node)
    if not is_index(node.dtype):
        return opaque(ctx, node)
    total: Poly = {}
    for operand, sign in _addends(ctx, node):
        p.accumulate(total, ctx.memo[operand], sign)
    return joins.recombine(ctx, total, node.dtype)


def _product(ctx: Context, node: tir.Mul) -> Poly:
    if node.dtype.lanes > 1:
        return vector(ctx, node)
    a, b = ctx.memo[node.a], ctx.memo[node.b]
    if not is_index(node.dtype) or len(a) * len(b) > p.MAX_TERMS or _degree(a) + _degree(b) > _MAX_DEGREE:
        return opaque(ctx, node)
    return joins.recombine(ctx, p.multiply(a, b), node.dtype)


def _degree(poly: Poly) -> int:
    return max(map(len, poly), default=0)


def _floored(ctx: Context, node: Any) -> Poly:
    if node.dtype.lanes > 1:
        return vector(ctx, node)
    a, b = ctx.memo[node.a], ctx.memo[node.b]
    if not is_index(node.dtype) or not wrapping.is_exact_quotient(ctx, a, b):
        return opaque(ctx, node)
    rule = division.floor_div if isinstance(node, tir.FloorDiv) else division.floor_mod
    return rule(ctx, a, b, node.dtype)


def _truncated(ctx: Context, node: Any) -> Poly:
    if not is_index(node.dtype):
        return opaque(ctx, node)
    a, b = ctx.memo[node.a], ctx.memo[node.b]
    x, y = p.as_constant(a), p.as_constant(b)
    if x is not None and y:
        quotient = truncated_division(x, y)
        return p.constant(quotient if isinstance(node, tir.Div) else x - y * quotient)
    if y == 0 or not wrapping.is_exact_quotient(ctx, a, b):
        return opaque(ctx, node)
    if not division.truncation_is_floor(ctx, a, b):
        return division.truncated(ctx, "tdiv" if isinstance(node, tir.Div) else "tmod", a, b, node.dtype)
    rule = division.floor_div if isinstance(node, tir.Div) else division.floor_mod
    return rule(ctx, a, b, node.dtype)


def _extremum(ctx: Context, node: Any) -> Poly:
    if node.dtype.lanes > 1:
        return vector(ctx, node)
    if not is_index(node.dtype):
        return opaque(ctx, node)
    a, b = ctx.memo[node.a], ctx.memo[node.b]
    if not wrapping.is_exact(ctx, a, b):
        return a if a == b else opaque(ctx, node)
    return extrema.extremum(ctx, "min" if isinstance(node, tir.Min) else "max", (a, b), node.dtype)


def _cast(ctx: Context, node: tir.Cast) -> Poly:
    """A conversion between integers that keeps the value is no operation."""
    source, target = node.value.dtype, node.dtype
    form = ctx.memo[node.value]
    if is_index(target) and source.lanes == 1 and wrapping.is_exact(ctx, form):
        if source.is_bool or (source.is_int and source.bits <= target.bits - (source.kind == "uint")):
            return _number_widened(ctx, form)
        if source.is_int and _fits_already(ctx, form, target):
            return form
        low, high = bound(ctx, form)
        if source.is_int and low >= -(1 << 31) and high < 1 << 31:
            return form
    return opaque(ctx, node)


def _number_widened(ctx: Context, form: Poly) -> Poly:
    """A number of a small type is one of the wider type, too."""
    monomial = next(iter(form), ())
    number = ctx.atoms[monomial[0]].expr if len(form) == 1 and len(monomial) == 1 else None
    return p.scale(p.constant(number.value), form[monomial]) if isinstance(number, IntImm) else form


def _fits_already(ctx: Context, form: Poly, target: DataType) -> bool:
    """Whether a form is one value that was of the dtype before it was widened."""
    monomial = next(iter(form), ())
    alone = len(form) == 1 and len(monomial) == 1 and form[monomial] == 1
    dtype = ctx.atoms[monomial[0]].dtype if alone else None
    return dtype is not None and dtype.kind == target.kind and dtype.bits <= target.bits


_CONVERTERS: dict[type, Callable[[Context, Any], Poly]] = {
    Var: _var,
    tir.SizeVar: _var,
    IntImm: _literal,
    tir.Add: _sum,
    tir.Sub: _sum,
    tir.Mul: _product,
    tir.FloorDiv: _floored,
    tir.FloorMod: _floored,
    tir.Div: _truncated,
    tir.Mod: _truncated,
    tir.Min: _extremum,
    tir.Max: _extremum,
    tir.Cast: _cast,
    tir.EQ: comparison,
    tir.NE: comparison,
    tir.LT: comparison,
    tir.LE: comparison,
    tir.GT: comparison,
    tir.GE: comparison,
    tir.And: logical,
    tir.Or: logical,
    tir.Not: negated,
    tir.Select: select,
    tir.Ramp: vector,
    tir.Broadcast: vector,
    Call: call,
}
