"""Vectors of integers: ramps and broadcasts computed with as what they are made of.

ramp(x, 1, 4) + broadcast(y, 4)          ->   ramp(x + y, 1, 4)
ramp(x * 8, 1, 4) // broadcast(4, 4)     ->   broadcast(x * 2, 4)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.tir import expr as tir
from baton._src.tir.arith import division, extrema, joins
from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.modular import modular_set
from baton._src.tir.arith.opaque import is_index, opaque
from baton._src.tir.arith.polynomial import ZERO, Poly
from baton._src.values.dtype import DataType


class Vector(NamedTuple):
    """`base + stride * lane`; without a stride all lanes are the base."""

    base: Poly
    stride: Poly


def vector(ctx: Context, node: Any) -> Poly:
    """A ramp, a broadcast, or an operation on vectors; opaque unless it comes to a ramp or broadcast."""
    dtype = node.dtype.with_lanes(1)
    lanes = node.dtype.lanes
    if not is_index(dtype) or not isinstance(lanes, int):
        return opaque(ctx, node)
    if isinstance(node, tir.Ramp):
        return _interned(ctx, Vector(ctx.memo[node.base], ctx.memo[node.stride]), node.dtype)
    if isinstance(node, tir.Broadcast):
        return _interned(ctx, Vector(ctx.memo[node.value], ZERO), node.dtype)
    a, b = (_vector_of(ctx, ctx.memo[part]) for part in (node.a, node.b))
    rule = _RULES.get(type(node))
    if rule is None or a is None or b is None or not _is_exact(ctx, node, a, b):
        return opaque(ctx, node)
    found = rule(ctx, a, b, dtype, lanes)
    return opaque(ctx, node) if found is None else _interned(ctx, found, node.dtype)


def _is_exact(ctx: Context, node: Node, *parts: Vector) -> bool:
    """Whether no lane can overflow before it is divided or compared; sums and products may."""
    if isinstance(node, tir.Add | tir.Sub | tir.Mul):
        return True
    return not ctx.atoms.wraps or not any(ctx.atoms.has_data(form) for part in parts for form in part)


def _interned(ctx: Context, found: Vector, dtype: DataType) -> Poly:
    base, stride = found
    scalar = dtype.with_lanes(1)

    def make() -> PrimExpr:
        first = ctx.atoms.emit(base, scalar)
        return (
            tir.Ramp(first, ctx.atoms.emit(stride, scalar), dtype.lanes)
            if stride
            else tir.Broadcast(first, dtype.lanes)
        )

    return p.atom(
        ctx.atoms.intern(("vector", dtype, p.key(base), p.key(stride)), "vector", (base, stride), dtype, make)
    )


def _vector_of(ctx: Context, form: Poly) -> Vector | None:
    if len(form) != 1:
        return None
    ((monomial, coefficient),) = form.items()
    atom = ctx.atoms[monomial[0]] if len(monomial) == 1 and coefficient == 1 else None
    return Vector(*atom.args) if atom is not None and atom.kind == "vector" else None


def _sum(ctx: Context, a: Vector, b: Vector, dtype: DataType, lanes: int) -> Vector:
    return Vector(joins.recombine(ctx, p.add(a.base, b.base), dtype), p.add(a.stride, b.stride))


def _difference(ctx: Context, a: Vector, b: Vector, dtype: DataType, lanes: int) -> Vector:
    return Vector(joins.recombine(ctx, p.subtract(a.base, b.base), dtype), p.subtract(a.stride, b.stride))


def _product(ctx: Context, a: Vector, b: Vector, dtype: DataType, lanes: int) -> Vector | None:
    if a.stride and b.stride:
        return None
    many, one = (a, b) if a.stride else (b, a)
    return Vector(joins.recombine(ctx, p.multiply(a.base, b.base), dtype), p.multiply(many.stride, one.base))


def _extremum(kind: str) -> Callable[..., Vector | None]:
    def rule(ctx: Context, a: Vector, b: Vector, dtype: DataType, lanes: int) -> Vector | None:
        if a.stride != b.stride:
            return None
        return Vector(extrema.extremum(ctx, kind, (a.base, b.base), dtype), a.stride)

    return rule


def _one_quotient(ctx: Context, a: Vector, divisor: int, lanes: int) -> int | None:
    """The remainder of the first lane, if all lanes have its quotient."""
    stride = p.as_constant(a.stride)
    coefficient, first = modular_set(ctx, a.base)
    if stride is None or coefficient % divisor:
        return None
    last = first + stride * (lanes - 1)
    return first % divisor if first // divisor == last // divisor else None


def _quotient(ctx: Context, a: Vector, b: Vector, dtype: DataType, lanes: int) -> Vector | None:
    divisor, stride = p.as_constant(b.base), p.as_constant(a.stride)
    if b.stride or not divisor or stride is None:
        return None
    base = division.floor_div(ctx, a.base, b.base, dtype)
    if stride % divisor == 0:
        return Vector(base, p.constant(stride // divisor))
    return Vector(base, ZERO) if _one_quotient(ctx, a, divisor, lanes) is not None else None


def _remainder(ctx: Context, a: Vector, b: Vector, dtype: DataType, lanes: int) -> Vector | None:
    divisor, stride = p.as_constant(b.base), p.as_constant(a.stride)
    if b.stride or not divisor or stride is None:
        return None
    if stride % divisor == 0:
        return Vector(division.floor_mod(ctx, a.base, b.base, dtype), ZERO)
    first = _one_quotient(ctx, a, divisor, lanes)
    return None if first is None else Vector(p.constant(first), a.stride)


_RULES: dict[type, Callable[..., Vector | None]] = {
    tir.Add: _sum,
    tir.Sub: _difference,
    tir.Mul: _product,
    tir.FloorDiv: _quotient,
    tir.FloorMod: _remainder,
    tir.Min: _extremum("min"),
    tir.Max: _extremum("max"),
}
