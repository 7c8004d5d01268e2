"""Casts that depend on shape variables only: the value's dims are known as expressions, so the value is not needed."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.lower.relax_to_vm.abstract_values import InRegister, Literal, Pending, Value, View
from baton._src.relax.nodes import ShapeExpr
from baton._src.relax.struct_info import ShapeStructInfo, StructInfo, TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import IntImm


@dataclass(frozen=True)
class CastCondition:
    """A condition on one dim of a cast that cannot be decided at compile time."""

    place: str
    found: PrimExpr
    expected: PrimExpr


def cast_conditions(value: Value, info: StructInfo, place: str) -> list[CastCondition] | None:
    """The conditions for `value` to match `info`; None if comparing dims is not enough.

    `info` must not bind variables (the caller asks `FunctionScope.binds`).
    """
    if isinstance(value, Literal) and isinstance(value.expr, ShapeExpr) and isinstance(info, ShapeStructInfo):
        return _of_sizes(value.expr.values, info.values, place)
    known = value.info if isinstance(value, (InRegister, Pending, View)) else None
    if not isinstance(known, TensorStructInfo) or not isinstance(info, TensorStructInfo):
        return None
    if not isinstance(known.shape, ShapeExpr) or not (info.shape is None or isinstance(info.shape, ShapeExpr)):
        return None
    if known.dtype.is_void or info.dtype not in ("void", known.dtype) or info.ndim not in (-1, known.ndim):
        return None
    if info.shape is None:
        return []
    return _differing(known.shape.values, info.shape.values, f"{place}: dimension")


def _of_sizes(found: Sequence[PrimExpr], wanted: Sequence[PrimExpr] | None, place: str) -> list[CastCondition] | None:
    """As `cast_conditions`, for a shape that is written out."""
    if wanted is None or len(found) != len(wanted):
        return None
    return _differing(found, wanted, f"{place}: member")


def _differing(found: Sequence[PrimExpr], wanted: Sequence[PrimExpr], word: str) -> list[CastCondition]:
    return [CastCondition(f"{word} {i}", a, b) for i, (a, b) in enumerate(zip(found, wanted)) if not _same(a, b)]


def _same(a: PrimExpr, b: PrimExpr) -> bool:
    return a is b or (isinstance(a, IntImm) and isinstance(b, IntImm) and a.value == b.value)
