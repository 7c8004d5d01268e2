"""Remainders: that a polynomial is `base` modulo `coeff` (coeff 0: it is the constant `base`)."""

from __future__ import annotations

import math

from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.polynomial import Poly

Modular = tuple[int, int]


def modular_set(ctx: Context, poly: Poly) -> Modular:
    """(coeff, base) of a polynomial; (1, 0) says nothing."""
    coefficient, base = 0, 0
    for monomial, number in poly.items():
        term: Modular = (0, number)
        for index in monomial:
            term = _times(term, _of_atom(ctx, index))
        coefficient = math.gcd(coefficient, term[0])
        base += term[1]
        if coefficient == 1:
            return 1, 0
    return coefficient, base % coefficient if coefficient else base


def _times(a: Modular, b: Modular) -> Modular:
    (p, x), (q, y) = a, b
    return math.gcd(p * q, p * y, q * x), x * y


def _of_atom(ctx: Context, index: int) -> Modular:
    known = ctx.facts.modular.get(index)
    if known is not None:
        return known
    atom = ctx.atoms[index]
    if atom.kind == "mod":
        numerator, divisor = modular_set(ctx, atom.args[0]), modular_set(ctx, atom.args[1])
        coefficient = math.gcd(numerator[0], *divisor)
        return (coefficient, numerator[1] % coefficient) if coefficient else (1, 0)
    if atom.kind in ("min", "max", "select"):
        parts = [modular_set(ctx, a) for a in atom.args[atom.kind == "select" :]]
        coefficient = math.gcd(*(p[0] for p in parts), *(p[1] - parts[0][1] for p in parts))
        return coefficient, parts[0][1] % coefficient if coefficient else parts[0][1]
    return 1, 0
