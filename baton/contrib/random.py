"""Random tensors (`tvm.contrib.random`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    names("driver.tvm_names.contrib.random_tensors", "randint uniform normal"),
    before=wire,
)
