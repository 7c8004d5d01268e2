"""Operators on `te` tensors (`tvm.topi`)."""

from __future__ import annotations

from functools import partial

from baton._src.driver.tvm_names.topi.names import topi_functions
from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **submodules("baton.topi", "generic image nn random sparse tag testing utils vision x86"),
        **names("driver.tvm_names.topi.layout_shapes", "InvalidShapeError"),
    },
    before=wire,
    more=partial(topi_functions, ""),
)
