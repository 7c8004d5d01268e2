"""Walking and rewriting TIR (`tvm.tir.stmt_functor`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tir.functors", "post_order_visit pre_order_visit ir_transform renew_defs substitute"),
    },
    before=wire,
)
