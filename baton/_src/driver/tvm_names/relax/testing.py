"""`tvm.relax.testing` as scripts call it."""

from __future__ import annotations

from typing import Any

from baton._src.runtime.vm.virtual_machine import VirtualMachine


def check_saved_func(vm: VirtualMachine, func_name: str, *inputs: Any) -> Any:
    """The result of the function when called through `save_function`."""
    saved = f"{func_name}_saved"
    vm.save_function(func_name, saved, *inputs)
    return vm[saved]()
