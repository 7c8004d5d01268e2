"""The least and the greatest value of integer expressions, as far as loops with numbers for bounds tell.

C leaves the overflow of signed integers undefined and rounds quotients towards zero. Where an expression certainly
stays in its type, or a dividend is certainly not negative, plain C says what TIR means. Integers of 64 bits which
certainly fit 32 are variables of 32 bits: small processors have no others.
"""

from __future__ import annotations

from collections.abc import Iterable

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order
from baton._src.tir import expr as tir
from baton._src.values.dtype import DataType

Interval = tuple[int, int]


class Intervals:
    """Intervals of expressions over loop variables, which are told by `bind`. None: anything."""

    def __init__(self) -> None:
        self._known: dict[PrimExpr, Interval | None] = {}

    def bind(self, var: tir.Var, interval: Interval | None) -> None:
        """Tell what a variable is from here on."""
        if var in self._known and self._known[var] != interval:  # two loops of one variable
            self._known = {node: found for node, found in self._known.items() if isinstance(node, tir.Var)}
        self._known[var] = interval

    def of(self, expr: PrimExpr) -> Interval | None:
        """The interval of an expression; None if it is not known, or beyond its dtype."""
        for node in post_order(expr, below=self._operands):
            if node not in self._known:
                self._known[node] = _within(node.dtype, self._computed(node))
        return self._known[expr]

    def _operands(self, node: Node) -> Iterable[PrimExpr]:
        if node in self._known:
            return ()
        match node:
            case tir.BinaryOp(a=a, b=b) if not node.dtype.is_float:
                return (a, b)
            case tir.Cast(value=value) if not value.dtype.is_float:
                return (value,)
            case tir.Select(true_value=a, false_value=b) if not node.dtype.is_float:
                return (a, b)
            case _:
                return ()

    def _computed(self, node: PrimExpr) -> Interval | None:
        known = self._known
        match node:
            case tir.IntImm(value=value):
                return (value, value)
            case tir.Cast(value=value) if not value.dtype.is_float:
                return known[value]
            case tir.Select(true_value=a, false_value=b) if not node.dtype.is_float:
                left, right = known[a], known[b]
                return None if left is None or right is None else (min(left[0], right[0]), max(left[1], right[1]))
            case tir.BinaryOp(a=a, b=b) if not node.dtype.is_float:
                return _combined(node, known[a], known[b])
            case _:
                return None


def is_narrow(interval: Interval | None) -> bool:
    """Whether all numbers are `int32_t`s, the next ones too."""
    return interval is not None and interval[0] > -(1 << 31) and interval[1] < (1 << 31) - 1


def _combined(node: tir.BinaryOp, a: Interval | None, b: Interval | None) -> Interval | None:
    match node:
        case tir.FloorMod() if b is not None and b[0] == b[1] > 0:
            return a if a is not None and a[0] >= 0 and a[1] < b[0] else (0, b[0] - 1)
        case _ if a is None or b is None:
            return None
        case tir.Add():
            return (a[0] + b[0], a[1] + b[1])
        case tir.Sub():
            return (a[0] - b[1], a[1] - b[0])
        case tir.Mul():
            ends = [x * y for x in a for y in b]
            return (min(ends), max(ends))
        case tir.Min():
            return (min(a[0], b[0]), min(a[1], b[1]))
        case tir.Max():
            return (max(a[0], b[0]), max(a[1], b[1]))
        case tir.FloorDiv() if b[0] == b[1] > 0:
            return (a[0] // b[0], a[1] // b[0])
        case tir.Div() if b[0] == b[1] > 0 and a[0] >= 0:
            return (a[0] // b[0], a[1] // b[0])
        case tir.Mod() if b[0] == b[1] > 0 and a[0] >= 0:
            return (0, b[0] - 1)
        case _:
            return None


def _within(dtype: DataType, found: Interval | None) -> Interval | None:
    """What is known of any integer of up to 16 bits, too: the range of its dtype."""
    if dtype.lanes > 1 or dtype.kind not in ("int", "uint"):
        return None
    low, high = dtype.int_range
    if found is not None and low <= found[0] and found[1] <= high:
        return found
    return (low, high) if dtype.bits <= 16 or dtype.kind == "uint" else None
