"""How far queries see: keys behind the last one that a causal mask shows are neither packed nor met.

A mask is a choice between the score and minus infinity, by conditions of which one is `key <= f(query)`, where f does
not fall. (Behind a finite number keys may count: if a query sees others of such scores only.) Where the first of some
queries sees no key at all, nothing is left out for them.
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.attention.attention_parts import Attention, read_at
from baton._src.lower.kernel_schedules.shared.affine import coefficient
from baton._src.lower.kernel_schedules.shared.loops import i64
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops


def keys_seen(found: Attention, first: PrimExpr, last: PrimExpr) -> PrimExpr | None:
    """How many keys are enough for queries `first` to `last`; None if there is no such mask."""
    horizon = _horizon(found)
    if horizon is None:
        return None
    own = [axis.var for axis in found.masked.spatial]

    def of(row: PrimExpr) -> PrimExpr:
        return read_at(horizon, dict(zip(own, (*(a.var for a in found.batch), row))))

    every = as_int64(found.key.extent)
    return tir.Select(tir.GE(of(first), i64(0)), ops.min(ops.add(of(last), i64(1)), every), every)


def _horizon(found: Attention) -> PrimExpr | None:
    """The last key that a query sees, in terms of the axes of the masked scores."""
    value = found.masked.value
    if not isinstance(value, tir.Select) or not _is_infinity(value.false_value):
        return None
    *_, row, key = (axis.var for axis in found.masked.spatial)
    work = [value.condition]
    while work:
        condition = work.pop()
        match condition:
            case tir.And(a=a, b=b):
                work += [a, b]
            case tir.LE(a=a, b=b) | tir.GE(a=b, b=a) | tir.LT(a=a, b=b) | tir.GT(a=b, b=a):
                slope = _grows(a, b, row)
                if _grows(a, b, key) == -1 and slope is not None and slope >= 0:
                    rest: PrimExpr = substitute_and_fold(ops.subtract(b, a), {key: tir.IntImm(key.dtype, 0)})
                    return ops.subtract(as_int64(rest), i64(int(isinstance(condition, (tir.LT, tir.GT)))))
            case _:
                pass
    return None


def _grows(a: PrimExpr, b: PrimExpr, var: tir.Var) -> int | None:
    """By how much b - a grows with a variable."""
    first, second = coefficient(a, var), coefficient(b, var)
    return None if first is None or second is None else second - first


def _is_infinity(value: PrimExpr) -> bool:
    return isinstance(value, tir.FloatImm) and value.value == float("-inf")
