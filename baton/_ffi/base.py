"""Errors (`tvm._ffi.base`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **renamed("support.diagnostics", TVMError="BatonError"),
        **names("support.operator_errors", "register_error"),
    },
)
