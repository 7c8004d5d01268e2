"""The run-time information of closures: what is left of a function's signature once its last arguments are given.

make_closure(f, y)      f: (Tensor((n,)), Tensor((n,))) -> Tensor((n,)), y of shape (3,)
                        the closure: (Tensor((3,))) -> Tensor((3,))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from baton._src.runtime.dim_expr import DimExpr, compile_dim, is_slot
from baton._src.runtime.value_checks import Heap, Matcher
from baton._src.runtime.value_info import FunctionValue, PrimScalar, ShapeValue, TensorValue, TupleValue, ValueInfo


def captured_info(info: Any, captured: Sequence[Any]) -> Any:
    """`info` without its last parameters, the shape variables that `captured` shows replaced by their values."""
    if not isinstance(info, FunctionValue) or info.params is None or not captured:
        return info
    count = len(info.params) - len(captured)
    slots = [s for part in (*info.params, info.ret) if part is not None for s in _slots(part)]
    heap: Heap = [None] * (max(slots, default=-1) + 1)
    matcher = Matcher(heap)
    for value, part in zip(captured, info.params[count:], strict=True):
        matcher.bind(value, part, "captured value")
    params = tuple(_filled(p, heap) for p in info.params[:count])
    return replace(info, params=params, ret=None if info.ret is None else _filled(info.ret, heap))


def _filled(info: ValueInfo, heap: Heap) -> ValueInfo:
    match info:
        case TensorValue(dims=dims) | ShapeValue(dims=dims) if dims is not None:
            return replace(info, dims=tuple(_known(d, heap) for d in dims))
        case PrimScalar(value=value) if value is not None:
            return replace(info, value=_known(value, heap))
        case TupleValue(fields):
            return TupleValue(tuple(_filled(f, heap) for f in fields))
        case _:
            return info  # a function inside a function has variables of its own


def _known(dim: DimExpr, heap: Heap) -> DimExpr:
    """The dim's value, if all its variables have one."""
    if all(heap[s] is not None for s in _slots_of(dim)):
        value: DimExpr = compile_dim(dim)(heap)
        return value
    return dim


def _slots(info: ValueInfo) -> list[int]:
    match info:
        case TensorValue(dims=dims) | ShapeValue(dims=dims):
            return [s for d in dims or () for s in _slots_of(d)]
        case PrimScalar(value=value):
            return [] if value is None else _slots_of(value)
        case TupleValue(fields):
            return [s for f in fields for s in _slots(f)]
        case _:
            return []


def _slots_of(dim: DimExpr) -> list[int]:
    found: list[int] = []
    work = [dim]
    while work:
        item = work.pop()
        if is_slot(item):
            found.append(item[1])
        elif isinstance(item, (list, tuple)):
            work.extend(item[1:])
    return found
