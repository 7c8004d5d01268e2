"""Schedules of kernels (`tvm.tir.schedule`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.schedule.schedule", "Schedule"),
        **names("tir.schedule.handles", "BlockRV ExprRV LoopRV"),
        **names("support.diagnostics", "ScheduleError"),
        **names("tir.schedule.traces.trace", "Trace Instruction"),
        **names("tir.schedule.traces.instruction_kinds", "InstructionKind"),
        **names("tir.schedule.srefs", "StmtSRef"),
        **names("tir.schedule.state", "ScheduleDebugMask ScheduleState"),
        **names("tir.schedule.conditions.block_scope", "BlockScope Dependency DepKind"),
        **submodules("baton.tir.schedule", "analysis instruction schedule state testing trace transform"),
    },
    before=wire,
)
