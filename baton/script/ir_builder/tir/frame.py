"""Frames of TIR functions in the IR builder (`tvm.script.ir_builder.tir.frame`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "script.ir_builder.tir_frames", "TIRFrame PrimFuncFrame BlockFrame BlockInitFrame ForFrame AssertFrame"
        ),
        **names("script.ir_builder.tir_frames", "LetFrame AttrFrame AllocateFrame AllocateConstFrame DeclBufferFrame"),
        **names("script.ir_builder.tir_frames", "WhileFrame LaunchThreadFrame IfFrame ThenFrame ElseFrame"),
    },
    before=wire,
)
