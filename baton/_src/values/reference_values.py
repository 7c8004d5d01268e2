"""Values as an operator's meaning over NumPy (`OpDef.reference`) takes and gives them: arrays, and tuples of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from baton._src.values.convert import contiguous
from baton._src.values.dtype import DataType
from baton._src.values.prim import prim, prim_dtype
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import AnyArray, NDArray


def to_reference(value: object) -> Any:
    """A run-time value as an operand: tensors as arrays, shapes as plain tuples, the rest as it is."""
    if isinstance(value, NDArray):
        return value.data
    if isinstance(value, ShapeTuple):
        return tuple(value)
    return tuple([to_reference(v) for v in value]) if isinstance(value, (tuple, list)) else value


def from_reference(found: object, apart_from: Iterable[object] = ()) -> object:
    """The operator's result as a run-time value. Its tensors share no memory with the operands `apart_from`."""
    return _from_reference(found, list(_arrays(apart_from)))


def prim_from_reference(reference: Callable[..., Any], args: Sequence[object], attrs: object, dtype: DataType) -> Any:
    """The prim value that an operator makes of prim values: computed as tensors of rank 0 and their dtypes are."""
    operands = []
    for value in args:
        own = prim_dtype(value)
        operands.append(value if own is None else np.asarray(value, own.numpy))
    found = np.asarray(reference(operands, attrs)).item()
    return prim(found if isinstance(found, (int, float)) else float(found), dtype)  # bfloat16 gives none of Python's


def _from_reference(found: object, others: list[AnyArray]) -> object:
    if isinstance(found, (tuple, list)):
        return tuple([_from_reference(part, others) for part in found])
    if not isinstance(found, (np.ndarray, np.generic)):
        return found
    array = np.asarray(found)
    if any(np.may_share_memory(array, other) for other in others):
        array = np.array(array, order="C", copy=True)
    return NDArray(contiguous(array))


def _arrays(operands: Iterable[object]) -> Iterable[AnyArray]:
    for item in operands:
        if isinstance(item, np.ndarray):
            yield item
        elif isinstance(item, tuple):
            yield from _arrays(item)
