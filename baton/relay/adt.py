"""Algebraic data types (`tvm.relay.adt`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("relay.nodes", "Pattern PatternWildcard PatternVar PatternConstructor PatternTuple Clause Match"),
        **names("ir.types", "Constructor TypeData"),
    },
    before=wire,
)
