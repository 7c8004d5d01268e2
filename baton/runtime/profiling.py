"""Profiling reports and metrics (`tvm.runtime.profiling`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **renamed("runtime.timing", Report="Profile"),
    },
)
