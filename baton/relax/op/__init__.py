"""Operators and their builders (`tvm.relax.op`)."""

from __future__ import annotations

from baton._src.driver.tvm_names.builders import relax_builders
from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **submodules("baton.relax.op", "image nn memory vm builtin grad inspect op_attrs"),
        **names("passes.relax.te_gradients", "register_gradient"),
    },
    before=wire,
    more=relax_builders,
)
