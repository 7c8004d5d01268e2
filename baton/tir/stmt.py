"""Statements (`tvm.tir.stmt`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "tir.stmt",
            "Stmt SeqStmt Evaluate BufferStore LetStmt AttrStmt AssertStmt For ForKind While IfThenElse Allocate",
        ),
        **names("tir.stmt", "AllocateConst DeclBuffer MatchBufferRegion Block BlockRealize stmt_seq stmt_list"),
        **names("tir.buffer", "BufferRegion"),
        **names("driver.tvm_names.tir.absent_kinds", "BufferRealize Prefetch ProducerRealize ProducerStore"),
    },
    before=wire,
)
