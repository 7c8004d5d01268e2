"""Containers of values (`tvm.runtime.container`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("values.shape", "ShapeTuple"),
        **names("driver.tvm_names.containers", "ADT String tuple_object"),
    },
)
