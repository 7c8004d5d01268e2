"""Types (`tvm.ir.type`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("ir.types", "Type TypeKind PrimType PointerType TupleType TypeVar GlobalTypeVar"),
        **names("ir.types", "TypeConstraint FuncType RelayRefType IncompleteType"),
    },
    before=wire,
)
