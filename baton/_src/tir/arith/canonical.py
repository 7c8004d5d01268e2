"""Convert scalar expressions to polynomials over atoms, without recursion.

int32 and int64 expressions are treated as integers that do not overflow (they are sizes and indices; `wrapping` has the
exceptions for data); everything else (floats, narrow or unsigned integers, loads, calls) is opaque with simplified
operands. Chains a + b + c + ... are summed in one step, however long.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order, rebuild
from baton._src.tir import expr as tir
from baton._src.tir.arith import conditions, division, extrema, wrapping
from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.atoms import DoesNotFit
from baton._src.tir.arith.bounds import bound
from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.polynomial import Poly
from baton._src.tir.expr import Call, FloatImm, IntImm, Var
from baton._src.tir.intrinsics import Effect, definition
from baton._src.values.dtype import DataType

_INDEX_TYPES = frozenset({"int32", "int64"})
_MAX_DEGREE = 12
_SPLIT = (tir.Add, tir.Sub)


def is_index(dtype: DataType) -> bool:
    """Whether expressions of the dtype are taken as unbounded integers."""
    return dtype in _INDEX_TYPES


def canonical(ctx: Context, expr: PrimExpr) -> Poly:
    """The canonical form of `expr` under the current facts."""
    memo = ctx.memo
    found = memo.get(expr)
    if found is not None:
        return found
    if not isinstance(expr, (Var, IntImm)):

        def below(node: Any) -> Iterable[Any]:
            return () if node in memo else _operands(ctx, node)

        for node in post_order(expr, below=below):
            if node not in memo:
                memo[node] = _convert(ctx, node)
        return memo[expr]
    found = memo[expr] = _convert(ctx, expr)
    return found


def _operands(ctx: Context, node: Any) -> list[Any]:
    if isinstance(node, _SPLIT) and is_index(node.dtype):
        return [operand for operand, _ in _addends(ctx, node)]
    match node:
        case tir.BinaryOp() | tir.CompareOp() | tir.LogicalOp():
            return [node.a, node.b]
        case Var() | IntImm() | FloatImm() | tir.StringImm() | tir.AnyDim() | tir.Let() | tir.Reduce():
            return []
        case _:
            return [c for c in _direct_parts(node) if isinstance(c, PrimExpr)]


def _direct_parts(node: Any) -> list[Any]:
    """The expressions directly in the fields of a node."""
    found: list[Any] = []
    for spec in type(node).specs:
        content = getattr(node, spec.name)
        if isinstance(content, tuple):
            found.extend(content)
        else:
            found.append(content)
    return found


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


def opaque(ctx: Context, node: Any) -> Poly:
    """A node that is not decomposed; two of them are the same atom if their operands are equal."""
    memo, atoms = ctx.memo, ctx.atoms
    if isinstance(node, (tir.AnyDim, tir.Let, tir.Reduce)) or (isinstance(node, Call) and not _is_repeatable(node)):
        identity: Any = ("once", node)
    else:
        identity = (type(node), *(_identity(ctx, getattr(node, s.name)) for s in type(node).specs if s.name != "span"))

    def make() -> PrimExpr:
        changed: dict[Any, Any] = {}
        for part in _direct_parts(node):
            if isinstance(part, PrimExpr) and part in memo and not isinstance(part, (tir.AnyDim, tir.StringImm)):
                changed[part] = atoms.emit(memo[part], part.dtype)
        made: PrimExpr = rebuild(node, changed) if changed else node
        return made

    return p.atom(atoms.intern(identity, "opaque", (), node.dtype, make))


def _identity(ctx: Context, content: Any) -> Any:
    if isinstance(content, PrimExpr):
        form = ctx.memo.get(content)
        return (content.dtype, p.key(form)) if form is not None else content
    if isinstance(content, tuple):
        return tuple(_identity(ctx, part) for part in content)
    return repr(content) if isinstance(content, float) else content


def _is_repeatable(node: Call) -> bool:
    row = definition(node.op)
    return row is not None and row.effect is Effect.PURE


# -------------------------------------------------------------------------------------------- arithmetic


def _sum(ctx: Context, node: Any) -> Poly:
    if not is_index(node.dtype):
        return opaque(ctx, node)
    total: Poly = {}
    for operand, sign in _addends(ctx, node):
        p.accumulate(total, ctx.memo[operand], sign)
    return division.recombine(ctx, total, node.dtype)


def _product(ctx: Context, node: tir.Mul) -> Poly:
    a, b = ctx.memo[node.a], ctx.memo[node.b]
    if not is_index(node.dtype) or len(a) * len(b) > p.MAX_TERMS or _degree(a) + _degree(b) > _MAX_DEGREE:
        return opaque(ctx, node)
    return division.recombine(ctx, p.multiply(a, b), node.dtype)


def _degree(poly: Poly) -> int:
    return max(map(len, poly), default=0)


def _floor_div(ctx: Context, node: Any) -> Poly:
    a, b = ctx.memo[node.a], ctx.memo[node.b]
    if not is_index(node.dtype) or not wrapping.is_exact_quotient(ctx, a, b):
        return opaque(ctx, node)
    return division.floor_div(ctx, a, b, node.dtype)


def _floor_mod(ctx: Context, node: Any) -> Poly:
    a, b = ctx.memo[node.a], ctx.memo[node.b]
    if not is_index(node.dtype) or not wrapping.is_exact_quotient(ctx, a, b):
        return opaque(ctx, node)
    return division.floor_mod(ctx, a, b, node.dtype)


def _truncated(ctx: Context, node: Any) -> Poly:
    if not is_index(node.dtype):
        return opaque(ctx, node)
    a, b = ctx.memo[node.a], ctx.memo[node.b]
    x, y = p.as_constant(a), p.as_constant(b)
    if x is not None and y:
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return p.constant(quotient if isinstance(node, tir.Div) else x - y * quotient)
    if y == 0 or not wrapping.is_exact_quotient(ctx, a, b) or not division.truncation_is_floor(ctx, a, b):
        return opaque(ctx, node)
    rule = division.floor_div if isinstance(node, tir.Div) else division.floor_mod
    return rule(ctx, a, b, node.dtype)


def _extremum(ctx: Context, node: Any) -> Poly:
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
            return form
        low, high = bound(ctx, form)
        if source.is_int and low >= -(1 << 31) and high < 1 << 31:
            return form
    return opaque(ctx, node)


# --------------------------------------------------------------------------------------------- conditions


def _comparison(ctx: Context, node: Any) -> Poly:
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
            return conditions.negation(ctx, conditions.is_zero(ctx, p.subtract(a, b), dtype), dtype)
        case tir.LT():
            gap = p.shift(p.subtract(b, a), -1)
        case tir.LE():
            gap = p.subtract(b, a)
        case tir.GT():
            gap = p.shift(p.subtract(a, b), -1)
        case _:
            gap = p.subtract(a, b)
    return conditions.at_least_zero(ctx, division.recombine(ctx, gap, dtype), dtype)


def _wrapped_comparison(ctx: Context, node: Any, gap: int | None) -> Poly:
    """A comparison of sums that may wrap: equal ones are known, and those that differ by a constant differ."""
    if gap is not None and gap % (1 << node.a.dtype.bits) == 0:
        return p.constant(int(isinstance(node, tir.EQ | tir.LE | tir.GE)))
    if gap is not None and isinstance(node, tir.EQ | tir.NE):
        return p.constant(int(isinstance(node, tir.NE)))
    return opaque(ctx, node)


def _logical(ctx: Context, node: Any) -> Poly:
    if node.dtype.lanes > 1:
        return opaque(ctx, node)
    kind = "and" if isinstance(node, tir.And) else "or"
    return conditions.combination(ctx, kind, (ctx.memo[node.a], ctx.memo[node.b]))


def _not(ctx: Context, node: tir.Not) -> Poly:
    return opaque(ctx, node) if node.dtype.lanes > 1 else conditions.negation(ctx, ctx.memo[node.a], node.dtype)


def _select(ctx: Context, node: Any) -> Poly:
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


def _call(ctx: Context, node: Call) -> Poly:
    row = definition(node.op)
    name = row.name if row is not None else ""
    if name == "tir.if_then_else":
        return _select(ctx, node)
    if name == "tir.likely" and p.as_constant(ctx.memo[node.args[0]]) is not None:
        return ctx.memo[node.args[0]]
    if name in ("tir.shift_left", "tir.shift_right") and is_index(node.dtype):
        amount = p.as_constant(ctx.memo[node.args[1]])
        if amount is not None and 0 <= amount < node.dtype.bits:
            form = ctx.memo[node.args[0]]
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


_CONVERTERS: dict[type, Callable[[Context, Any], Poly]] = {
    Var: _var,
    tir.SizeVar: _var,
    IntImm: _literal,
    tir.Add: _sum,
    tir.Sub: _sum,
    tir.Mul: _product,
    tir.FloorDiv: _floor_div,
    tir.FloorMod: _floor_mod,
    tir.Div: _truncated,
    tir.Mod: _truncated,
    tir.Min: _extremum,
    tir.Max: _extremum,
    tir.Cast: _cast,
    tir.EQ: _comparison,
    tir.NE: _comparison,
    tir.LT: _comparison,
    tir.LE: _comparison,
    tir.GT: _comparison,
    tir.GE: _comparison,
    tir.And: _logical,
    tir.Or: _logical,
    tir.Not: _not,
    tir.Select: _select,
    Call: _call,
}
