"""Terms of a sum that belong together, joined: quotients with remainders, the smaller one of two with the larger one.

x // c * c + x % c is x         x % 4 + x // 4 % 2 * 4 is x % 8         min(x, y) + max(x, y) is x + y
"""

from __future__ import annotations

from contextlib import suppress

from baton._src.tir.arith import division
from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.atoms import DoesNotFit
from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.modular import modular_set
from baton._src.tir.arith.polynomial import Poly
from baton._src.values.dtype import INT64, DataType


def recombine(ctx: Context, poly: Poly, dtype: DataType = INT64) -> Poly:
    """Quotients and remainders that belong together joined: x//c*c + x%c is x; x%4 + x//4%2*4 is x%8."""
    for monomial in list(poly):
        if monomial not in poly:
            continue
        for position, index in enumerate(monomial):
            join = _JOINS.get(ctx.atoms[index].kind)
            if join is not None:
                factor = {monomial[:position] + monomial[position + 1 :]: poly[monomial]}
                with suppress(DoesNotFit):  # then they stay apart
                    poly = join(ctx, poly, index, factor, dtype)
                break
    return poly


def _join_exact(ctx: Context, poly: Poly, index: int, factor: Poly, dtype: DataType) -> Poly:
    """x//c*c is x - b where x is known to be b modulo c."""
    numerator, by = ctx.atoms[index].args
    divisor = p.as_constant(by)
    if not divisor or not ctx.facts.modular or any(c % divisor for c in factor.values()):
        return poly
    coefficient, base = modular_set(ctx, numerator)
    if coefficient % divisor:
        return poly
    exact = p.multiply(p.divide_exactly(factor, divisor), p.shift(numerator, -(base % divisor)))
    return p.add(p.subtract(poly, p.multiply(factor, p.atom(index))), exact)


def _join(ctx: Context, poly: Poly, index: int, factor: Poly, dtype: DataType) -> Poly:
    numerator, divisor = ctx.atoms[index].args
    if p.as_constant(divisor) == 0:
        return poly
    remainder = p.multiply(factor, p.atom(index))
    partner = p.multiply(p.multiply(factor, divisor), division.floor_div(ctx, numerator, divisor, dtype))
    joined = p.add(p.subtract(p.subtract(poly, remainder), partner), p.multiply(factor, numerator))
    if len(joined) < len(poly):
        return joined
    whole = _join_within(ctx, poly, index, factor)
    if whole is not None:
        return whole
    inner = division.single_quotient(ctx, numerator)
    outer = p.as_constant(divisor)
    number = p.as_constant(factor)
    if inner is None or inner[1] or outer is None or number is None or number % inner[2]:
        return poly
    x, _, by = inner
    low = p.scale(division.floor_mod(ctx, x, p.constant(by), dtype), number // by)
    whole = p.scale(division.floor_mod(ctx, x, p.constant(by * outer), dtype), number // by)
    joined = p.add(p.subtract(p.subtract(poly, remainder), low), whole)
    return joined if len(joined) < len(poly) else poly


def _join_within(ctx: Context, poly: Poly, index: int, factor: Poly) -> Poly | None:
    """x % 4 + x % 8 // 4 * 4 is x % 8; None if there is no such quotient."""
    numerator, divisor = ctx.atoms[index].args
    for other in p.atoms_of(poly):
        atom = ctx.atoms[other]
        inner = division.only_atom(atom.args[0]) if atom.kind == "div" and atom.args[1] == divisor else None
        if inner is None or ctx.atoms[inner].kind != "mod" or ctx.atoms[inner].args[0] != numerator:
            continue
        modulus, step = p.as_constant(ctx.atoms[inner].args[1]), p.as_constant(divisor)
        parts = p.add(p.multiply(factor, p.atom(index)), p.multiply(p.multiply(factor, divisor), p.atom(other)))
        rest = p.subtract(poly, parts)
        if modulus and step and modulus % step == 0 and len(rest) == len(poly) - len(parts):
            return p.add(rest, p.multiply(factor, p.atom(inner)))
    return None


def _join_truncated(ctx: Context, poly: Poly, index: int, factor: Poly, dtype: DataType) -> Poly:
    """The quotient and remainder of a division toward zero make up its numerator, too."""
    numerator, divisor = ctx.atoms[index].args
    partner = p.multiply(p.multiply(factor, divisor), division.truncated(ctx, "tdiv", numerator, divisor, dtype))
    parts = p.add(p.multiply(factor, p.atom(index)), partner)
    joined = p.add(p.subtract(poly, parts), p.multiply(factor, numerator))
    return joined if len(joined) < len(poly) else poly


def _join_extrema(ctx: Context, poly: Poly, index: int, factor: Poly, dtype: DataType) -> Poly:
    """The smaller and the larger one of two make up their sum."""
    atom = ctx.atoms[index]
    other = ctx.atoms.find(("max", *atom_identity(atom.args))) if len(atom.args) == 2 else None
    if other is None:
        return poly
    pair = p.multiply(factor, p.add(p.atom(index), p.atom(other)))
    rest = p.subtract(poly, pair)
    one, two = atom.args
    return p.add(rest, p.multiply(factor, p.add(one, two))) if len(rest) == len(poly) - len(pair) else poly


def atom_identity(args: tuple[Poly, ...]) -> tuple[tuple[p.Key, ...]]:
    """What an extremum is told by, besides its kind."""
    return (tuple(p.key(arg) for arg in args),)


_JOINS = {"mod": _join, "div": _join_exact, "tmod": _join_truncated, "min": _join_extrema}
