"""Helpers for tests (`tvm.testing.utils`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

_GPU = "tensorcore cublas mps cudagraph cuda cudnn opencl vulkan rocm metal"
_ABSENT = "hexagon rpc micro cmsisnn corstone300 libtorch ethosn vitis_ai arm_dot openclml"

HELPERS = {
    **names("driver.tvm_names.testing", "assert_allclose assert_prim_expr_equal check_numerical_grads main"),
    **names("driver.tvm_names.testing", "get_dtype_range strtobool echo nop"),
    **names("driver.tvm_names.pytest_marks", "parameter parameters fixture"),
    **names("driver.tvm_names.pytest_marks", "parametrize_targets enabled_targets device_enabled"),
    **names("driver.tvm_names.pytest_marks", "exclude_targets known_failing_targets uses_gpu requires_gpu"),
    **names("driver.tvm_names.pytest_marks", "requires_llvm requires_llvm_minimum_version requires_x86"),
    **names("driver.tvm_names.pytest_marks", "requires_cuda_compute_version requires_package"),
    **names("driver.tvm_names.pytest_marks", "slow skip_if_32bit skip_if_wheel_test"),
    **renamed("driver.tvm_names.pytest_marks", **{f"requires_{part}": "requires_gpu" for part in _GPU.split()}),
    **renamed("driver.tvm_names.pytest_marks", **{f"requires_{part}": "requires_absent" for part in _ABSENT.split()}),
    **names("driver.tvm_names.compare_before_after", "CompareBeforeAfter"),
}
"""The helpers, which `testing` itself has too."""

__getattr__, __dir__, __all__ = attach(__name__, HELPERS, before=wire)
