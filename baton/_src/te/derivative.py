"""Derivatives of scalar expressions: what each of its leaves adds to a small change of an expression.

shares(A[i] * exp(B[i]), float loads)   ->   [(A[i], exp(B[i])), (B[i], A[i] * exp(B[i]))]

Where an expression has no derivative (at ties of `max`, at 0 of `abs`), it gets the one from a side; rounding has the
derivative 0, as have comparisons and integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from baton._src.ir.expr import Op, PrimExpr
from baton._src.ir.traverse import post_order, substitute
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir.builders import scalar_functions as f
from baton._src.tir.operators import add, cast, const, divide, logical_not, multiply, negative, subtract

Conditions = tuple[PrimExpr, ...]
Part = tuple[PrimExpr, PrimExpr, Conditions]
"""An operand, what its change is weighed with, and the conditions under which it counts."""


def shares(expr: PrimExpr, is_leaf: Callable[[PrimExpr], bool]) -> list[tuple[PrimExpr, PrimExpr]]:
    """(leaf, weight) for each occurrence of a leaf: `expr` changes by the sum of weight * the leaf's change.

    Error `te-gradient`: leaves lie below a function whose derivative is not known.
    """
    found: list[tuple[PrimExpr, PrimExpr]] = []
    stack: list[Part] = [(expr, const(1, expr.dtype), ())] if expr.dtype.is_float else []
    while stack:
        node, weight, conditions = stack.pop()
        if is_leaf(node):
            found.append((node, guarded(conditions, weight)))
        elif any(is_leaf(below) for below in post_order(node) if isinstance(below, PrimExpr)):
            parts = _operands(node, weight, conditions)
            stack += [part for part in reversed(parts) if part[0].dtype.is_float]
    return found


def guarded(conditions: Conditions, value: PrimExpr) -> PrimExpr:
    """`value` where the conditions hold, tested in their order, else 0."""
    for condition in reversed(conditions):
        value = f.if_then_else(condition, value, const(0, value.dtype))
    return value


def _operands(node: PrimExpr, weight: PrimExpr, conditions: Conditions) -> list[Part]:
    """The operands of a node whose result is weighed with `weight`."""

    def part(operand: PrimExpr, factor: PrimExpr, *further: PrimExpr) -> Part:
        return operand, factor, (*conditions, *further)

    match node:
        case tir.Add(a=a, b=b):
            return [part(a, weight), part(b, weight)]
        case tir.Sub(a=a, b=b):
            return [part(a, weight), part(b, negative(weight))]
        case tir.Mul(a=a, b=b):
            return [part(a, multiply(weight, b)), part(b, multiply(weight, a))]
        case tir.Div(a=a, b=b):
            share = divide(weight, b)
            return [part(a, share), part(b, negative(multiply(share, node)))]
        case tir.Max(a=a, b=b):
            return [part(a, weight, a >= b), part(b, weight, logical_not(a >= b))]
        case tir.Min(a=a, b=b):
            return [part(a, weight, a <= b), part(b, weight, logical_not(a <= b))]
        case tir.Select(condition=condition, true_value=a, false_value=b):
            return [part(a, weight, condition), part(b, weight, logical_not(condition))]
        case tir.Cast(value=value):
            return [part(value, cast(value.dtype, weight))] if value.dtype.is_float else []
        case tir.Let(var=var, value=value, body=body):
            return [part(substitute(body, {var: value}), weight)]
        case tir.Call():
            return [part(*one) for one in _of_call(node, weight)]
        case _:
            raise _unknown(type(node).__name__)


def _of_call(node: tir.Call, weight: PrimExpr) -> list[tuple[PrimExpr, ...]]:
    """(operand, weight, further conditions) of a call."""
    name, args = node.op.name.removeprefix("tir.") if isinstance(node.op, Op) else node.op.name_hint, node.args
    match name:
        case "if_then_else":
            condition, a, b = args
            return [(a, weight, condition), (b, weight, logical_not(condition))]
        case "pow":
            base, power = args
            slope = multiply(power, f.pow(base, subtract(power, const(1, power.dtype))))
            return [(base, multiply(weight, slope)), (power, multiply(weight, multiply(node, f.log(base))))]
        case "atan2":
            y, x = args
            share = divide(weight, add(multiply(x, x), multiply(y, y)))
            return [(y, multiply(share, x)), (x, negative(multiply(share, y)))]
        case "hypot":
            return [(operand, divide(multiply(weight, operand), node)) for operand in args]
        case "fmod":
            a, b = args
            return [(a, weight), (b, negative(multiply(weight, f.trunc(divide(a, b)))))]
        case "fma":
            a, b, c = args
            return [(a, multiply(weight, b)), (b, multiply(weight, a)), (c, weight)]
        case _ if name in _FLAT:
            return []
        case _ if name in _SLOPES:
            return [(args[0], multiply(weight, _SLOPES[name](args[0], node)))]
        case _:
            raise _unknown(f"tir.{name}")


def _unknown(what: str) -> Exception:
    return fail("te-gradient", f"{what} has no derivative here", help="write it with arithmetic and tir's functions")


def _number(like: PrimExpr, value: float) -> PrimExpr:
    return const(value, like.dtype)


def _one_plus_square(x: PrimExpr) -> PrimExpr:
    return add(_number(x, 1), multiply(x, x))


def _one_minus_square(x: PrimExpr) -> PrimExpr:
    return subtract(_number(x, 1), multiply(x, x))


_FLAT = {"floor", "ceil", "trunc", "round", "nearbyint"}
"""Functions whose derivative is 0."""
_SLOPES: Mapping[str, Callable[[PrimExpr, PrimExpr], PrimExpr]] = {
    "exp": lambda x, y: y,
    "exp2": lambda x, y: multiply(y, _number(x, math.log(2))),
    "exp10": lambda x, y: multiply(y, _number(x, math.log(10))),
    "expm1": lambda x, y: add(y, _number(x, 1)),
    "log": lambda x, y: divide(_number(x, 1), x),
    "log2": lambda x, y: divide(_number(x, 1 / math.log(2)), x),
    "log10": lambda x, y: divide(_number(x, 1 / math.log(10)), x),
    "log1p": lambda x, y: divide(_number(x, 1), add(x, _number(x, 1))),
    "sqrt": lambda x, y: divide(_number(x, 0.5), y),
    "rsqrt": lambda x, y: multiply(_number(x, -0.5), multiply(y, multiply(y, y))),
    "sin": lambda x, y: f.cos(x),
    "cos": lambda x, y: negative(f.sin(x)),
    "tan": lambda x, y: _one_plus_square(y),
    "sinh": lambda x, y: f.cosh(x),
    "cosh": lambda x, y: f.sinh(x),
    "tanh": lambda x, y: _one_minus_square(y),
    "asin": lambda x, y: f.rsqrt(_one_minus_square(x)),
    "acos": lambda x, y: negative(f.rsqrt(_one_minus_square(x))),
    "atan": lambda x, y: divide(_number(x, 1), _one_plus_square(x)),
    "asinh": lambda x, y: f.rsqrt(_one_plus_square(x)),
    "acosh": lambda x, y: f.rsqrt(subtract(multiply(x, x), _number(x, 1))),
    "atanh": lambda x, y: divide(_number(x, 1), _one_minus_square(x)),
    "erf": lambda x, y: multiply(_number(x, 2 / math.sqrt(math.pi)), f.exp(negative(multiply(x, x)))),
    "sigmoid": lambda x, y: multiply(y, subtract(_number(x, 1), y)),
    "fabs": lambda x, y: f.select(x >= 0, _number(x, 1), _number(x, -1)),
    "likely": lambda x, y: _number(x, 1),
}
"""The derivative of a function of one number, from its operand and its result."""
