"""Constant bounds by interval arithmetic: the least and greatest value an expression can take."""

from __future__ import annotations

import math

from baton._src.tir.arith.atoms import Atom
from baton._src.tir.arith.facts import EVERYTHING, Context, Interval
from baton._src.tir.arith.polynomial import Monomial, Poly
from baton._src.values.dtype import DataType

_MAX_DEPTH = 40


def bound(ctx: Context, poly: Poly, depth: int = 0) -> Interval:
    """The interval of a polynomial."""
    low: float = 0
    high: float = 0
    for monomial, coefficient in poly.items():
        if monomial:
            a, b = _product(ctx, monomial, depth)
            if coefficient < 0:
                a, b = b, a
            low, high = low + _times(coefficient, a), high + _times(coefficient, b)
        else:
            low, high = low + coefficient, high + coefficient
    return low, high


def _times(a: float, b: float) -> float:
    return 0 if a == 0 or b == 0 else a * b


def _product(ctx: Context, monomial: Monomial, depth: int) -> Interval:
    if len(monomial) == 1:
        return atom_bound(ctx, monomial[0], depth)
    low: float = 1
    high: float = 1
    at = 0
    while at < len(monomial):
        index = monomial[at]
        power = monomial.count(index)
        low, high = multiply(*_power(atom_bound(ctx, index, depth), power), low, high)
        at += power
    return low, high


def _power(interval: Interval, power: int) -> Interval:
    low, high = interval
    if power == 1:
        return interval
    if power % 2 == 1 or low >= 0:
        return low**power, high**power
    most = max(-low, high) ** power
    return (0 if high >= 0 else (-high) ** power), most


def multiply(a: float, b: float, c: float, d: float) -> Interval:
    """[a, b] * [c, d]"""
    corners = (_times(a, c), _times(a, d), _times(b, c), _times(b, d))
    return min(corners), max(corners)


def atom_bound(ctx: Context, index: int, depth: int = 0) -> Interval:
    """The interval of an atom: what follows from its kind, narrowed by what is known of it."""
    found = ctx.bound_memo.get(index)
    if found is None:
        if depth > _MAX_DEPTH:
            return EVERYTHING
        low, high = _by_kind(ctx, ctx.atoms[index], depth + 1)
        known_low, known_high = ctx.facts.bounds.get(index, EVERYTHING)
        found = ctx.bound_memo[index] = (max(low, known_low), min(high, known_high))
    return found


def _by_kind(ctx: Context, atom: Atom, depth: int) -> Interval:
    match atom.kind:
        case "div":
            return _quotient(bound(ctx, atom.args[0], depth), bound(ctx, atom.args[1], depth))
        case "mod":
            return _remainder(bound(ctx, atom.args[0], depth), bound(ctx, atom.args[1], depth))
        case "tdiv" | "tmod":
            number = atom.args[1].get((), 0)
            is_number = len(atom.args[1]) == 1 and number > 0
            rule = _truncated_quotient if atom.kind == "tdiv" else _truncated_remainder
            return rule(bound(ctx, atom.args[0], depth), number) if is_number else EVERYTHING
        case "by_zero":
            return 0, 0
        case "min":
            parts = [bound(ctx, a, depth) for a in atom.args]
            return min(p[0] for p in parts), min(p[1] for p in parts)
        case "max":
            parts = [bound(ctx, a, depth) for a in atom.args]
            return max(p[0] for p in parts), max(p[1] for p in parts)
        case "select":
            parts = [bound(ctx, a, depth) for a in atom.args[1:]]
            return min(p[0] for p in parts), max(p[1] for p in parts)
        case "bit_and":
            sizes = [high for low, high in (bound(ctx, a, depth) for a in atom.args) if low >= 0]
            return (0, min(sizes)) if sizes else of_dtype(atom.dtype)
        case "bit_or" | "bit_xor":
            return _all_bits([bound(ctx, a, depth) for a in atom.args], atom)
        case _:
            return of_dtype(atom.dtype)


def _all_bits(parts: list[Interval], atom: Atom) -> Interval:
    """Bits that either of two numbers has: as many as the longer of them."""
    if min(low for low, _ in parts) < 0:
        return of_dtype(atom.dtype)
    greatest = max(high for _, high in parts)
    low = max(low for low, _ in parts) if atom.kind == "bit_or" else 0
    return low, greatest if math.isinf(greatest) else (1 << int(greatest).bit_length()) - 1


def of_dtype(dtype: DataType) -> Interval:
    """What a dtype can hold; index types (int32, int64) count as unbounded."""
    if dtype.is_bool:
        return 0, 1
    if dtype.kind == "uint":
        return 0, (1 << dtype.bits) - 1
    if dtype.kind == "int" and dtype.bits < 32:
        return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
    return EVERYTHING


def _floor_div(a: float, b: float) -> float:
    if math.isinf(b):
        return -1 if a < 0 else 0
    return a if math.isinf(a) else a // b


def _quotient(a: Interval, b: Interval) -> Interval:
    low, high = max(b[0], 1), b[1]  # a divisor is never 0
    if b[0] < 0 or high < 1:
        return EVERYTHING
    corners = [_floor_div(x, y) for x in a for y in (low, high)]
    return min(corners), max(corners)


def _truncated_quotient(a: Interval, divisor: int) -> Interval:
    low, high = (end if math.isinf(end) else abs(end) // divisor * (1 if end >= 0 else -1) for end in a)
    return low, high


def _truncated_remainder(a: Interval, divisor: int) -> Interval:
    low, high = a
    return (max(low, 1 - divisor) if low < 0 else 0), (min(high, divisor - 1) if high > 0 else 0)


def _remainder(a: Interval, b: Interval) -> Interval:
    if b[0] < 0:
        return EVERYTHING
    low, high = a
    most = b[1] - 1
    if low >= 0:
        return (low, high) if high < b[0] else (0, min(high, most))
    return 0, max(most, 0)
