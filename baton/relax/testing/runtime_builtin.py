"""Codes of the VM's shape builtins (`tvm.relax.testing.runtime_builtin`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {**renamed("runtime.vm.builtins.shapes", MatchShapeCode="MatchCode", MakeShapeCode="MakeCode")},
    before=wire,
)
