"""Helpers for tests (`tvm.testing.utils`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "driver.tvm_names.testing",
            "assert_allclose main parameter parameters parametrize_targets requires_llvm requires_gpu",
        ),
        **names("driver.tvm_names.testing", "uses_gpu enabled_targets device_enabled fixture exclude_targets slow"),
        **names("driver.tvm_names.testing", "known_failing_targets skip_if_32bit skip_if_wheel_test requires_package"),
        **names("driver.tvm_names.testing", "requires_x86 requires_llvm_minimum_version requires_cuda_compute_version"),
        **names("driver.tvm_names.testing", "assert_prim_expr_equal check_numerical_grads get_dtype_range strtobool"),
        **names("driver.tvm_names.testing", "echo nop"),
        **names("driver.tvm_names.compare_before_after", "CompareBeforeAfter"),
        **renamed(
            "driver.tvm_names.testing",
            requires_tensorcore="requires_gpu",
            requires_cublas="requires_gpu",
            requires_mps="requires_gpu",
            requires_cudagraph="requires_gpu",
            requires_hexagon="requires_absent",
            requires_rpc="requires_absent",
            requires_micro="requires_absent",
            requires_cmsisnn="requires_absent",
            requires_corstone300="requires_absent",
            requires_libtorch="requires_absent",
            requires_ethosn="requires_absent",
            requires_vitis_ai="requires_absent",
            requires_arm_dot="requires_absent",
            requires_openclml="requires_absent",
        ),
        **renamed(
            "driver.tvm_names.testing",
            requires_cuda="requires_gpu",
            requires_cudnn="requires_gpu",
            requires_opencl="requires_gpu",
            requires_vulkan="requires_gpu",
            requires_rocm="requires_gpu",
            requires_metal="requires_gpu",
        ),
    },
    before=wire,
)
