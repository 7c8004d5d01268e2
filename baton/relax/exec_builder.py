"""ExecBuilder (`tvm.relax.exec_builder`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("runtime.executable.exec_builder", "ExecBuilder VMFuncKind"),
        **names("runtime.executable.bytecode", "SpecialReg"),
    },
    before=wire,
)
