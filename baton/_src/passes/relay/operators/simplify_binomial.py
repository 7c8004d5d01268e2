"""SimplifyExpr's rule about squares: a*x*x + b*x*y + c*y*y, in any order, is a * (x + p*y) * (x + q*y).

    %x * %x + 5f * %x * %y + 4f * %y * %y      becomes      (%x + %y * 4f) * (%x + %y)

p and q are the roots of a*t*t - b*t + c, which must be real; for integers a, p and q must be integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import sqrt
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.passes.relay.building import Build, dtype_of, is_call
from baton._src.relay.nodes import Call, Constant
from baton._src.support.dataclass import dataclass


@dataclass(frozen=True)
class _Term:
    """`factor` times the product of two expressions."""

    factor: float
    left: Any
    right: Any

    @property
    def is_square(self) -> bool:
        return self.left is self.right

    def is_product_of(self, x: Any, y: Any) -> bool:
        return (self.left is x and self.right is y) or (self.left is y and self.right is x)


def binomial(build: Build, call: Call) -> Any:
    """The sum as a product; None where it is no such sum."""
    if not is_call(call, "add"):
        return None
    for inner, last in (call.args, call.args[::-1]):
        if is_call(inner, "add"):
            for terms in product(*map(_readings, (*inner.args, last))):
                found = _factored(build, call, terms)
                if found is not None:
                    return found
    return None


def _readings(expr: Any) -> Iterator[_Term]:
    """The ways to read an expression as a product of two and perhaps a number."""
    if not is_call(expr, "multiply"):
        return
    for one, other in (expr.args, expr.args[::-1]):
        if not is_call(other, "multiply"):
            continue
        for u, v in (other.args, other.args[::-1]):
            if _is_number(one):
                yield _Term(_number(one), u, v)
            elif _is_number(u):
                yield _Term(_number(u), one, v)
    yield _Term(1.0, *expr.args)


def _factored(build: Build, call: Call, terms: tuple[_Term, ...]) -> Any:
    squares = [t for t in terms if t.is_square]
    if len(squares) != 2 or squares[0].left is squares[1].left:
        return None
    first, second = squares
    mixed = next(t for t in terms if t is not first and t is not second)
    if not mixed.is_product_of(first.left, second.left):
        return None
    if second.factor == 1 and first.factor > 1:
        first, second = second, first
    a, b, c = first.factor, mixed.factor, second.factor
    roots = _roots(a, b, c, dtype_of(call).is_float)
    if roots is None:
        return None
    x, y = first.left, second.left
    one = build.op("add", x, _times(build, y, roots[0]))
    other = one if roots[0] == roots[1] else build.op("add", x, _times(build, y, roots[1]))
    whole = build.op("multiply", one, other)
    return whole if a == 1 else build.op("multiply", build.const(a, dtype_of(call)), whole)


def _roots(a: float, b: float, c: float, real: bool) -> tuple[float, float] | None:
    """p and q with a * (x + p*y) * (x + q*y) the sum; None if there are none, or none among the integers."""
    discriminant = b * b - 4 * a * c
    if a == 0 or not discriminant >= 0:
        return None
    roots = (b + sqrt(discriminant)) / (2 * a), (b - sqrt(discriminant)) / (2 * a)
    exact = all(r.is_integer() for r in roots) and a * (roots[0] + roots[1]) == b and a * roots[0] * roots[1] == c
    return roots if real or exact else None


def _times(build: Build, expr: Any, number: float) -> Any:
    return expr if number == 1 else build.op("multiply", expr, build.const(number, dtype_of(expr)))


def _is_number(expr: GraphExpr) -> bool:
    """Whether it is a number that a float holds exactly."""
    if not isinstance(expr, Constant) or expr.data.data.shape != () or dtype_of(expr).is_bool:
        return False
    return bool(expr.data.data.item() == _number(expr))


def _number(expr: Constant) -> float:
    return float(expr.data.data)
