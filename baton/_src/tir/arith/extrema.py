"""Minima and maxima: flattened, shared terms and factors taken out, what is provably not the extremum dropped."""

from __future__ import annotations

import math
from collections.abc import Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.tir import operators
from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.polynomial import Poly
from baton._src.tir.arith.proofs import is_nonnegative
from baton._src.values.dtype import DataType

_MAX_PROOFS = 8
"""With more operands than this, only pairs that differ by a constant are compared."""


def extremum(ctx: Context, kind: str, operands: Sequence[Poly], dtype: DataType) -> Poly:
    """The `min` or `max` of the operands."""
    found = _undominated(ctx, kind, _flatten(ctx, kind, operands))
    if len(found) == 1:
        return found[0]
    shared = _shared_terms(found)
    left = [p.subtract(f, shared) for f in found]
    factor = math.gcd(*(c for part in left for c in part.values()))
    parts = sorted((p.divide_exactly(part, factor) for part in left), key=p.key)

    def make() -> PrimExpr:
        combine = operators.min if kind == "min" else operators.max
        total = ctx.atoms.emit(parts[0], dtype)
        for part in parts[1:]:
            total = combine(total, ctx.atoms.emit(part, dtype))
        return total

    identity = (kind, tuple(p.key(x) for x in parts))
    return p.add(p.scale(p.atom(ctx.atoms.intern(identity, kind, tuple(parts), dtype, make)), factor), shared)


def _flatten(ctx: Context, kind: str, operands: Sequence[Poly]) -> list[Poly]:
    """Operands such as `min(a, b) * 2 + c` become `a * 2 + c` and `b * 2 + c`: what parts share was taken out."""
    flat: dict[p.Key, Poly] = {}
    for operand in operands:
        inner = [m for m, c in operand.items() if c > 0 and len(m) == 1 and ctx.atoms[m[0]].kind == kind]
        parts: Sequence[Poly] = (operand,)
        if len(inner) == 1:
            rest = {m: c for m, c in operand.items() if m != inner[0]}
            parts = [p.add(p.scale(a, operand[inner[0]]), rest) for a in ctx.atoms[inner[0][0]].args]
        for part in parts:
            flat[p.key(part)] = part
    return list(flat.values())


def _undominated(ctx: Context, kind: str, operands: list[Poly]) -> list[Poly]:
    kept: list[Poly] = []
    prove = len(operands) <= _MAX_PROOFS
    for operand in operands:
        if any(_beats(ctx, kind, other, operand, prove) for other in kept):
            continue
        kept = [other for other in kept if not _beats(ctx, kind, operand, other, prove)]
        kept.append(operand)
    return kept


def _beats(ctx: Context, kind: str, winner: Poly, loser: Poly, prove: bool) -> bool:
    gap = p.subtract(loser, winner) if kind == "min" else p.subtract(winner, loser)
    number = p.as_constant(gap)
    if number is not None:
        return number >= 0
    return prove and is_nonnegative(ctx, gap)


def _shared_terms(operands: list[Poly]) -> Poly:
    """Terms that every operand has, and the least constant term of those that are no numbers.

    A number is left as it is: min(x, -8) must not become min(x + 8, 0) - 8, whose sum may not fit where x does.
    """
    shared = {m: c for m, c in operands[0].items() if m and all(o.get(m) == c for o in operands[1:])}
    offset = min((o.get((), 0) for o in operands if p.as_constant(o) is None), default=0)
    if offset:
        shared[()] = offset
    return shared
