"""Operators on `te` tensors (`tvm.topi.vision`)."""

from __future__ import annotations

from functools import partial

from baton._src.driver.tvm_names.topi.names import topi_functions
from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    submodules("baton.topi.vision", "rcnn ssd"),
    before=wire,
    more=partial(topi_functions, "vision"),
)
