"""Scalar functions (`tvm.tir.op`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.operators", "div truncdiv truncmod floordiv floormod ceildiv power all any const"),
        **names(
            "tir.scalar_functions",
            "exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan asinh",
        ),
        **names("tir.scalar_functions", "acosh atanh erf sigmoid floor ceil trunc round nearbyint abs isnan isinf"),
        **names("tir.scalar_functions", "isfinite pow fmod atan2 if_then_else likely ret"),
        **names("tir.extern_calls", "call_intrin call_extern"),
        **names("tir.dtype_limits", "max_value min_value infinity"),
        **names("tir.extern_calls", "call_packed call_pure_extern"),
        **names("tir.scalar_functions", "reinterpret clz"),
        **names("tir.scalar_functions", "nextafter hypot copysign ldexp popcount q_multiply_shift undef"),
        **names("tir.extern_calls", "isnullptr"),
        **names("tir.extern_calls", "address_of"),
        **names("tir.operators", "indexdiv indexmod"),
        **names("te.reduction", "comm_reducer sum min max"),
        **names("tir.scalar_functions", "assume"),
        **names("tir.extern_calls", "tvm_access_ptr type_annotation"),
        **names("tir.llvm_intrinsics", "call_llvm_intrin call_llvm_pure_intrin"),
        **names("tir.system_calls", "call_packed_lowered call_cpacked_lowered call_cpacked call_tir trace"),
        **names("tir.system_calls", "tvm_check_return tvm_stack_alloca tvm_stack_make_shape tvm_stack_make_array"),
        **names("tir.system_calls", "tvm_tuple tvm_struct_get tvm_struct_set lookup_param tvm_throw_last_error vscale"),
        **names("tir.system_calls", "TVMBackendAllocWorkspace TVMBackendFreeWorkspace start_profile_intrinsic"),
        **names("tir.system_calls", "end_profile_intrinsic vectorlow vectorhigh vectorcombine shift_left shift_right"),
        **names("tir.system_calls", "q_multiply_shift_per_axis"),
        **names("tir.operators", "bitwise_and bitwise_not bitwise_or bitwise_xor"),
    },
    before=wire,
)
