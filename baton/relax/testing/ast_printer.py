"""Printing programs as trees of nodes (`tvm.relax.testing.ast_printer`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relax.ast_printer", "ASTPrinter dump_ast"),
    },
    before=wire,
)
