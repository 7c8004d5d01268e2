"""What an operator of the script makes of values that are read: a node of TIR, or what Python computes of two numbers.

Infix operators build exactly the node they name. A value that is no scalar of TIR is Python's.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.python_in_scripts import Reading
from baton._src.support.python_operators import ARITHMETIC, COMPARISONS, POWERS_AND_BITS
from baton._src.tir import expr as tir
from baton._src.tir import operators
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import BufferLoad, IterVar
from baton._src.tir.text.python_parts import described
from baton._src.tir.text.scope import Scope

_NODES: dict[type[ast.operator], type] = {
    ast.Add: tir.Add,
    ast.Sub: tir.Sub,
    ast.Mult: tir.Mul,
    ast.FloorDiv: tir.FloorDiv,
    ast.Mod: tir.FloorMod,
    ast.Div: tir.Div,
}
_OTHERS: dict[type[ast.operator], Callable[[Any, Any], PrimExpr]] = {
    ast.Pow: operators.power,
    ast.LShift: operators.left_shift,
    ast.RShift: operators.right_shift,
    ast.BitAnd: operators.bitwise_and,
    ast.BitOr: operators.bitwise_or,
    ast.BitXor: operators.bitwise_xor,
}
_COMPARISON_NODES: dict[type[ast.cmpop], type] = {
    ast.Eq: tir.EQ,
    ast.NotEq: tir.NE,
    ast.Lt: tir.LT,
    ast.LtE: tir.LE,
    ast.Gt: tir.GT,
    ast.GtE: tir.GE,
}
_SCALAR = (PrimExpr, IterVar, Buffer)


def is_scalar(found: Any) -> bool:
    """Whether operators take a value as TIR's; others are Python's."""
    return isinstance(found, _SCALAR)


def as_condition(scope: Scope, node: ast.AST, found: Any) -> PrimExpr:
    """A value as a condition; reports what is none."""
    made = as_scalar(scope, node, found)
    if not made.dtype.is_bool:
        raise scope.error(node, "tir-dtype", f"a condition must be bool, got {made.dtype}", "compare it: x != 0")
    return made


def as_scalar(scope: Scope, node: ast.AST, found: Any) -> PrimExpr:
    """A value as a scalar expression; reports what is none."""
    if isinstance(found, (PrimExpr, IterVar, bool, int, float, str)):
        return operators.convert(found)
    if isinstance(found, Buffer) and found.ndim == 0:
        return BufferLoad(found, ())
    raise scope.error(node, "tir-operand", f"a scalar is needed here, not {described(found)}")


def as_operand(scope: Scope, node: ast.AST, found: Any) -> Any:
    """A Python number as it is (of what dtype, the other operand decides), anything else as a scalar."""
    return found if _is_number(found) else as_scalar(scope, node, found)


def _is_number(found: Any) -> bool:
    return isinstance(found, (bool, int, float))


def binary(scope: Scope, node: ast.BinOp, left: Any, right: Any, python: Reading) -> Any:
    """`left + right`; `python` bounds what is computed of two Python values."""
    if not is_scalar(left) and not is_scalar(right):
        return _python_binary(scope, node, left, right, python)
    x, y = as_operand(scope, node.left, left), as_operand(scope, node.right, right)
    other = _OTHERS.get(type(node.op))
    if other is not None:
        return other(x, y)
    made = _NODES.get(type(node.op))
    if made is None:
        raise scope.error(node, "tir-syntax", "this operator is not defined for scalars")
    return _arithmetic(made, *operators.match_types(x, y))


def _arithmetic(made: type, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """The node of two operands of one dtype."""
    if made is tir.Div and not x.dtype.is_float:
        return operators.divide(x, y)  # says why not
    if made in (tir.FloorDiv, tir.FloorMod):
        if operators.is_const(y, 0):
            return operators.floordiv(x, y)  # says that it is zero
        if x.dtype.is_float:
            return operators.floordiv(x, y) if made is tir.FloorDiv else operators.floormod(x, y)
    node: PrimExpr = made(x, y)
    return node


def _python_binary(scope: Scope, node: ast.BinOp, left: Any, right: Any, python: Reading) -> Any:
    """What Python makes of two of its values: of numbers, and of anything where the text is trusted."""
    kind = type(node.op)
    compute = ARITHMETIC.get(kind) or POWERS_AND_BITS.get(kind)
    if compute is not None and (scope.is_trusted or (_is_number(left) and _is_number(right))):
        python.check_size(node, left, right)
        with suppress(TypeError, ValueError, ArithmeticError):  # `1 << -1` is a ValueError
            return compute(left, right)
    raise scope.error(node, "tir-syntax", "this cannot be computed from two numbers")


def unary(scope: Scope, node: ast.UnaryOp, found: Any) -> Any:
    """`-found`."""
    match node.op:
        case ast.USub():
            return -found if _is_number(found) else operators.negative(as_scalar(scope, node.operand, found))
        case ast.UAdd():
            return found
        case ast.Not():
            if not is_scalar(found):
                return not found
            inner = as_scalar(scope, node.operand, found)
            if not inner.dtype.is_bool:
                raise scope.error(node, "tir-dtype", f"not takes a condition (bool), got {inner.dtype}")
            return tir.Not(inner)
        case _:
            return operators.bitwise_not(as_scalar(scope, node.operand, found))


def comparison(scope: Scope, node: ast.AST, op: ast.cmpop, left: Any, right: Any) -> Any:
    """`left < right`."""
    if not is_scalar(left) and not is_scalar(right):
        return COMPARISONS[type(op)](left, right)
    made = _COMPARISON_NODES.get(type(op))
    if made is None:
        raise scope.error(node, "tir-syntax", "this comparison is not defined for scalars")
    return made(*operators.match_types(as_operand(scope, node, left), as_operand(scope, node, right)))


def both(first: Any, second: Any) -> Any:
    """`first and second` of two comparisons."""
    if isinstance(first, bool):
        return second if first else False
    return tir.And(first, operators.convert(second))
