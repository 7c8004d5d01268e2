"""Binds the methods of `nn` models that need the driver (compile, run)."""

from __future__ import annotations

from baton._src.driver.wiring import later, wire
from baton._src.frontends.nn.module import Module


def wire_nn() -> None:
    """`wire`, and `Module.jit`."""
    wire()
    Module.compiled = staticmethod(later("baton._src.driver.frontends.nn_jit", "jit"))
