"""Analyses of TIR (`tvm.tir.analysis`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **renamed("ir.structural", expr_deep_equal="structural_equal"),
        **names("tir.analysis.check", "verify_well_formed"),
        **names("passes.tir.ssa", "verify_ssa"),
        **names("driver.tvm_names.tir.analysis", "undefined_vars get_block_access_region get_block_read_write_region"),
        **names("driver.tvm_names.tir.analysis", "detect_buffer_access_lca calculate_workspace_bytes verify_memory"),
        **names(
            "driver.tvm_names.tir.analysis",
            "calculate_allocated_bytes calculate_constant_bytes estimate_tir_flops find_anchor_block",
        ),
        **names("driver.tvm_names.tir.analysis", "is_pure_function assert_pure_function OOBChecker"),
        **names("tir.buffer", "BufferRegion"),
        **names("tir.expr", "Var"),
        **names("tir.stmt", "Block"),
        **names("tir.prim_func", "PrimFunc"),
        **names("ir.expr", "PrimExpr"),
    },
    before=wire,
)
