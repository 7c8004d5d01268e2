"""Errors (`tvm.error`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("support.diagnostics", "DiagnosticError InternalError"),
        **renamed("support.diagnostics", TVMError="BatonError", OpError="BatonError", OpNotImplemented="BatonError"),
        **renamed("support.diagnostics", OpAttributeUnImplemented="BatonError", OpAttributeInvalid="BatonError"),
        **renamed("support.diagnostics", OpAttributeRequired="BatonError", OpNotInstalled="BatonError"),
    },
)
