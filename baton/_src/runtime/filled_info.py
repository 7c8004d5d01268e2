"""Types at run time with the variables that have a value replaced by it.

A function type numbers the variables in it by itself; `FunctionValue.outer` says which of them are those of the scope
around it, whose values it takes over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from baton._src.runtime.dim_expr import DimExpr, compile_dim, slots_of
from baton._src.runtime.value_info import FunctionValue, PrimScalar, ShapeValue, TensorValue, TupleValue, ValueInfo


def filled(info: ValueInfo, heap: Sequence[Any]) -> ValueInfo:
    """`info` with each dim and prim value computed whose variables all have a value in `heap` (None is none)."""
    match info:
        case TensorValue(dims=dims) | ShapeValue(dims=dims) if dims is not None:
            return replace(info, dims=tuple(_known(d, heap) for d in dims))
        case PrimScalar(value=value) if value is not None:
            return replace(info, value=_known(value, heap))
        case TupleValue(fields):
            return TupleValue(tuple(filled(f, heap) for f in fields))
        case FunctionValue(outer=outer) if any(heap[around] is not None for _, around in outer):
            return _filled_function(info, heap)
        case _:
            return info


def _filled_function(info: FunctionValue, heap: Sequence[Any]) -> FunctionValue:
    inner = own_heap(info)
    for here, around in info.outer:
        inner[here] = heap[around]
    return filled_signature(info, inner)


def filled_signature(info: FunctionValue, heap: Sequence[Any], count: int | None = None) -> FunctionValue:
    """The type with its own variables filled in, and the first `count` parameters (all)."""
    params = tuple(filled(p, heap) for p in (info.params or ())[:count])
    return replace(info, params=params, ret=None if info.ret is None else filled(info.ret, heap))


def own_heap(info: FunctionValue) -> list[Any]:
    """The variables of a function type, without values."""
    parts = (*(info.params or ()), *(() if info.ret is None else (info.ret,)))
    slots = [s for part in parts for s in read_slots(part)] + [here for here, _ in info.outer]
    return [None] * (max(slots, default=-1) + 1)


def read_slots(info: ValueInfo) -> list[int]:
    """The variables that `info` takes from the scope it stands in."""
    match info:
        case TensorValue(dims=dims) | ShapeValue(dims=dims):
            return [s for d in dims or () for s in slots_of(d)]
        case PrimScalar(value=value):
            return [] if value is None else list(slots_of(value))
        case TupleValue(fields):
            return [s for f in fields for s in read_slots(f)]
        case FunctionValue(outer=outer):
            return [around for _, around in outer]
        case _:
            return []


def _known(dim: DimExpr, heap: Sequence[Any]) -> DimExpr:
    if all(heap[s] is not None for s in slots_of(dim)):
        value: DimExpr = compile_dim(dim)(heap)
        return value
    return dim
