"""Steps made of primitives (`tvm.tir.schedule.transform`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    names(
        "driver.tvm_names.tir.tensorize_mapping",
        "tile_with_tensor_intrin",
    ),
    before=wire,
)
