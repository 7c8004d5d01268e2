"""`tvm.ir.Range(begin, end)`: the node stores a minimum and an extent, but TVM's constructor takes begin and end."""

from __future__ import annotations

from typing import Any

from baton._src.ir import expr
from baton._src.tir import operators
from baton._src.tir.expr import literal


class _Constructor(type):
    """Calls build the node; instances are the nodes."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, expr.Range)

    def __call__(cls, begin: Any, end: Any = None, span: Any = None) -> expr.Range:
        """From `begin` up to `end`, exclusive; with one argument from zero."""
        if end is None:
            begin, end = 0, begin
        first = literal(begin)
        return expr.Range(first, operators.subtract(literal(end), first), span=span)


class Range(metaclass=_Constructor):
    """The integers from `min` to `min + extent`, exclusive."""

    @staticmethod
    def from_min_extent(min_value: Any, extent: Any, span: Any = None) -> expr.Range:
        """By its minimum and extent."""
        return expr.Range(literal(min_value), literal(extent), span=span)
