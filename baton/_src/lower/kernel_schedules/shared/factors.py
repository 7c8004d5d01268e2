"""Factors of products as expressions: a loaded element, possibly converted, at given values of the axes."""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops


def is_simple(value: PrimExpr) -> bool:
    """Whether a factor is one loaded element, possibly converted."""
    while isinstance(value, tir.Cast):
        value = value.value
    return isinstance(value, tir.BufferLoad)


def is_converted_once(value: PrimExpr) -> bool:
    """Whether a factor is one loaded element, or a single conversion of it: what it is loaded as tells its value."""
    return isinstance(value.value if isinstance(value, tir.Cast) else value, tir.BufferLoad)


def load_of(value: PrimExpr) -> tir.BufferLoad:
    """The load of a simple factor."""
    while isinstance(value, tir.Cast):
        value = value.value
    assert isinstance(value, tir.BufferLoad)
    return value


def bound(value: PrimExpr, places: dict[Axis, PrimExpr]) -> PrimExpr:
    """`value` with axes replaced by the given indices."""
    found: PrimExpr = substitute_and_fold(value, {a.var: ops.cast(a.var.dtype, p) for a, p in places.items()})
    return found
