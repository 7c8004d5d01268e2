"""Symbolic floats (PyTorch's `SymFloat`), computed from symbolic sizes: quotients, roots, products with floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir.operators import ceildiv, floordiv, truncdiv

_EXACT = 1 << 20
"""Bound on numerators and denominators of fractions that are exact as floats, and whose products with sizes are
exact.
"""


class SymFloat:
    """An operator of the catalogue on numbers, sizes and other symbolic floats; a rank-0 tensor when needed."""

    def __init__(self, op: str, *operands: Any) -> None:
        self.op, self.operands = op, operands

    def __str__(self) -> str:
        return f"{self.op}({', '.join(str(o) for o in self.operands)})"

    def value(self, graph: GraphBuilder) -> Value:
        """The number in float64, which Python's floats are."""
        return graph.call(self.op, *(_value(graph, o) for o in self.operands))


class Quotient(SymFloat):
    """A size divided by an integer, or by another size. It becomes a size only when it is rounded, which is exact.

    PyTorch divides as floats: their rounding never reaches the next integer as long as nothing else is done.
    """

    def __init__(self, top: Any, bottom: Any) -> None:
        super().__init__("divide", top, bottom)
        self.top, self.bottom = top, bottom

    def __str__(self) -> str:
        return f"{self.top} / {self.bottom}"


def _value(graph: GraphBuilder, operand: Any) -> Value:
    if isinstance(operand, SymFloat):
        return operand.value(graph)
    if isinstance(operand, PrimExpr):
        return graph.cast(graph.dims(operand), "float64")
    return graph.constant(float(operand), "float64")


def is_open(operand: Any) -> bool:
    """Whether a number depends on open sizes."""
    return isinstance(operand, (PrimExpr, SymFloat))


def divided(top: Any, bottom: Any) -> Any:
    """`top / bottom`, exact where a size is divided."""
    if not is_open(top) and not is_open(bottom):
        return top / bottom
    if isinstance(bottom, float) and bottom.is_integer():
        bottom = int(bottom)
    if isinstance(bottom, (SymFloat, float)) or (isinstance(bottom, int) and bottom < 1):
        return SymFloat("divide", top, bottom)
    if isinstance(top, Quotient):
        return Quotient(top.top, top.bottom * bottom)
    return SymFloat("divide", top, bottom) if isinstance(top, (SymFloat, float)) else Quotient(top, bottom)


def multiplied(a: Any, b: Any) -> Any:
    """`a * b`; a size by a float that is a fraction of two is a quotient."""
    if not _makes_float(a, b):
        return a * b
    for number, size in ((a, b), (b, a)):
        share = _fraction(number)
        if share and (isinstance(size, PrimExpr) or type(size) is Quotient):
            return _scaled(size, share)
    return SymFloat("multiply", a, b)


def _fraction(number: Any) -> Fraction | None:
    """A positive number as a fraction of small numbers, if it is exactly one whose bottom is a power of two."""
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number) or number <= 0:
        return None
    found = Fraction(number)
    return found if found.numerator < _EXACT and found.denominator < _EXACT else None


def _scaled(size: Any, share: Fraction) -> Quotient:
    """A size, or a quotient of one, times a fraction."""
    top, bottom = (size.top, size.bottom) if isinstance(size, Quotient) else (size, 1)
    return Quotient(top * share.numerator, bottom * share.denominator)


def arithmetic(op: str, plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`plain` on whole numbers and sizes, and on floats; symbolic where a size meets a float."""

    def compute(a: Any, b: Any) -> Any:
        return SymFloat(op, a, b) if _makes_float(a, b) else plain(a, b)

    return compute


def _makes_float(a: Any, b: Any) -> bool:
    """Whether one is open and one a float."""
    return (is_open(a) or is_open(b)) and any(isinstance(o, (SymFloat, float)) for o in (a, b))


def power(base: Any, exponent: Any) -> Any:
    """`base ** exponent`: sizes to a small whole power are sizes."""
    if not is_open(base) and not is_open(exponent):
        return base**exponent
    if isinstance(base, PrimExpr) and isinstance(exponent, int) and 0 <= exponent <= 8:
        total: Any = 1
        for _ in range(exponent):
            total = total * base
        return total
    return SymFloat("power", base, exponent)


def function(op: str, plain: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of floats."""

    def compute(operand: Any) -> Any:
        return SymFloat(op, operand) if is_open(operand) else plain(operand)

    return compute


def as_float(operand: Any) -> Any:
    """`float(...)`, as which a size is a quotient by 1."""
    if isinstance(operand, PrimExpr):
        return Quotient(operand, 1)
    return operand if isinstance(operand, SymFloat) else float(operand)


def _rounded(plain: Callable[[Any], Any], quotient: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Numbers rounded as `plain` does it, quotients as `quotient` does; sizes are whole."""

    def compute(operand: Any) -> Any:
        if isinstance(operand, Quotient):
            return quotient(operand.top, operand.bottom)
        if isinstance(operand, SymFloat):
            help = "divide the size by a whole number, or multiply it by a fraction of two, such as 0.5 or 1.25"
            raise fail("torch-symbol", f"the program rounds {operand} to a size, which is not exact", help=help)
        return operand if isinstance(operand, PrimExpr) else plain(operand)

    return compute


floored = _rounded(math.floor, floordiv)
ceiled = _rounded(math.ceil, ceildiv)
truncated = _rounded(int, truncdiv)
