"""Building kernels from TIR and te (`tvm.driver`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tir.build", "build lower schedule_to_module get_binds"),
        **submodules("baton.driver", "build_module tvmc"),
    },
    before=wire,
)
