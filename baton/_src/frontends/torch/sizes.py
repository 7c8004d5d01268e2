"""What programs compute with sizes: Python's functions on ints and symbolic expressions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir.operators import floordiv, floormod
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


def _item(values: Any, place: Any) -> Any:
    return values[place]


SIZES: dict[str, Callable[..., Any]] = {
    "_operator.getitem": _item,
    "_operator.add": operator.add,
    "_operator.sub": operator.sub,
    "_operator.mul": operator.mul,
    "_operator.neg": lambda a: 0 - a,
    "_operator.floordiv": _either(operator.floordiv, floordiv),
    "_operator.mod": _either(operator.mod, floormod),
    "_operator.pow": _either(operator.pow, _undecided("power")),
    "_operator.truediv": _either(operator.truediv, _undecided("quotient")),
    "_operator.ge": operator.ge,
    "_operator.gt": operator.gt,
    "_operator.le": operator.le,
    "_operator.lt": operator.lt,
    "_operator.eq": operator.eq,
    "_operator.ne": operator.ne,
    "torch.sym_max": _either(max, tir_max),
    "torch.sym_min": _either(min, tir_min),
    "torch.sym_int": _either(int, lambda a: a),
    "math.ceil": _either(math.ceil, lambda a: a),
    "math.floor": _either(math.floor, lambda a: a),
    "math.trunc": _either(math.trunc, lambda a: a),
}
"""Function -> what it computes. `getitem` also takes one of several results of an operator."""
