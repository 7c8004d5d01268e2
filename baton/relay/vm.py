"""Compiling for the virtual machine (`tvm.relay.vm`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.relay.vm", "compile Executable VMCompiler VirtualMachine"),
        **names("driver.relay.executors", "VMExecutor"),
    },
    before=wire,
)
