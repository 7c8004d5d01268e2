"""Devices: a kind and a number. One kind is implemented here, the CPU; the numbers follow DLPack."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = {1: "cpu", 2: "cuda", 3: "cuda_host", 4: "opencl", 7: "vulkan", 8: "metal", 9: "vpi", 10: "rocm"}


@dataclass(frozen=True, slots=True)
class Device:
    """`device_type` is DLPack's number (1 = CPU); `device_id` counts from 0."""

    device_type: int = 1
    device_id: int = 0

    @property
    def exist(self) -> bool:
        """Whether this machine can run code on it."""
        return self.device_type == 1 and self.device_id == 0

    def sync(self) -> None:
        """Wait for the device: a call on the CPU has ended when it returns."""

    def __str__(self) -> str:
        return f"{KINDS.get(self.device_type, self.device_type)}({self.device_id})"


CPU = Device()
