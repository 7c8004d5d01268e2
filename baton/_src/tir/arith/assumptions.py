"""Derive facts from an assumed condition: bounds, definitions and remainders of its variables."""

from __future__ import annotations

import math

from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.polynomial import Poly


def assume(context: Context, condition: Poly) -> None:
    """Add the fact that a condition holds, and what it implies for single variables."""
    if p.as_constant(condition) is not None:
        return
    atom = context.atoms[next(iter(condition))[0]]
    facts = context.facts
    facts.conditions[atom.index] = True
    match atom.kind:
        case "and":
            for part in atom.args:
                assume(context, part)
        case "not":
            facts.conditions[next(iter(atom.args[0]))[0]] = False
        case "ge0" if _is_stable(context, atom.args[0]):
            _assume_nonnegative(context, atom.args[0])
        case "eq0" if _is_stable(context, atom.args[0]):
            _assume_zero(context, atom.args[0])


def _is_stable(context: Context, poly: Poly) -> bool:
    """Whether the value cannot change: nothing is read from memory."""
    return all(context.atoms[i].kind != "opaque" for i in p.atoms_of(poly))


def _assume_nonnegative(context: Context, poly: Poly) -> None:
    facts = context.facts
    facts.constraints = (*facts.constraints, poly)
    rest, number = p.split_constant(poly)
    if len(rest) != 1:
        return
    ((monomial, coefficient),) = rest.items()
    if len(monomial) == 1:
        if coefficient > 0:
            facts.narrow(monomial[0], -(number // coefficient), math.inf)
        else:
            facts.narrow(monomial[0], -math.inf, number // -coefficient)


def _assume_zero(context: Context, poly: Poly) -> None:
    _assume_nonnegative(context, poly)
    _assume_nonnegative(context, p.scale(poly, -1))
    rest, number = p.split_constant(poly)
    for monomial, coefficient in rest.items():
        if len(monomial) != 1 or abs(coefficient) != 1:
            continue
        atom = context.atoms[monomial[0]]
        others = p.scale({m: c for m, c in poly.items() if m != monomial}, -coefficient)
        if atom.kind == "var" and all(atom.index not in m for m in others):
            context.facts.definitions[atom.index] = others
            return
        if atom.kind == "mod" and len(rest) == 1:
            _assume_remainder(context, atom.args[0], atom.args[1], -coefficient * number)


def _assume_remainder(context: Context, numerator: Poly, divisor: Poly, base: int) -> None:
    """numerator % divisor == base, noted for a numerator that is a variable plus a constant."""
    by = p.as_constant(divisor)
    inner, offset = p.split_constant(numerator)
    if by is None or by <= 0 or len(inner) != 1:
        return
    ((monomial, coefficient),) = inner.items()
    if len(monomial) == 1 and coefficient == 1:
        context.facts.modular[monomial[0]] = (by, (base - offset) % by)
