"""The shape-free types of Relax values: a view of StructInfo computed on demand (names follow `tvm.relax.ty` v0.19)."""

from __future__ import annotations

from baton._src.ir.node import node, part
from baton._src.ir.types import PrimType, Type
from baton._src.values.dtype import VOID, DataType

__all__ = ["DynTensorType", "ObjectType", "PackedFuncType", "PrimType", "ShapeType"]


@node
class ObjectType(Type):
    """Any value."""


@node
class DynTensorType(Type):
    """A tensor by rank and dtype; -1 and VOID: unknown."""

    ndim: int = part(kw_only=False, default=-1)
    dtype: DataType = part(kw_only=False, default=VOID)


@node
class ShapeType(Type):
    """A shape by its number of dims; -1: unknown."""

    ndim: int = part(kw_only=False, default=-1)


@node
class PackedFuncType(Type):
    """A packed function."""
