"""Which of two (position, value) pairs a search for the place of an extremum keeps.

argmax and argmin are written by it, and schedules recognise them by it.
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.tir import expr as tir
from baton._src.tir.builders.scalar_functions import isnan

Pair = tuple[PrimExpr, PrimExpr]


def is_kept(left: Pair, right: Pair, *, is_max: bool, last: bool = False) -> PrimExpr:
    """Whether the pair on the left wins: the first of equals or the last, NaN before all numbers."""
    compare, order = (tir.GT if is_max else tir.LT), (tir.GT if last else tir.LT)
    better: PrimExpr = compare(left[1], right[1])
    equal: PrimExpr = tir.EQ(left[1], right[1])
    if left[1].dtype.is_float:
        no_number = isnan(left[1]), isnan(right[1])
        better = tir.Or(better, tir.And(no_number[0], tir.Not(no_number[1])))
        equal = tir.Or(equal, tir.And(*no_number))
    return tir.Or(better, tir.And(equal, order(left[0], right[0])))
