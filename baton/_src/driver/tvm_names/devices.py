"""`tvm.cpu()`, `tvm.device("llvm")` and the like."""

from __future__ import annotations

from baton._src.support.diagnostics import fail
from baton._src.values.device import KINDS, Device

_CPU_NAMES = ("cpu", "llvm", "c", "stackvm", "test")


def cpu(dev_id: int = 0) -> Device:
    """The CPU."""
    return Device(1, dev_id)


def cuda(dev_id: int = 0) -> Device:
    """A CUDA device; nothing runs there, `.exist` is False."""
    return Device(2, dev_id)


def opencl(dev_id: int = 0) -> Device:
    """An OpenCL device, as `cuda`."""
    return Device(4, dev_id)


def vulkan(dev_id: int = 0) -> Device:
    """A Vulkan device, as `cuda`."""
    return Device(7, dev_id)


def metal(dev_id: int = 0) -> Device:
    """A Metal device, as `cuda`."""
    return Device(8, dev_id)


def rocm(dev_id: int = 0) -> Device:
    """An AMD device, as `cuda`."""
    return Device(10, dev_id)


def vpi(dev_id: int = 0) -> Device:
    """A device of the vector programs' simulator, as `cuda`."""
    return Device(9, dev_id)


def ext_dev(dev_id: int = 0) -> Device:
    """A device of an extension, as `cuda`."""
    return Device(12, dev_id)


def webgpu(dev_id: int = 0) -> Device:
    """A WebGPU device, as `cuda`."""
    return Device(15, dev_id)


def hexagon(dev_id: int = 0) -> Device:
    """A Hexagon device, as `cuda`."""
    return Device(16, dev_id)


_ALIASES = {"gpu": "cuda", "nvptx": "cuda", "cl": "opencl", "sdaccel": "opencl", "mtl": "metal"}


def device(dev_type: int | str, dev_id: int = 0) -> Device:
    """A device by DLPack's number, or by the name of its kind or target (`"llvm -mcpu=..."` is the CPU; `"cuda:1"`)."""
    if isinstance(dev_type, int):
        return Device(dev_type, dev_id)
    name, _, number = dev_type.split()[0].partition(":")
    index = int(number) if number.isdigit() else dev_id
    if name in _CPU_NAMES:
        return Device(1, index)
    for code, kind in KINDS.items():
        if kind == _ALIASES.get(name, name):
            return Device(code, index)
    known = f"known: {', '.join(KINDS.values())}, llvm"
    raise fail("device-unknown", f"unknown kind of device {dev_type!r}", help=known, kind=ValueError)
