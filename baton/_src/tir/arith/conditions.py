"""Conditions: comparisons brought to `polynomial >= 0` or `== 0`, and what And, Or, Not of them come to.

A condition is the polynomial 1 (holds), 0 (does not) or one atom of kind `ge0`, `eq0`, `and`, `or`, `not`, `opaque`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.tir import operators
from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.atoms import Atom
from baton._src.tir.arith.bounds import bound
from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.modular import modular_set
from baton._src.tir.arith.polynomial import ONE, ZERO, Poly
from baton._src.tir.arith.proofs import is_nonnegative
from baton._src.tir.expr import IntImm
from baton._src.values.dtype import BOOL, DataType

_MAX_BOUNDS = 8
"""With more bounds than this, pairs of them are not compared."""


def at_least_zero(ctx: Context, poly: Poly, dtype: DataType) -> Poly:
    """The condition `poly >= 0`, decided if it can be."""
    if is_nonnegative(ctx, poly):
        return ONE
    if is_nonnegative(ctx, p.shift(p.scale(poly, -1), -1)):
        return ZERO
    rest, number = p.split_constant(poly)
    step = p.content(rest)
    poly = p.shift(p.divide_exactly(rest, step), number // step) if step > 1 else poly
    undivided = _without_quotient(ctx, poly)
    if undivided is not None:
        return at_least_zero(ctx, undivided, dtype)
    return _known(
        ctx, ctx.atoms.intern(("ge0", p.key(poly)), "ge0", (poly,), BOOL, lambda: _emit_order(ctx, poly, dtype))
    )


def _without_quotient(ctx: Context, poly: Poly) -> Poly | None:
    """x // 8 + 3 >= 0 as x + 24 >= 0, and 3 - x // 8 >= 0 as 31 - x >= 0; None for anything else."""
    rest, number = p.split_constant(poly)
    if len(rest) != 1:
        return None
    ((monomial, sign),) = rest.items()
    atom = ctx.atoms[monomial[0]]
    divisor = p.as_constant(atom.args[1]) if len(monomial) == 1 and atom.kind == "div" else None
    if divisor is None or divisor < 1 or abs(sign) != 1:
        return None
    return p.shift(p.scale(atom.args[0], sign), number * divisor + (divisor - 1 if sign < 0 else 0))


def is_zero(ctx: Context, poly: Poly, dtype: DataType) -> Poly:
    """The condition `poly == 0`, decided if it can be."""
    low, high = bound(ctx, poly)
    if low > 0 or high < 0:
        return ZERO
    if low == high == 0:
        return ONE
    coefficient, base = modular_set(ctx, poly)
    if (base % coefficient if coefficient else base) != 0:
        return ZERO
    rest, number = p.split_constant(poly)
    step = p.content(rest) or 1
    if number % step:
        return ZERO
    poly = p.divide_exactly(poly, step)
    if poly[min(m for m in poly if m)] < 0:
        poly = p.scale(poly, -1)
    if is_nonnegative(ctx, p.shift(poly, -1)) or is_nonnegative(ctx, p.shift(p.scale(poly, -1), -1)):
        return ZERO
    return _known(
        ctx, ctx.atoms.intern(("eq0", p.key(poly)), "eq0", (poly,), BOOL, lambda: _emit_equal(ctx, poly, dtype))
    )


def _known(ctx: Context, index: int) -> Poly:
    """The condition an atom stands for, looked up among those known to hold or not; numbers in it may decide it."""
    written = ctx.atoms[index].expr
    decided = written.value if isinstance(written, IntImm) else ctx.facts.conditions.get(index)
    return p.atom(index) if decided is None else ONE if decided else ZERO


def negation(ctx: Context, condition: Poly) -> Poly:
    """The condition does not hold."""
    number = p.as_constant(condition)
    if number is not None:
        return ZERO if number else ONE
    atom = ctx.atoms[next(iter(condition))[0]]
    if atom.kind == "not":
        return atom.args[0]
    if atom.kind == "ge0":
        operand = p.shift(p.scale(atom.args[0], -1), -1)
        return at_least_zero(ctx, operand, _compared_dtype(atom))
    if atom.kind in ("and", "or"):
        parts = [negation(ctx, a) for a in atom.args]
        return combination(ctx, "or" if atom.kind == "and" else "and", parts)

    def make() -> PrimExpr:
        if atom.kind == "eq0":
            left, right = _sides(ctx, atom.args[0], _compared_dtype(atom))
            return operators.not_equal(left, right)
        return operators.logical_not(atom.expr)

    return _known(ctx, ctx.atoms.intern(("not", atom.index), "not", (condition,), BOOL, make))


def combination(ctx: Context, kind: str, operands: Sequence[Poly]) -> Poly:
    """The `and` or `or` of conditions: flattened, repetitions and contradictions found."""
    neutral, absorbing = (ONE, ZERO) if kind == "and" else (ZERO, ONE)
    flat: dict[int, Poly] = {}
    for operand in operands:
        number = p.as_constant(operand)
        if number is not None:
            if bool(number) != bool(neutral):
                return absorbing
            continue
        atom = ctx.atoms[next(iter(operand))[0]]
        for part in atom.args if atom.kind == kind else (operand,):
            flat[next(iter(part))[0]] = part
    if not flat:
        return neutral
    if any(_complement(ctx, index) in flat for index in flat) or _exclude(ctx, kind, flat):
        return absorbing
    if len(flat) == 1:
        return next(iter(flat.values()))
    order = list(flat)

    def make() -> PrimExpr:
        combine = operators.logical_and if kind == "and" else operators.logical_or
        total = ctx.atoms[order[0]].expr
        for index in order[1:]:
            total = combine(total, ctx.atoms[index].expr)
        return total

    identity = (kind, tuple(sorted(order)))
    return _known(ctx, ctx.atoms.intern(identity, kind, tuple(flat.values()), BOOL, make))


def _exclude(ctx: Context, kind: str, parts: Iterable[int]) -> bool:
    """Whether two bounds of one expression leave nothing (`and`), or leave nothing out (`or`): x < 4 and x >= 6."""
    atoms = (ctx.atoms[index] for index in parts)
    bounds = [atom.args[0] for atom in atoms if atom.kind == "ge0"]
    for place, one in enumerate(bounds if len(bounds) <= _MAX_BOUNDS else ()):
        for other in bounds[place + 1 :]:
            room = p.as_constant(p.add(one, other))  # a - x >= 0 and x - b >= 0, of which the sum is a - b
            if room is not None and (room < 0 if kind == "and" else room >= -1):
                return True
    return False


def _complement(ctx: Context, index: int) -> int | None:
    """The atom that says the opposite, if it was met."""
    atom = ctx.atoms[index]
    if atom.kind == "ge0":
        return ctx.atoms.find(("ge0", p.key(p.shift(p.scale(atom.args[0], -1), -1))))
    return ctx.atoms.find(("not", index))


# --------------------------------------------------------------------------------------------- expressions


def _compared_dtype(atom: Atom) -> DataType:
    """What a comparison is computed in. Its terms may be narrower (bytes, bools), and their sums would wrap there."""
    comparison: Any = atom.expr
    dtype: DataType = comparison.a.dtype
    return dtype


def _sides(ctx: Context, poly: Poly, dtype: DataType) -> tuple[PrimExpr, PrimExpr]:
    """poly == 0 as left == right: positive terms left, the rest right."""
    rest, number = p.split_constant(poly)
    left = {m: c for m, c in rest.items() if c > 0}
    right = {m: -c for m, c in rest.items() if c < 0}
    return ctx.atoms.emit(left, dtype), ctx.atoms.emit(p.shift(right, -number), dtype)


def _emit_equal(ctx: Context, poly: Poly, dtype: DataType) -> PrimExpr:
    return operators.equal(*_sides(ctx, poly, dtype))


def _emit_order(ctx: Context, poly: Poly, dtype: DataType) -> PrimExpr:
    """poly >= 0 as a comparison: negative terms on the left of `<`, or a bound on the right."""
    rest, number = p.split_constant(poly)
    small = {m: -c for m, c in rest.items() if c < 0}
    large = {m: c for m, c in rest.items() if c > 0}
    if not small:
        return operators.greater_equal(ctx.atoms.emit(large, dtype), ctx.atoms.emit(p.constant(-number), dtype))
    if not large:
        return operators.less(ctx.atoms.emit(small, dtype), ctx.atoms.emit(p.constant(number + 1), dtype))
    left, right = (p.shift(small, -number), large) if number < 0 else (small, p.shift(large, number))
    if number == -1:
        return operators.less(ctx.atoms.emit(small, dtype), ctx.atoms.emit(large, dtype))
    return operators.less_equal(ctx.atoms.emit(left, dtype), ctx.atoms.emit(right, dtype))
