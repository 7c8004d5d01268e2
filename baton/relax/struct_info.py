"""StructInfo (`tvm.relax.struct_info`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "relax.struct_info",
            "StructInfo ObjectStructInfo PrimStructInfo ShapeStructInfo TensorStructInfo TupleStructInfo",
        ),
        **names("relax.struct_info", "FuncStructInfo"),
    },
    before=wire,
)
