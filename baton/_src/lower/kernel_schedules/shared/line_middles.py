"""The middle of a line of results, where every tap of a window lies inside.

    for j in n: acc[j] = max(acc[j], if_then_else(0 <= 2j + v - 1 and 2j + v < m + 1, X[2j + v - 1], -inf))   for v in 3
    ->
    for j in [0, 1), [end, n): the same
    for j in [1, end): acc[j] = max(acc[j], X[2j + v - 1])                            end = (m - 2) // 2 + 1, within n

A mask in each vector costs more than the elements it is for. A short line of known length has no use for this: it is
unrolled, and each of its vectors knows its own place.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from baton._src.ir.expr import Op, PrimExpr
from baton._src.ir.traverse import rewrite
from baton._src.lower.kernel_schedules.shared.affine import coefficient, depends
from baton._src.lower.kernel_schedules.shared.loops import constant, i64
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.arith.systems.linear import sign_change, slack
from baton._src.tir.builders.scalar_functions import if_then_else


@dataclass(frozen=True)
class Middle:
    """The places from `begin` to `end` of a line, within it; and the value there."""

    begin: PrimExpr
    end: PrimExpr
    value: PrimExpr
    before: int | None
    """How many places there are before it at most, if that is known; usually there are as many behind it."""
    outside: PrimExpr | None
    """The value at the other places, if it is the same there for each tap."""


def middle(value: PrimExpr, line: Axis, window: tuple[Axis, ...]) -> Middle | None:
    """Where conditions of `value` hold for each tap of a window of known size; None if it has no such conditions."""
    first: list[PrimExpr] = []
    ends: list[PrimExpr] = []
    holding: list[PrimExpr] = []

    def holds(condition: PrimExpr) -> bool:
        """Whether it does from some place of the line on, or up to one, which is kept."""
        found = _place(condition, line.var, window)
        if found is not None:
            (first if found[0] else ends).append(found[1])
            holding.append(condition)
        return found is not None

    def rule(node: object) -> PrimExpr | None:
        match node:
            case tir.Call(op=Op(name="tir.if_then_else"), args=(condition, inside, other)):
                left = [part for part in ops.conjuncts(condition) if not holds(part)]
                return if_then_else(reduce(tir.And, left), inside, other) if left else inside
            case _:
                return None

    found = rewrite(value, rule)
    if not first and not ends:
        return None
    length, before = as_int64(line.extent), reduce(ops.max, [*first, i64(0)])
    begin = ops.min(before, length)
    end = ops.max(begin, reduce(ops.min, [*ends, length]))
    return Middle(begin, end, found, constant(before), _outside(value, holding, window))


def _outside(value: PrimExpr, holding: list[PrimExpr], window: tuple[Axis, ...]) -> PrimExpr | None:
    """What the value is where one of the conditions fails, if the tap does not matter."""
    match value:
        case tir.Call(op=Op(name="tir.if_then_else"), args=(condition, _, other)):
            parts = ops.conjuncts(condition)
            own = all(any(c is part for part in parts) for c in holding)
            alike = not any(depends(e, tap.var) for e in (*holding, other) for tap in window)
            return other if own and alike else None
        case _:
            return None


def _place(condition: PrimExpr, along: tir.Var, window: tuple[Axis, ...]) -> tuple[bool, PrimExpr] | None:
    """The first place for which the condition holds for each tap (True), or the one behind the last (False)."""
    if not isinstance(condition, tir.CompareOp):
        return None
    distance = slack(condition.with_fields(a=as_int64(condition.a), b=as_int64(condition.b)))
    if distance is None:
        return None
    steps, taps = coefficient(distance, along), tuple(_least(distance, window))
    if not steps or len(taps) < len(window):
        return None
    least = substitute_and_fold(distance, {along: ops.const(0, along.dtype), **dict(taps)})
    return steps > 0, sign_change(least, steps)


def _least(distance: PrimExpr, window: tuple[Axis, ...]) -> Iterator[tuple[tir.Var, PrimExpr]]:
    """The taps that are nearest to failing, as far as they are known."""
    for axis in window:
        steps = coefficient(distance, axis.var)
        if steps is not None and (steps >= 0 or axis.size is not None):
            yield axis.var, ops.const(0 if steps >= 0 else (axis.size or 1) - 1, axis.var.dtype)
