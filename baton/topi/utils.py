"""Reading shapes (`tvm.topi.utils`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.shapes", "get_const_int get_const_tuple prod"),
    },
    before=wire,
)
