"""Operators on `te` tensors (`tvm.topi.nn`)."""

from __future__ import annotations

from functools import partial

from baton._src.driver.tvm_names.topi.names import topi_functions
from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    names(
        "driver.tvm_names.topi.pads",
        "get_pad_tuple get_pad_tuple1d get_pad_tuple3d get_pad_tuple_generic infer_pad infer_pad3d infer_stride",
    ),
    before=wire,
    more=partial(topi_functions, "nn"),
)
