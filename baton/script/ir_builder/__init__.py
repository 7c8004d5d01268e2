"""Building programs with `with` statements (`tvm.script.ir_builder`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("script.ir_builder.base", "IRBuilder IRBuilderFrame"),
        **submodules("baton.script.ir_builder", "base ir relax tir"),
    },
    before=wire,
)
