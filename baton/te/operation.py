"""Operations of tensor expressions (`tvm.te.operation`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("te.computation", "var size_var placeholder reduce_axis compute extern"),
        **names("te.extern_primfunc", "extern_primfunc"),
        **names("te.scan", "scan"),
        **names("te.prim_func", "create_prim_func"),
        **names("te.schedule", "thread_axis"),
        **names("tir.operators", "const"),
    },
    before=wire,
)
