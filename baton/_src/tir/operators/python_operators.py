"""Python's operators on scalar expressions: `a + b` calls `add(a, b)`, and so on. Bound to the nodes on import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.tir.expr import IterVar
from baton._src.tir.operators.arithmetic import add, divide, floordiv, floormod, multiply, negative, power, subtract
from baton._src.tir.operators.bits import bitwise_and, bitwise_not, bitwise_or, bitwise_xor, left_shift, right_shift
from baton._src.tir.operators.conditions import equal, greater, greater_equal, less, less_equal, not_equal
from baton._src.tir.operators.operands import cast, common_dtype, convert, is_operand

_OWNERS: tuple[Any, ...] = (PrimExpr, IterVar)
_BUILDERS: dict[str, Callable[..., PrimExpr]] = {
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "divide": divide,
    "floor_divide": floordiv,
    "floor_mod": floormod,
    "power": power,
    "negative": negative,
    "less": less,
    "less_equal": less_equal,
    "greater": greater,
    "greater_equal": greater_equal,
    "left_shift": left_shift,
    "right_shift": right_shift,
    "bitwise_and": bitwise_and,
    "bitwise_or": bitwise_or,
    "bitwise_xor": bitwise_xor,
    "bitwise_not": bitwise_not,
}


def build(name: str, *operands: Any) -> Any:
    """The expression for the Python operator `name`.

    `NotImplemented` if an operand is no scalar (a node of Relax, for example): Python tries its operator next.
    """
    if name == "cast":
        return cast(operands[1], operands[0])
    if not all(is_operand(operand) for operand in operands):
        return NotImplemented
    if name in ("equal", "not_equal"):
        return _build_equality(name, *operands)
    return _BUILDERS[name](*operands)


def _build_equality(name: str, a: PrimExpr, b: Any) -> Any:
    if common_dtype(a.dtype.element, convert(b).dtype.element) is None:
        return NotImplemented  # pointers and numbers are different things, not an error: `x in (a, b)` asks this
    return (equal if name == "equal" else not_equal)(a, b)


for _owner in _OWNERS:
    _owner.build = staticmethod(build)
