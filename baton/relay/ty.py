"""Types (`tvm.relay.ty`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "ir.types", "Type TypeKind PrimType PointerType TensorType TupleType TypeVar GlobalTypeVar IncompleteType"
        ),
        **names("ir.types", "TypeConstraint TypeRelation FuncType RelayRefType TypeCall TypeData Constructor"),
        **renamed("ir.types", RefType="RelayRefType"),
        **renamed("tir.expr", Any="AnyDim"),
        **names("driver.tvm_names.relay.words", "scalar_type ShapeVar"),
        **names("driver.tvm_names.relay.spans", "is_dynamic type_has_any"),
    },
    before=wire,
)
