"""Plugins through which external tools reach baton."""

from __future__ import annotations

from baton._src.support.lazy import attach, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **submodules("baton.frontend", "onnx"),
    },
)
