"""What a builder that an operator brings itself works with: the maker of its calls, what users give, what they get."""

from __future__ import annotations

from typing import Protocol

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Argument
from baton._src.ops.tuple_wrapper import TupleWrapper

Given = Argument | TupleWrapper
"""What users may give for an operand."""
Made = GraphExpr | TupleWrapper
"""What a builder returns: an expression; several results of Relay are wrapped, so that they unpack."""


class OpBuilder(Protocol):
    """The first parameter of `relay_builder` and `relax_builder` (a maker of `ops.call_maker`)."""

    @property
    def language(self) -> str: ...

    def __call__(self, *args: Given, **attrs: object) -> Made:
        """A call of the operator itself; trailing Nones among the operands are left out."""
        ...

    def op(self, name: str, *args: Given, **attrs: object) -> Made:
        """A call of another operator."""
        ...

    def const(self, value: object, dtype: object = None) -> GraphExpr:
        """A literal."""
        ...
