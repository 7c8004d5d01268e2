"""Operators by name (`tvm.ir.op`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("ir.expr", "Op"),
        **names("driver.intrinsic_rules", "register_intrin_lowering"),
        **names("driver.tvm_names.relay.user_operators", "register_op_attr"),
    },
    before=wire,
)
