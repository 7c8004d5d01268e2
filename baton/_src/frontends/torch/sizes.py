"""Computations of programs on sizes: Python's functions on ints and symbolic expressions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from baton._src.frontends.torch.sym_bools import chosen, comparison
from baton._src.frontends.torch.sym_floats import (
    SymFloat,
    arithmetic,
    as_float,
    ceiled,
    divided,
    floored,
    function,
    is_open,
    multiplied,
    power,
    truncated,
)
from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir.operators import floordiv, floormod
from baton._src.tir.operators import max as tir_max
from baton._src.tir.operators import min as tir_min


def _either(plain: Callable[..., Any], symbolic: Callable[..., Any]) -> Callable[..., Any]:
    """`plain` on numbers, `symbolic` if one operand is an expression."""

    def compute(*operands: Any) -> Any:
        if any(is_open(o) for o in operands) and any(isinstance(o, (SymFloat, float)) for o in operands):
            _undecided("whole quotient, rest, minimum or maximum")(*operands)
        return symbolic(*operands) if any(isinstance(o, PrimExpr) for o in operands) else plain(*operands)

    return compute


def _undecided(what: str) -> Callable[..., Any]:
    def refuse(*operands: Any) -> Any:
        shown = ", ".join(str(o) for o in operands)
        raise fail("torch-symbol", f"the program needs the {what} of {shown}, which is not a whole number")

    return refuse


def _rounded(number: Any, *digits: Any) -> Any:
    """Halves go to the even number, which no quotient of sizes says."""
    if isinstance(number, SymFloat):
        _undecided("nearest whole number")(number)
    return number if isinstance(number, PrimExpr) else round(number, *digits)


def _sum(values: Any) -> Any:
    return reduce(_add, values)


_add = arithmetic("add", operator.add)


def _item(values: Any, place: Any) -> Any:
    return values[place]


SIZES: dict[str, Callable[..., Any]] = {
    "_operator.getitem": _item,
    "_operator.add": _add,
    "_operator.sub": arithmetic("subtract", operator.sub),
    "_operator.mul": multiplied,
    "_operator.neg": lambda a: SymFloat("negative", a) if isinstance(a, SymFloat) else 0 - a,
    "_operator.floordiv": _either(operator.floordiv, floordiv),
    "builtins.round": _rounded,
    "_operator.mod": _either(operator.mod, floormod),
    "_operator.pow": power,
    "_operator.truediv": divided,
    "_operator.ge": comparison("greater_equal", operator.ge),
    "_operator.gt": comparison("greater", operator.gt),
    "_operator.le": comparison("less_equal", operator.le),
    "_operator.lt": comparison("less", operator.lt),
    "_operator.eq": comparison("equal", operator.eq),
    "_operator.ne": comparison("not_equal", operator.ne),
    "_operator.and_": comparison("logical_and", operator.and_),
    "_operator.or_": comparison("logical_or", operator.or_),
    "torch.sym_not": comparison("logical_not", operator.not_),
    "torch.sym_ite": chosen,
    "torch.sym_max": _either(max, tir_max),
    "torch.sym_min": _either(min, tir_min),
    "torch.sym_sum": _sum,
    "torch.sym_float": as_float,
    "torch.sym_int": truncated,
    "torch._sym_sqrt": function("sqrt", math.sqrt),
    "math.sqrt": function("sqrt", math.sqrt),
    "math.ceil": ceiled,
    "math.floor": floored,
    "math.trunc": truncated,
}
"""The implementation of each function. `getitem` also selects one of several results of an operator."""
