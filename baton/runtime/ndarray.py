"""Tensors on devices (`tvm.runtime.ndarray`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("values.tensor", "NDArray array empty"),
        **names("driver.tvm_names.devices", "cpu device cuda opencl vulkan metal rocm vpi ext_dev webgpu hexagon"),
        **renamed("driver.tvm_names.devices", gpu="cuda", cl="opencl", mtl="metal"),
        **names("driver.tvm_names.arrays", "from_dlpack"),
        **renamed("driver.tvm_names.arrays", numpyasarray="from_numpy"),
    },
)
