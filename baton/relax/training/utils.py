"""Gradients of custom kernels (`tvm.relax.training.utils`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("passes.relax.te_gradients", "register_te_gradient"),
        **names("driver.training.append_loss", "AppendLoss"),
    },
    before=wire,
)
