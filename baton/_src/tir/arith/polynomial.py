"""Polynomials with integer coefficients over numbered atoms: the canonical form of index expressions.

A monomial is the sorted tuple of its atoms' numbers (repeated for powers; `()` is the constant term); a polynomial maps
monomials to coefficients, never 0. Values are plain dicts for speed, and are never modified after they are returned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

Monomial = tuple[int, ...]
Poly = dict[Monomial, int]
Key = tuple[tuple[Monomial, int], ...]

ZERO: Poly = {}
ONE: Poly = {(): 1}

MAX_TERMS = 512
"""Products with more terms than this are not expanded."""


def constant(value: int) -> Poly:
    """The polynomial of a number."""
    return {(): value} if value else ZERO


def atom(index: int) -> Poly:
    """The polynomial of one atom."""
    return {(index,): 1}


def as_constant(poly: Poly) -> int | None:
    """The number a polynomial is, or None."""
    if not poly:
        return 0
    return poly.get(()) if len(poly) == 1 else None


def key(poly: Poly) -> Key:
    """A hashable form: equal for equal polynomials."""
    return tuple(sorted(poly.items()))


def accumulate(total: Poly, poly: Mapping[Monomial, int], factor: int = 1) -> None:
    """total += factor * poly, in place (for sums under construction)."""
    for monomial, coefficient in poly.items():
        value = total.get(monomial, 0) + factor * coefficient
        if value:
            total[monomial] = value
        else:
            total.pop(monomial, None)


def add(a: Poly, b: Poly, factor: int = 1) -> Poly:
    """a + factor * b"""
    if not b or not factor:
        return a
    total = dict(a)
    accumulate(total, b, factor)
    return total


def subtract(a: Poly, b: Poly) -> Poly:
    """a - b"""
    return add(a, b, -1)


def shift(a: Poly, value: int) -> Poly:
    """a + value"""
    return add(a, {(): value}) if value else a


def scale(a: Poly, factor: int) -> Poly:
    """a * factor"""
    if factor == 1:
        return a
    return {m: c * factor for m, c in a.items()} if factor else ZERO


def multiply(a: Poly, b: Poly) -> Poly:
    """a * b, expanded."""
    for one, other in ((a, b), (b, a)):
        number = as_constant(other)
        if number is not None:
            return scale(one, number)
    total: Poly = {}
    for m, c in a.items():
        accumulate(total, {tuple(sorted(m + n)): c * d for n, d in b.items()})
    return total


def split_constant(a: Poly) -> tuple[Poly, int]:
    """The polynomial without its constant term, and that term."""
    number = a.get((), 0)
    return ({m: c for m, c in a.items() if m}, number) if number else (a, 0)


def content(a: Poly) -> int:
    """The greatest common divisor of the coefficients, constant term left out; 0 if there are none."""
    return math.gcd(*(c for m, c in a.items() if m))


def divide_exactly(a: Poly, divisor: int) -> Poly:
    """a / divisor where the divisor divides every coefficient."""
    return {m: c // divisor for m, c in a.items()} if divisor != 1 else a


def without(monomial: Monomial, part: Monomial) -> Monomial | None:
    """The quotient of two monomials, or None if `part` does not divide."""
    rest = list(monomial)
    for index in part:
        if index not in rest:
            return None
        rest.remove(index)
    return tuple(rest)


def common_monomial(a: Poly) -> Monomial:
    """The largest monomial that divides every term."""
    terms = iter(a)
    shared = list(next(terms, ()))
    for monomial in terms:
        if not shared:
            break
        rest = list(monomial)
        kept = []
        for index in shared:
            if index in rest:
                rest.remove(index)
                kept.append(index)
        shared = kept
    return tuple(shared)


def divide_by(a: Poly, b: Poly) -> tuple[Poly, Poly]:
    """Quotient and remainder of polynomial division by the leading term of `b`: a == b * quotient + remainder."""
    lead = max(b, key=lambda m: (len(m), m))
    factor = b[lead]
    quotient: Poly = {}
    rest = dict(a)
    for _ in range(MAX_TERMS):
        for monomial, coefficient in rest.items():
            over = without(monomial, lead)
            if over is not None and coefficient % factor == 0:
                term = {over: coefficient // factor}
                break
        else:
            return quotient, rest
        accumulate(quotient, term)
        accumulate(rest, multiply(term, b), -1)
        if len(rest) > MAX_TERMS:
            break
    return ZERO, a


def split_by_atom(a: Poly, index: int) -> tuple[Poly, Poly] | None:
    """(coefficient, rest) with a == coefficient * atom + rest and neither naming the atom; None for higher powers."""
    coefficient: Poly = {}
    rest: Poly = {}
    for monomial, number in a.items():
        count = monomial.count(index)
        if count == 0:
            rest[monomial] = number
        elif count == 1:
            position = monomial.index(index)
            coefficient[monomial[:position] + monomial[position + 1 :]] = number
        else:
            return None
    return coefficient, rest


def atoms_of(a: Poly) -> list[int]:
    """The atoms that occur, in increasing order."""
    return sorted({index for monomial in a for index in monomial})
