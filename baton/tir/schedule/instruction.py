"""`tvm.tir.schedule.instruction`."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.schedule.traces.trace", "Instruction"),
        **names("tir.schedule.traces.instruction_kinds", "InstructionKind"),
    },
    before=wire,
)
