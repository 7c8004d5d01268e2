"""Attributes (`tvm.ir.attrs`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("ir.attrs", "Attrs DictAttrs"),
        **names("driver.tvm_names.objects", "make_node"),
    },
    before=wire,
)
