"""Devices: a kind and a number. One kind is implemented here, the CPU; the numbers follow DLPack."""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.support.dataclass import dataclass

KINDS = {
    1: "cpu", 2: "cuda", 3: "cuda_host", 4: "opencl", 7: "vulkan", 8: "metal", 9: "vpi", 10: "rocm", 12: "ext_dev",
    15: "webgpu", 16: "hexagon",
}  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Device:
    """`device_type` is DLPack's number (1 = CPU); `device_id` counts from 0. Facts about GPUs are None."""

    kDLCPU: ClassVar[int] = 1
    kDLCUDA: ClassVar[int] = 2
    kDLCUDAHost: ClassVar[int] = 3
    kDLOpenCL: ClassVar[int] = 4
    kDLVulkan: ClassVar[int] = 7
    kDLMetal: ClassVar[int] = 8
    kDLVPI: ClassVar[int] = 9
    kDLROCM: ClassVar[int] = 10
    kDLExtDev: ClassVar[int] = 12
    kDLWebGPU: ClassVar[int] = 15
    kDLHexagon: ClassVar[int] = 16
    max_threads_per_block: ClassVar[None] = None
    warp_size: ClassVar[None] = None
    max_shared_memory_per_block: ClassVar[None] = None
    compute_version: ClassVar[None] = None
    device_name: ClassVar[None] = None
    max_clock_rate: ClassVar[None] = None
    multi_processor_count: ClassVar[None] = None
    max_thread_dimensions: ClassVar[None] = None
    api_version: ClassVar[None] = None
    driver_version: ClassVar[None] = None
    l2_cache_size_bytes: ClassVar[None] = None
    total_global_memory: ClassVar[None] = None
    available_global_memory: ClassVar[None] = None
    texture_spatial_limit: ClassVar[None] = None

    device_type: int = 1
    device_id: int = 0

    @property
    def exist(self) -> bool:
        """Whether this machine can run code on it."""
        return self.device_type == 1 and self.device_id == 0

    def place(self, tensor: Any) -> Any:
        """A new tensor's copy on the device: on the CPU, the tensor itself. Other machines' devices keep their own."""
        return tensor

    def sync(self, stream: object = None) -> None:
        """Wait for the device: a call on the CPU has ended when it returns."""

    def create_raw_stream(self) -> None:
        """A further queue of work, which CPUs have none of: None stands for the only one."""

    def set_raw_stream(self, stream: None) -> None:
        """Let calls go to a queue that `create_raw_stream` gave."""

    def free_raw_stream(self, stream: None) -> None:
        """Give up a queue that `create_raw_stream` gave."""

    def __str__(self) -> str:
        return f"{KINDS.get(self.device_type, self.device_type)}({self.device_id})"

    __repr__ = __str__


CPU = Device()
