"""Readers of models (`tvm.driver.tvmc.frontends`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tvmc.frontends", "Frontend OnnxFrontend PyTorchFrontend RelayFrontend ALL_FRONTENDS"),
        **names("driver.tvm_names.tvmc.frontends", "get_frontend_names get_frontend_by_name guess_frontend load_model"),
    },
    before=wire,
)
