"""Bounds of variables (`tvm.arith.bound`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    names("tir.arith.systems.linear", "deduce_bound"),
    before=wire,
)
