"""`tvm.relax.testing.vm` as scripts use it: saved functions, and small packed functions for trying out machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.values.device import Device
from baton._src.values.packed_func import PROCESS_FUNCTIONS
from baton._src.values.tensor import NDArray


def check_saved_func(vm: VirtualMachine, func_name: str, *inputs: Any) -> Any:
    """The result of the function when called through `save_function`."""
    saved = f"{func_name}_saved"
    vm.save_function(func_name, saved, *inputs)
    return vm[saved]()


def move(src: Any) -> Any:
    """The value itself."""
    return src


def add(a: NDArray, b: NDArray) -> NDArray:
    """a + b"""
    return NDArray(a.data + b.data)


def mul(a: NDArray, b: NDArray) -> NDArray:
    """a * b"""
    return NDArray(a.data * b.data)


def equal_zero(a: NDArray) -> NDArray:
    """Whether all elements are 0, as a scalar."""
    return NDArray(np.array((a.data == 0).all()))


def subtract_one(a: NDArray) -> NDArray:
    """a - 1"""
    return NDArray(np.subtract(a.data, 1))


def identity_packed(a: NDArray, b: NDArray) -> None:
    """Write `a` to `b`."""
    b.data[...] = a.data


def tile_packed(a: NDArray, b: NDArray) -> None:
    """Write `a` to `b`, twice along the last of its two axes."""
    b.data[...] = np.tile(a.data, (1, 2))


def add_scalar(a: Any, b: Any) -> Any:
    """a + b, of numbers."""
    return a + b


def get_device_id(device: Device) -> int:
    """The number of a device."""
    return device.device_id


def check_if_defined(obj: Any) -> bool:
    """Whether it is something other than the null object."""
    return obj is not None


PACKED: Mapping[str, Callable[..., Any]] = {
    "move": move, "add": add, "mul": mul, "equal_zero": equal_zero, "subtract_one": subtract_one,
    "identity": identity_packed, "tile": tile_packed, "add_scalar": add_scalar, "get_device_id": get_device_id,
    "check_if_defined": check_if_defined,
}  # fmt: skip
"""By name, without the `test.vm.` they are registered with."""


def register_packed() -> None:
    """Register `PACKED`, except under names that are taken."""
    for name, function in PACKED.items():
        if PROCESS_FUNCTIONS.get(f"test.vm.{name}") is None:
            PROCESS_FUNCTIONS.register(f"test.vm.{name}", function)
