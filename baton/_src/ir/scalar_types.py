"""Types of scalar variables in TIR: their dtype and, for pointers, what they point to."""

from __future__ import annotations

from baton._src.ir.types import PointerType, PrimType, Type
from baton._src.support.diagnostics import fail
from baton._src.values.dtype import HANDLE, DataType


def read_scalar_type(kind: Type) -> tuple[DataType, DataType | None, str]:
    """The dtype, and for pointers the element's dtype (if known) and the scope. Error `tir-dtype` for other types."""
    if isinstance(kind, PrimType):
        return DataType(kind.dtype), None, ""
    if isinstance(kind, PointerType):
        element = kind.element_type
        return HANDLE, DataType(element.dtype) if isinstance(element, PrimType) else None, kind.storage_scope
    raise fail("tir-dtype", f"a scalar variable must have a PrimType or a PointerType, got a {type(kind).__name__}")
