"""The operands of a converter's call (tensors, host scalars, tuples, shapes), and what is known about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.value import SMALL, Value
from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import Dim, Info, PrimInfo, ShapeInfo, TensorInfo, TupleInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir import operators as ops
from baton._src.values.dtype import BOOL, INT64, DataType


@dataclass(frozen=True, slots=True)
class Scalars:
    """A host scalar, or a tuple of them, for an operand named `name`."""

    name: str
    values: Any

    @property
    def info(self) -> Info:
        if isinstance(self.values, (tuple, list)):
            return TupleInfo(tuple(prim_of(v) for v in self.values))
        return prim_of(self.values)


Operand = Value | Scalars | Sequence[Any] | None
"""A tensor; host scalars; a tuple of tensors; a shape (a sequence of dims); None for an absent optional operand."""


def sources_of(values: Iterable[Value]) -> frozenset[str]:
    """The model's inputs that these values are computed from."""
    found: frozenset[str] = frozenset()
    for value in values:
        if value.sources is not found and value.sources:
            found = found | value.sources if found else value.sources
    return found


def tensors_in(operands: Iterable[Operand]) -> Iterator[Value]:
    """The tensors among operands, those in tuples included."""
    for operand in operands:
        if isinstance(operand, Value):
            yield operand
        elif isinstance(operand, (tuple, list)):
            yield from (o for o in operand if isinstance(o, Value))


def dims_of(info: Info) -> Sequence[Dim]:
    """The sizes in an info."""
    match info:
        case TensorInfo(shape=dims) | ShapeInfo(values=dims):
            return dims or ()
        case PrimInfo(value=PrimExpr() as dim):
            return (dim,)
        case _:
            return ()


def as_int(dim: Any) -> Any:
    """A literal as a number; symbolic dims stay."""
    if isinstance(dim, PrimExpr):
        number = getattr(dim, "value", None)
        return number if isinstance(number, int) else dim
    return int(dim)


def at_least(size: Dim, least: int) -> Dim:
    """The greater one, of a size that may be open."""
    return max(size, least) if isinstance(size, int) else ops.max(size, least)


def tensor_of(info: Info) -> TensorInfo:
    """The info of a result that must be a tensor."""
    return info if isinstance(info, TensorInfo) else TensorInfo()


def prim_of(value: Any) -> PrimInfo:
    """A number or expression as an operator sees it: int64, float64 or bool."""
    number = as_int(value) if isinstance(value, PrimExpr) else value
    if isinstance(number, PrimExpr):
        return PrimInfo(number.dtype, number)
    if isinstance(number, (bool, np.bool_)):
        return PrimInfo(BOOL, int(number))
    if isinstance(number, (int, np.integer)):
        return PrimInfo(INT64, int(number))
    return PrimInfo(DataType("float64"), float(number))


def constant_of(operand: Operand) -> Any:
    """The array, numbers or sizes of an operand; None if they are known only at run time."""
    if isinstance(operand, Value):
        return operand.array
    if isinstance(operand, Scalars):
        values = operand.values
        parts = values if isinstance(values, (tuple, list)) else [values]
        return None if any(isinstance(prim_of(v).value, PrimExpr) for v in parts) else values
    if operand is None:
        return None
    if operand and isinstance(operand[0], Value):
        arrays = [o.array for o in operand]
        return None if any(a is None for a in arrays) else arrays
    dims = tuple(as_int(d) for d in operand)
    return dims if all(isinstance(d, int) for d in dims) else None


def known_of(operand: Operand) -> Any:
    """The values that `infer` may inspect: small constants and shapes."""
    found = constant_of(operand)
    return found if (isinstance(found, np.ndarray) and found.size <= SMALL) or isinstance(found, tuple) else None


def size_of(known: Any) -> int:
    """The number of elements of a constant."""
    if isinstance(known, np.ndarray):
        return known.size
    return sum(size_of(k) for k in known) if isinstance(known, list) else 1
