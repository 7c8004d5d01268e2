"""Quick checks of tensors and shapes as values of functions, which say only that a value is as it should be.

Where they say otherwise, `value_checks` finds out what is wrong, and tells it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.runtime.dim_expr import DimExpr, Evaluate, compile_dim, is_slot, slots_of
from baton._src.runtime.value_info import ObjectValue, ShapeValue, TensorValue, ValueInfo
from baton._src.support.dataclass import dataclass
from baton._src.values.dtype import DataType
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray


@dataclass(frozen=True, slots=True)
class Plain:
    """A tensor, or a shape (without a dtype), whose sizes are numbers, variables or computed from variables: by axis;
    `fixed` is the shape if all are numbers, `rank` -1 if anything goes."""

    position: int
    dtype: Any
    rank: int
    fixed: tuple[int, ...] | None
    numbers: tuple[tuple[int, int], ...]
    slots: tuple[tuple[int, int], ...]
    derived: tuple[tuple[int, Evaluate, tuple[int, ...]], ...]
    """With the slots that are read."""


def plain_values(infos: Sequence[ValueInfo], names: Sequence[str]) -> tuple[Plain, ...] | None:
    """Those of the values that are such tensors and shapes, provided all others may be anything: the fast path for
    functions called in loops.
    """
    found = []
    for position, info in enumerate(infos):
        match info:
            case ObjectValue():
                continue
            case TensorValue(dtype=dtype, ndim=rank, dims=dims) if dtype and info.shape_argument < 0:
                found.append(_plain(position, DataType(dtype).numpy, rank, dims, names))
            case ShapeValue(ndim=rank, dims=dims):
                found.append(_plain(position, None, rank, dims, names))
            case _:
                return None
    return tuple(found)


def _plain(position: int, dtype: Any, rank: int, dims: Sequence[DimExpr] | None, names: Sequence[str]) -> Plain:
    sizes = tuple(enumerate(dims or ()))
    numbers = tuple((axis, d) for axis, d in sizes if isinstance(d, int))
    slots = tuple((axis, d[1]) for axis, d in sizes if is_slot(d))
    others = [(axis, d) for axis, d in sizes if not isinstance(d, int) and not is_slot(d)]
    derived = tuple((axis, compile_dim(d, names), tuple(slots_of(d))) for axis, d in others)
    fixed = None if dims is None or slots or derived else tuple(n for _, n in numbers)
    return Plain(position, dtype, rank, fixed, numbers, slots, derived)


def are_plain(arguments: Sequence[Any], wanted: tuple[Plain, ...], heap: list[Any]) -> bool:
    """Whether the arguments are such values, whose sizes are then on the heap; False only means that the full check
    is needed.
    """
    bound: dict[int, int] = {}
    derived: list[tuple[Plain, tuple[int, ...]]] = []
    for plain in wanted:
        shape = _shape_of(arguments[plain.position], plain.dtype)
        if plain.fixed is not None:
            if shape != plain.fixed:
                return False
            continue
        if shape is None:
            return False
        if plain.rank not in (-1, len(shape)) or any(shape[axis] != n for axis, n in plain.numbers):
            return False
        for axis, slot in plain.slots:
            if bound.setdefault(slot, shape[axis]) != shape[axis]:
                return False
        if plain.derived:
            derived.append((plain, shape))
    if any(heap[slot] not in (None, size) for slot, size in bound.items()):
        return False
    for slot, size in bound.items():
        heap[slot] = size
    return all(_has_derived(plain, shape, heap) for plain, shape in derived)


def _shape_of(argument: Any, dtype: Any) -> tuple[int, ...] | None:
    """The sizes of a tensor of this dtype, or of a shape; None of anything else."""
    if dtype is None:
        return argument if type(argument) is ShapeTuple else None
    return argument.data.shape if type(argument) is NDArray and argument.data.dtype is dtype else None


def _has_derived(plain: Plain, shape: tuple[int, ...], heap: list[Any]) -> bool:
    """Whether the computed sizes are right, and all variables in them known."""
    return all(
        all(heap[slot] is not None for slot in slots) and value(heap) == shape[axis]
        for axis, value, slots in plain.derived
    )
