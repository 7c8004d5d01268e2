"""Types (`tvm.relax.ty`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("relax.types", "ObjectType DynTensorType ShapeType PackedFuncType"),
        **names("ir.types", "Type TupleType FuncType"),
    },
    before=wire,
)
