"""Frames of Relax functions in the IR builder (`tvm.script.ir_builder.relax.frame`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "script.ir_builder.relax_frames",
            "RelaxFrame SeqExprFrame FunctionFrame BlockFrame IfFrame ThenFrame ElseFrame",
        ),
    },
    before=wire,
)
