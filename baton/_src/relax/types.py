"""Static types of Relax values: StructInfo without shapes, computed on demand (names follow `tvm.relax.ty` v0.19)."""

from __future__ import annotations

from typing import Any

from baton._src.ir.node import init_field, node, part
from baton._src.ir.types import PrimType, Type
from baton._src.support.spans import Span
from baton._src.values.dtype import DataType

__all__ = ["DynTensorType", "ObjectType", "PackedFuncType", "PrimType", "ShapeType", "StaticType"]


@node
class ObjectType(Type):
    """Any value."""

    def __init__(self, span: Span | None = None) -> None:
        init_field(self, "span", span)


@node
class DynTensorType(Type):
    """A tensor by rank and dtype; -1 and VOID: unknown."""

    ndim: int = part(kw_only=True)
    dtype: DataType = part(kw_only=True)

    def __init__(self, ndim: int = -1, dtype: Any = "float32", span: Span | None = None) -> None:
        init_field(self, "ndim", ndim)
        init_field(self, "dtype", DataType(dtype))
        init_field(self, "span", span)


@node
class ShapeType(Type):
    """A shape by its number of dims; -1: unknown."""

    ndim: int = part(kw_only=True)

    def __init__(self, ndim: int = -1, span: Span | None = None) -> None:
        init_field(self, "ndim", ndim)
        init_field(self, "span", span)


@node
class PackedFuncType(Type):
    """A packed function."""

    def __init__(self, span: Span | None = None) -> None:
        init_field(self, "span", span)


StaticType = ObjectType | DynTensorType | ShapeType | PackedFuncType
"""The types of their own that Relax's values have; tuples, functions and scalars share those of Relay."""
