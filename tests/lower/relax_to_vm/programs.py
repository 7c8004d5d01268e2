"""Relax programs from text, built and ready to call, in both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.driver.relax.build import relax_build
from baton._src.driver.tvm_names.scripts import from_source
from baton._src.driver.wiring import wire
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.values.packed_func import FunctionTable

MODES = ("compiled", "bytecode")
HEADER = "from tvm.script import ir as I, relax as R, tir as T\n"


def machine(
    text: str, mode: str = "compiled", pipeline: str = "default", /, **functions: Callable[..., Any]
) -> VirtualMachine:
    """The machine of a module given as TVMScript; `functions` are packed functions (`__` in names stands for a dot)."""
    wire()
    table = FunctionTable()
    for name, function in functions.items():
        table.register(name.replace("__", "."), function)
    return VirtualMachine(relax_build(from_source(HEADER + text), pipeline=pipeline, exec_mode=mode), functions=table)
