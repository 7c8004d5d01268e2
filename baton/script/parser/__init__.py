"""TVMScript (`tvm.script.parser`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **submodules("baton.script.parser", "ir relax tir"),
        **names("driver.tvm_names.scripts", "from_source"),
        **renamed("driver.tvm_names.scripts", parse="from_source"),
        **renamed("script.decorators", ir_module="IR_MODULE", prim_func="PRIM_FUNC"),
    },
    before=wire,
)
