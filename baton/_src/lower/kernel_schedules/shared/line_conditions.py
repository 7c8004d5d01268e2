"""Conditions on the taps of a window that hold for a whole line of results, asked once for the line.

    acc[j] = max(acc[j], if_then_else(0 <= 2i + u - 1 and 0 <= 2j + v - 1, X[2i + u - 1, 2j + v - 1], -inf))
    ->
    if 0 <= 2i + u - 1: acc[j] = max(acc[j], if_then_else(0 <= 2j + v - 1, X[2i + u - 1, 2j + v - 1], -inf))

What is left are masks of the places in a vector. They are numbers, and true ones vanish: a mask that also depends on
the line would have to be spread over what lies between strided elements, for each tap anew.
"""

from __future__ import annotations

from functools import reduce

from baton._src.ir.expr import Op, PrimExpr
from baton._src.ir.structural import structural_equal
from baton._src.lower.kernel_schedules.shared.affine import depends
from baton._src.lower.kernel_schedules.shared.loops import SERIAL, UNROLLED, nest
from baton._src.lower.kernel_schedules.shared.stages import Axis, Stage
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.builders.scalar_functions import if_then_else


def split_conditions(stage: Stage, nothing: PrimExpr) -> tuple[PrimExpr, tuple[PrimExpr, ...]]:
    """The value of a reduction without its conditions that do not depend on the last spatial axis, and these: where one
    fails, the value is `nothing`, with which the combiner changes nothing.
    """
    if not stage.spatial:
        return stage.value, ()
    return _split(stage.value, nothing, stage.spatial[-1].var) or (stage.value, ())


def _split(value: PrimExpr, nothing: PrimExpr, along: tir.Var) -> tuple[PrimExpr, tuple[PrimExpr, ...]] | None:
    match value:
        case tir.Call(op=Op(name="tir.if_then_else"), args=(condition, inside, other)):
            parts = ops.conjuncts(condition) if structural_equal(other, nothing) else []
            own = [part for part in parts if depends(part, along)]
            line = tuple(part for part in parts if not depends(part, along))
            return (if_then_else(reduce(tir.And, own), inside, other) if own else inside, line) if line else None
        case tir.Mul(a=a, b=b) if ops.is_const(nothing, 0):
            first = _split(a, nothing, along)
            if first is not None:
                return tir.Mul(first[0], b), first[1]
            second = _split(b, nothing, along)
            return None if second is None else (tir.Mul(a, second[0]), second[1])
        case tir.Cast(value=inner) if ops.is_const(nothing, 0):
            found = _split(inner, ops.const(0, inner.dtype), along)
            return None if found is None else (value.with_fields(value=found[0]), found[1])
        case _:
            return None


def under_conditions(
    axes: tuple[Axis, ...], conditions: tuple[PrimExpr, ...], update: st.Stmt, unrolled: tuple[Axis, ...]
) -> st.Stmt:
    """`update` in loops over axes, each condition directly within the innermost axis that it depends on."""
    left = conditions
    for axis in reversed(axes):
        here = tuple(c for c in left if depends(c, axis.var))
        left = tuple(c for c in left if not depends(c, axis.var))
        update = nest((axis,), _under(here, update), UNROLLED if axis in unrolled else SERIAL)
    return _under(left, update)


def _under(conditions: tuple[PrimExpr, ...], body: st.Stmt) -> st.Stmt:
    return st.IfThenElse(reduce(tir.And, conditions), body) if conditions else body
