"""Expressions that all languages share (`tvm.ir.expr`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("ir.expr", "BaseExpr PrimExpr GlobalVar"),
        **names("driver.tvm_names.ranges", "Range"),
        **renamed("ir.expr", RelayExpr="GraphExpr"),
    },
    before=wire,
)
