"""Layers that emit into a block builder (`tvm.relax.testing.nn`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "driver.tvm_names.relax.layers",
            "Placeholder Parameter Module Sequential ReLU LogSoftmax Linear init_params emit emit_te checkpoint "
            "emit_checkpoint emit_checkpoint_sequential",
        ),
    },
    before=wire,
)
