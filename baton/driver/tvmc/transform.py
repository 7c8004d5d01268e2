"""Converting layouts and precision (`tvm.driver.tvmc.transform`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "driver.tvm_names.tvmc.transform", "apply_graph_transforms convert_graph_layout convert_to_mixed_precision"
        ),
    },
    before=wire,
)
