"""What writes the call of an intrinsic, and what it is given to write with."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from baton._src.codegen.llvm.text import FunctionText
from baton._src.ir.expr import PrimExpr
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer


class Writer(Protocol):
    """Writes expressions into the function `f`."""

    @property
    def f(self) -> FunctionText: ...

    @property
    def features(self) -> Collection[str]:
        """Of the processor."""
        ...

    def emit(self, expr: PrimExpr) -> str:
        """The operand that holds the value of `expr`."""
        ...

    def index(self, expr: PrimExpr) -> str:
        """The same as i64 (lanes kept)."""
        ...

    def pointer(self, buffer: Buffer, index: PrimExpr) -> str:
        """The address of one element of a flat buffer."""
        ...


Handler = Callable[[Writer, tir.Call], str]
"""Writes a call of an intrinsic and gives the text of its value."""
