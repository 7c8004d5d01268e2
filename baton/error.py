"""Errors (`tvm.error`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("support.diagnostics", "DiagnosticError InternalError"),
        **renamed("support.diagnostics", TVMError="BatonError"),
        **names("support.operator_errors", "OpError OpNotImplemented OpNotInstalled OpAttributeRequired"),
        **names("support.operator_errors", "OpAttributeInvalid OpAttributeUnImplemented"),
        **names("driver.tvm_names.remote.errors", "RPCError RPCSessionTimeoutError"),
        **names("support.operator_errors", "register_error"),
    },
)
