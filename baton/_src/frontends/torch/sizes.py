"""What programs compute with sizes: Python's functions on ints and symbolic expressions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir.operators import ceildiv, floordiv, floormod, truncdiv
from baton._src.tir.operators import max as tir_max
from baton._src.tir.operators import min as tir_min


def _either(plain: Callable[..., Any], symbolic: Callable[..., Any]) -> Callable[..., Any]:
    """`plain` on numbers, `symbolic` where an expression is among them."""

    def compute(*operands: Any) -> Any:
        return symbolic(*operands) if any(isinstance(o, PrimExpr) for o in operands) else plain(*operands)

    return compute


def _undecided(what: str) -> Callable[..., Any]:
    def refuse(*operands: Any) -> Any:
        shown = ", ".join(str(o) for o in operands)
        raise fail("torch-symbol", f"the program needs the {what} of {shown}, which is not a whole number")

    return refuse


class Quotient:
    """A size divided by whole numbers, which is no size until it is rounded.

    PyTorch divides as floats: their rounding never reaches the next whole number as long as nothing else is done.
    """

    def __init__(self, top: PrimExpr, bottom: int) -> None:
        self.top, self.bottom = top, bottom

    def __str__(self) -> str:
        return f"{self.top} / {self.bottom}"


def _divided(top: Any, bottom: Any) -> Any:
    """`top / bottom`, exact where a size is divided."""
    if not isinstance(top, (PrimExpr, Quotient)) and not isinstance(bottom, (PrimExpr, Quotient)):
        return top / bottom
    if isinstance(bottom, (PrimExpr, Quotient)) or bottom != int(bottom) or bottom < 1:
        _undecided("quotient")(top, bottom)
    whole = int(bottom)
    return Quotient(top.top, top.bottom * whole) if isinstance(top, Quotient) else Quotient(top, whole)


def _rounded(plain: Callable[..., Any], quotient: Callable[[PrimExpr, int], PrimExpr]) -> Callable[[Any], Any]:
    """Numbers rounded as `plain` does it, quotients as `quotient` does; sizes are whole."""

    def compute(operand: Any) -> Any:
        if isinstance(operand, Quotient):
            return quotient(operand.top, operand.bottom)
        return operand if isinstance(operand, PrimExpr) else plain(operand)

    return compute


def _whole(compute: Callable[[Any, Any], Any], what: str) -> Callable[[Any, Any], Any]:
    """Arithmetic of what is whole: that of floats would round."""

    def checked(a: Any, b: Any) -> Any:
        return _undecided(what)(a, b) if isinstance(a, Quotient) or isinstance(b, Quotient) else compute(a, b)

    return checked


def _item(values: Any, place: Any) -> Any:
    return values[place]


SIZES: dict[str, Callable[..., Any]] = {
    "_operator.getitem": _item,
    "_operator.add": _whole(operator.add, "sum"),
    "_operator.sub": _whole(operator.sub, "difference"),
    "_operator.mul": _whole(operator.mul, "product"),
    "_operator.neg": lambda a: 0 - a,
    "_operator.floordiv": _either(operator.floordiv, floordiv),
    "_operator.mod": _either(operator.mod, floormod),
    "_operator.pow": _either(operator.pow, _undecided("power")),
    "_operator.truediv": _divided,
    "_operator.ge": operator.ge,
    "_operator.gt": operator.gt,
    "_operator.le": operator.le,
    "_operator.lt": operator.lt,
    "_operator.eq": operator.eq,
    "_operator.ne": operator.ne,
    "torch.sym_max": _either(max, tir_max),
    "torch.sym_min": _either(min, tir_min),
    "torch.sym_float": _either(float, lambda a: a),
    "torch.sym_int": _rounded(int, truncdiv),
    "math.ceil": _rounded(math.ceil, ceildiv),
    "math.floor": _rounded(math.floor, floordiv),
    "math.trunc": _rounded(math.trunc, truncdiv),
}
"""Function -> what it computes. `getitem` also takes one of several results of an operator."""
