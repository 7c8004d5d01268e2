"""Evaluating expressions (`tvm.relay.backend.interpreter`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.relay.executors", "Executor"),
        **names("driver.tvm_names.relay.backend", "Interpreter"),
        **renamed("values.adt", ConstructorValue="ADT", RefValue="RefCell"),
    },
    before=wire,
)
