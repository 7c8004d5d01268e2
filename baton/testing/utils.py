"""Helpers for tests (`tvm.testing.utils`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

_FEATURES = (
    "llvm x86 arm_dot aarch64_sve x86_vnni x86_avx512 x86_amx gpu multi_gpu cuda opencl rocm metal vulkan tensorcore "
    "cudnn cublas nccl nvptx cudagraph mps matrixcore openclml micro cutlass rpc ethosn ethosu libtorch mrvl hexagon "
    "cmsisnn corstone300 vitis_ai"
)

HELPERS = {
    **names("driver.tvm_names.testing.assertions", "assert_allclose assert_prim_expr_equal check_numerical_grads main"),
    **names("driver.tvm_names.testing.assertions", "get_dtype_range strtobool echo nop install_request_hook"),
    **names("driver.tvm_names.testing.pytest_marks", "parameter parameters fixture"),
    **names("driver.tvm_names.testing.pytest_marks", "parametrize_targets enabled_targets device_enabled"),
    **names("driver.tvm_names.testing.pytest_marks", "exclude_targets known_failing_targets"),
    **names("driver.tvm_names.testing.pytest_marks", "skip_parameterizations xfail_parameterizations"),
    **names("driver.tvm_names.testing.pytest_marks", "slow skip_if_32bit skip_if_wheel_test"),
    **names("driver.tvm_names.testing.pytest_features", "Feature uses_gpu uses_multi_gpu is_ampere_or_newer"),
    **names("driver.tvm_names.testing.pytest_features", "requires_llvm_minimum_version requires_package"),
    **names("driver.tvm_names.testing.pytest_features", "requires_nvcc_version requires_cuda_compute_version"),
    **names("driver.tvm_names.testing.pytest_features", " ".join(f"requires_{name}" for name in _FEATURES.split())),
    **names("driver.tvm_names.testing.compare_before_after", "CompareBeforeAfter"),
}
"""The helpers, which `testing` itself has too."""

__getattr__, __dir__, __all__ = attach(__name__, HELPERS, before=wire)
