"""Proofs that a polynomial is never negative: bounds, then elimination of atoms by what is known of each.

`i*W + j < H*W` for i < H, j < W is proved by replacing j by W - 1, then i by H - 1. Used rules:
- a variable by its lower or upper bound, by the sign of its coefficient;
- a quotient d = a // c by `a - c + 1 <= c*d <= a`, with the inequality multiplied by c;
- a remainder a % c by 0 and c - 1 (and by a where a >= 0);
- extrema by cases; noted constraints by subtracting a multiple.
The effort is bounded; False means "not proved".
"""

from __future__ import annotations

from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.atoms import Atom
from baton._src.tir.arith.bounds import bound
from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.polynomial import Poly

_FUEL = 64
_DEPTH = 6


def is_nonnegative(ctx: Context, poly: Poly) -> bool:
    """Whether `poly >= 0` can be proved."""
    fresh = ctx.fuel == 0
    if fresh:
        ctx.fuel = _FUEL
    try:
        return _prove(ctx, poly, _DEPTH)
    finally:
        if fresh:
            ctx.fuel = 0


def is_within(ctx: Context, poly: Poly, extent: Poly) -> bool:
    """Whether `0 <= poly < extent` can be proved."""
    return is_nonnegative(ctx, poly) and is_nonnegative(ctx, p.shift(p.subtract(extent, poly), -1))


def _prove(ctx: Context, poly: Poly, depth: int) -> bool:
    low, high = bound(ctx, poly)
    if low >= 0:
        return True
    if high < 0 or depth == 0 or ctx.fuel <= 1:
        return False
    ctx.fuel -= 1
    atoms = p.atoms_of(poly)
    for index in reversed(atoms):
        split = p.split_by_atom(poly, index)
        if split is None:
            continue
        coefficient, rest = split
        sign = _sign(ctx, coefficient)
        if sign and _eliminate(ctx, index, coefficient, sign, rest, depth - 1):
            return True
    return _by_constraints(ctx, poly, depth - 1)


def _sign(ctx: Context, poly: Poly) -> int:
    low, high = bound(ctx, poly)
    return 1 if low >= 0 else -1 if high <= 0 else 0


def _eliminate(ctx: Context, index: int, coefficient: Poly, sign: int, rest: Poly, depth: int) -> bool:
    """Prove coefficient * atom + rest >= 0 by a bound of the atom."""
    known = ctx.facts.lower if sign > 0 else ctx.facts.upper
    for limit in known.get(index, ()):
        if _prove(ctx, p.add(p.multiply(coefficient, limit), rest), depth):
            return True
    low, high = bound(ctx, p.atom(index))
    edge = low if sign > 0 else high
    if edge == int(edge) if abs(edge) != float("inf") else False:
        if len(rest) > 0 and _prove(ctx, p.add(p.scale(coefficient, int(edge)), rest), depth):
            return True
    atom = ctx.atoms[index]
    if atom.kind == "div":
        return _by_quotient(ctx, atom, coefficient, sign, rest, depth)
    if atom.kind == "mod":
        return _by_remainder(ctx, atom, coefficient, sign, rest, depth)
    if atom.kind in ("min", "max", "select"):
        cases = atom.args[1:] if atom.kind == "select" else atom.args
        need_all = atom.kind == "select" or (atom.kind == "min") == (sign > 0)
        results = (_prove(ctx, p.add(p.multiply(coefficient, case), rest), depth) for case in cases)
        return all(results) if need_all else any(results)
    return False


def _by_quotient(ctx: Context, atom: Atom, coefficient: Poly, sign: int, rest: Poly, depth: int) -> bool:
    numerator, divisor = atom.args
    if bound(ctx, divisor)[0] < 0:
        return False
    limit = numerator if sign < 0 else p.shift(p.subtract(numerator, divisor), 1)
    scaled = p.add(p.multiply(rest, divisor), p.multiply(coefficient, limit))
    # An integer x is >= 0 exactly if c*x > -c.
    return _prove(ctx, p.shift(p.add(scaled, divisor), -1), depth)


def _by_remainder(ctx: Context, atom: Atom, coefficient: Poly, sign: int, rest: Poly, depth: int) -> bool:
    numerator, divisor = atom.args
    if bound(ctx, divisor)[0] < 0:
        return False
    if sign > 0:
        return _prove(ctx, rest, depth)
    if _prove(ctx, p.add(rest, p.multiply(coefficient, p.shift(divisor, -1))), depth):
        return True
    at_most = p.add(rest, p.multiply(coefficient, numerator))
    return bound(ctx, numerator)[0] >= 0 and _prove(ctx, at_most, depth)


def _by_constraints(ctx: Context, poly: Poly, depth: int) -> bool:
    for fact in ctx.facts.constraints:
        tried: set[tuple[int, int]] = set()
        for monomial, number in fact.items():
            own = poly.get(monomial, 0)
            # poly * number - fact * own cancels the monomial; both factors must keep the direction.
            if not monomial or own * number <= 0 or (own, number) in tried:
                continue
            tried.add((own, number))
            reduced = p.subtract(p.scale(poly, abs(number)), p.scale(fact, abs(own)))
            if _prove(ctx, p.shift(reduced, abs(number) - 1), depth):
                return True
    return False
