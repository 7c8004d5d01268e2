"""Helpers for tests and experiments (`tvm.relax.testing`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relax.ast_printer", "dump_ast"),
        **submodules("baton.relax.testing", "ast_printer lib_comparator nn relay_translator runtime_builtin vm"),
    },
    before=wire,
)
