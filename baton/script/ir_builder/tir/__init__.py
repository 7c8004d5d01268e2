"""Building TIR functions with the IR builder (`tvm.script.ir_builder.tir`)."""

from __future__ import annotations

from baton._src.driver.tvm_names.builders import builder_tir
from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {**submodules("baton.script.ir_builder.tir", "frame")},
    before=wire,
    more=builder_tir,
)
