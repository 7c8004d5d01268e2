"""Tensor expressions (`tvm.te`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("te.computation", "var size_var placeholder reduce_axis compute extern"),
        **names("te.tensor", "Tensor TensorSlice ComputeOp PlaceholderOp ExternOp ScanOp"),
        **names("driver.tvm_names.tir.absent_kinds", "HybridOp TensorComputeOp"),
        **names("te.scan", "scan"),
        **names("te.tensor_intrin", "decl_tensor_intrin"),
        **names("te.gradient", "gradient"),
        **names("te.tag", "tag_scope"),
        **names("te.extern_primfunc", "extern_primfunc"),
        **names("te.reduction", "comm_reducer sum max min prod any all"),
        **names("te.prim_func", "create_prim_func"),
        **names("te.schedule", "create_schedule thread_axis Schedule"),
        **names("te.stage", "Stage AXIS_SEPARATOR"),
        **names(
            "tir.builders.scalar_functions",
            "exp log log2 log10 log1p sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh",
        ),
        **names("tir.builders.scalar_functions", "erf sigmoid fmod"),
        **names("tir.operators", "add subtract multiply logical_and"),
        **names("tir.builders.scalar_functions", "popcount"),
        **names("tir.builders.system_calls", "trace"),
        **names(
            "driver.tvm_names.tir.scalar_words",
            "abs bitwise_and bitwise_not bitwise_or bitwise_xor ceil const div floor floordiv floormod",
        ),
        **names(
            "driver.tvm_names.tir.scalar_words",
            "if_then_else indexdiv indexmod infinity isfinite isinf isnan max_value min_value nearbyint power",
        ),
        **names("driver.tvm_names.tir.scalar_words", "round trunc truncdiv truncmod"),
        **submodules("baton.te", "autodiff hybrid operation schedule tag tensor tensor_intrin"),
    },
    before=wire,
)
