"""Integers read from memory may have any value: their sums wrap, so laws of integer arithmetic need not hold.

    A[i] + 1 > A[i]         not always, for int32
    A[i] - 5 >= B[i]        is not B[i] + 5 <= A[i]
    (A[i] + A[i]) + A[i]    is A[i] * 3, wrapped or not

Indices do not overflow, so `Analyzer` reasons in integers. Where it rewrites programs with such data
(`AtomTable.wraps`), sums and products of them are still one polynomial; comparisons, quotients and extrema are left
unchanged unless no part of them can overflow.
"""

from __future__ import annotations

from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.bounds import bound
from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.polynomial import Poly

_LIMIT = 1 << 30
"""Comparisons may be rearranged if the values on both sides are smaller than this."""


def is_exact(ctx: Context, *operands: Poly) -> bool:
    """Whether operands of a comparison or extremum can be taken as integers, and moved to the other side."""
    if not ctx.atoms.wraps or not any(ctx.atoms.has_data(o) for o in operands):
        return True
    if all(p.as_constant(o) is not None or _is_atom(o) for o in operands):
        return True
    return all(low > -_LIMIT and high < _LIMIT for low, high in (bound(ctx, o) for o in operands))


def is_exact_quotient(ctx: Context, numerator: Poly, divisor: Poly) -> bool:
    """Whether the operands of a division can be taken as integers."""
    if not ctx.atoms.wraps or not (ctx.atoms.has_data(numerator) or ctx.atoms.has_data(divisor)):
        return True
    by = p.as_constant(divisor)
    return by is not None and by > 0 and _is_atom(numerator)


def _is_atom(poly: Poly) -> bool:
    """One atom as it is: nothing was computed that could overflow."""
    return len(poly) == 1 and all(len(m) == 1 and c == 1 for m, c in poly.items())
