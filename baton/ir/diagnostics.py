"""Findings about modules, and who shows them (`tvm.ir.diagnostics`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.reported", "Diagnostic DiagnosticContext DiagnosticLevel DiagnosticRenderer"),
        **names("driver.tvm_names.reported", "get_renderer override_renderer"),
    },
    before=wire,
)
