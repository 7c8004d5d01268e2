"""Quotients and remainders, rounding down: (8*i + j) // 8 is i where 0 <= j < 8, and their kin.

Every result is exact for any integers within the known facts; a divisor is taken not to be 0. Quotients and remainders
by a constant are reduced first: multiples of the divisor leave, the constant term lies in [0, divisor).
"""

from __future__ import annotations

import math

from baton._src.ir.expr import PrimExpr
from baton._src.tir import operators
from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.bounds import bound
from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.modular import modular_set
from baton._src.tir.arith.polynomial import Poly
from baton._src.tir.arith.proofs import is_nonnegative, is_within
from baton._src.tir.expr import Div, FloorDiv, FloorMod, Mod
from baton._src.values.dtype import INT64, DataType


def floor_div(ctx: Context, numerator: Poly, divisor: Poly, dtype: DataType = INT64) -> Poly:
    """numerator // divisor"""
    number = p.as_constant(divisor)
    if number == 0:
        return _by_zero(ctx, FloorDiv, numerator, dtype)
    if number is not None:
        return _div_constant(ctx, p.scale(numerator, -1) if number < 0 else numerator, abs(number), dtype)
    numerator, divisor, _ = _cancel(numerator, divisor)
    if p.as_constant(divisor) is not None:
        return floor_div(ctx, numerator, divisor, dtype)
    quotient, rest = p.divide_by(numerator, divisor)
    if not rest or is_within(ctx, rest, divisor):
        return quotient
    if is_within(ctx, p.add(rest, divisor), divisor):
        return p.shift(quotient, -1)
    return p.add(quotient, _atom(ctx, "div", rest, divisor, dtype))


def floor_mod(ctx: Context, numerator: Poly, divisor: Poly, dtype: DataType = INT64) -> Poly:
    """numerator % divisor (the sign of the divisor)"""
    number = p.as_constant(divisor)
    if number == 0:
        return _by_zero(ctx, FloorMod, numerator, dtype)
    if number is not None:
        if number < 0:
            return p.scale(_mod_constant(ctx, p.scale(numerator, -1), -number, dtype), -1)
        return _mod_constant(ctx, numerator, number, dtype)
    numerator, divisor, factor = _cancel(numerator, divisor)
    if p.as_constant(divisor) is not None:
        return p.multiply(floor_mod(ctx, numerator, divisor, dtype), factor)
    _, rest = p.divide_by(numerator, divisor)
    if not rest or is_within(ctx, rest, divisor):
        return p.multiply(rest, factor)
    if is_within(ctx, p.add(rest, divisor), divisor):
        return p.multiply(p.add(rest, divisor), factor)
    return p.multiply(_atom(ctx, "mod", rest, divisor, dtype), factor)


def _cancel(numerator: Poly, divisor: Poly) -> tuple[Poly, Poly, Poly]:
    """Both without their common factor, and the factor: (W*x) // (W*y) is x // y, (W*x) % (W*y) is W * (x % y)."""
    if not numerator:
        return numerator, divisor, p.ONE
    shared = p.common_monomial({**numerator, **divisor})
    number = math.gcd(*numerator.values(), *divisor.values())
    if not shared and number == 1:
        return numerator, divisor, p.ONE

    def reduce(poly: Poly) -> Poly:
        found: Poly = {}
        for monomial, coefficient in poly.items():
            rest = p.without(monomial, shared)
            assert rest is not None
            found[rest] = coefficient // number
        return found

    return reduce(numerator), reduce(divisor), {shared: number}


def _split(numerator: Poly, divisor: int) -> tuple[Poly, Poly]:
    """(q, r) with numerator == divisor * q + r, r's coefficients below the divisor, its constant in [0, divisor)."""
    quotient: Poly = {}
    rest: Poly = {}
    for monomial, coefficient in numerator.items():
        if monomial:
            whole = abs(coefficient) // divisor * (1 if coefficient > 0 else -1)
        else:
            whole = coefficient // divisor
        left = coefficient - whole * divisor
        if whole:
            quotient[monomial] = whole
        if left:
            rest[monomial] = left
    return quotient, rest


def _div_constant(ctx: Context, numerator: Poly, divisor: int, dtype: DataType) -> Poly:
    total: Poly = {}
    while True:
        quotient, rest = _split(numerator, divisor)
        total = p.add(total, quotient)
        if not rest:
            return total
        low, high = bound(ctx, rest)
        if math.isfinite(low) and math.isfinite(high) and low // divisor == high // divisor:
            return p.shift(total, int(low // divisor))
        nested = single_quotient(ctx, rest)
        if nested is not None:
            # (a // b + x) // c == (a + b*x) // (b*c)
            inner, other, by = nested
            numerator, divisor = p.add(inner, p.scale(other, by)), divisor * by
            continue
        part = _coarse_part(ctx, rest, divisor)
        if part is None:
            return p.add(total, _atom(ctx, "div", rest, p.constant(divisor), dtype))
        coarse, _, step = part
        numerator, divisor = coarse, divisor // step


def _mod_constant(ctx: Context, numerator: Poly, divisor: int, dtype: DataType) -> Poly:
    factor = 1
    total: Poly = {}
    while True:
        _, rest = _split(_open_remainders(ctx, numerator, divisor), divisor)
        if not rest:
            return total
        low, high = bound(ctx, rest)
        if math.isfinite(low) and math.isfinite(high) and low // divisor == high // divisor:
            return p.add(total, p.shift(rest, -int(low // divisor) * divisor), factor)
        coefficient, base = modular_set(ctx, rest)
        if coefficient % divisor == 0:
            return p.shift(total, factor * (base % divisor))
        part = _coarse_part(ctx, rest, divisor)
        if part is None:
            return p.add(total, _atom(ctx, "mod", rest, p.constant(divisor), dtype), factor)
        coarse, fine, step = part
        total = p.add(total, fine, factor)
        numerator, divisor, factor = coarse, divisor // step, factor * step


def _open_remainders(ctx: Context, poly: Poly, divisor: int) -> Poly:
    """(a % b) -> a inside a remainder by a divisor of b."""
    changed = True
    while changed:
        changed = False
        for monomial, coefficient in poly.items():
            if len(monomial) != 1:
                continue
            atom = ctx.atoms[monomial[0]]
            by = p.as_constant(atom.args[1]) if atom.kind == "mod" else None
            if by is not None and by != 0 and (by * coefficient) % divisor == 0:
                poly = p.add({m: c for m, c in poly.items() if m != monomial}, atom.args[0], coefficient)
                changed = True
                break
    return poly


def single_quotient(ctx: Context, rest: Poly) -> tuple[Poly, Poly, int] | None:
    """(a, others, b) if the only quotient among the terms is a // b, with b > 0 a number and coefficient 1."""
    found: tuple[Poly, Poly, int] | None = None
    for monomial, coefficient in rest.items():
        if len(monomial) != 1 or ctx.atoms[monomial[0]].kind != "div":
            continue
        inner, by_poly = ctx.atoms[monomial[0]].args
        by = p.as_constant(by_poly)
        if found is not None or coefficient != 1 or by is None or by <= 0:
            return None
        found = inner, {m: c for m, c in rest.items() if m != monomial}, by
    return found


def _coarse_part(ctx: Context, rest: Poly, divisor: int) -> tuple[Poly, Poly, int] | None:
    """(coarse, fine, g) with rest == g * coarse + fine, 0 <= fine < g, g > 1 a divisor of the divisor."""
    steps = {math.gcd(divisor, c) for m, c in rest.items() if m} - {1}
    for step in sorted(steps, reverse=True):
        fine = {m: c for m, c in rest.items() if c % step or not m}
        low, high = bound(ctx, fine)
        if math.isfinite(low) and math.isfinite(high) and low // step == high // step:
            offset = int(low // step)
            coarse = {m: c // step for m, c in rest.items() if m and c % step == 0}
            return p.shift(coarse, offset), p.shift(fine, -offset * step), step
    return None


def _atom(ctx: Context, kind: str, numerator: Poly, divisor: Poly, dtype: DataType) -> Poly:
    def make() -> PrimExpr:
        a, b = ctx.atoms.emit(numerator, dtype), ctx.atoms.emit(divisor, dtype)
        return operators.floordiv(a, b) if kind == "div" else operators.floormod(a, b)

    return p.atom(ctx.atoms.intern((kind, p.key(numerator), p.key(divisor)), kind, (numerator, divisor), dtype, make))


def _by_zero(ctx: Context, node: type[FloorDiv | FloorMod | Div | Mod], numerator: Poly, dtype: DataType) -> Poly:
    """A quotient or remainder that kernels take for 0 and shapes refuse: it stays, and no law of division holds."""

    def make() -> PrimExpr:
        return node(ctx.atoms.emit(numerator, dtype), operators.const(0, dtype))

    return p.atom(ctx.atoms.intern(("by_zero", node, p.key(numerator)), "by_zero", (numerator,), dtype, make))


def only_atom(poly: Poly) -> int | None:
    """The atom that the polynomial is, alone."""
    if len(poly) != 1:
        return None
    ((monomial, coefficient),) = poly.items()
    return monomial[0] if len(monomial) == 1 and coefficient == 1 else None


def truncated(ctx: Context, kind: str, numerator: Poly, divisor: Poly, dtype: DataType) -> Poly:
    """The quotient ("tdiv") toward zero, or what it leaves ("tmod")."""
    number = p.as_constant(divisor)
    if number == 0:
        return _by_zero(ctx, Div if kind == "tdiv" else Mod, numerator, dtype)
    if number and all(coefficient % number == 0 for coefficient in numerator.values()):
        return p.divide_exactly(numerator, number) if kind == "tdiv" else {}
    inner = only_atom(numerator) if kind == "tdiv" and number else None
    if inner is not None and ctx.atoms[inner].kind == "tdiv":  # x / a / b is x / (a * b)
        first, by = ctx.atoms[inner].args
        before = p.as_constant(by)
        if before:
            return truncated(ctx, kind, first, p.constant(before * (number or 1)), dtype)
    node = Div if kind == "tdiv" else Mod

    def make() -> PrimExpr:
        return node(ctx.atoms.emit(numerator, dtype), ctx.atoms.emit(divisor, dtype))

    return p.atom(ctx.atoms.intern((kind, p.key(numerator), p.key(divisor)), kind, (numerator, divisor), dtype, make))


def truncation_is_floor(ctx: Context, numerator: Poly, divisor: Poly) -> bool:
    """Whether dividing toward zero and rounding down agree: neither operand is negative."""
    return is_nonnegative(ctx, numerator) and is_nonnegative(ctx, divisor)
