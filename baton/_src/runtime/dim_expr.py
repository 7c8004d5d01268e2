"""Scalar expressions as serialisable data: dims, sizes and prim values that depend on shape variables.

An expression is an int, float or bool, ``["v", slot]`` for the value in a slot (of the shape heap, or of a native
function's variables), ``["cast", dtype, e]``, or ``[op, a, b, ...]`` with an op of `OPERATIONS`. Executables store
expressions in this form; `compile_dim` turns one into a Python function. Expressions may be deep: nothing here
recurses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from baton._src.support.diagnostics import fail
from baton._src.values.prim import prim, shifted_left, shifted_right

DimExpr = Any
"""int | float | bool | list (see above); lists come back from JSON as lists, tuples are accepted."""

Evaluate = Callable[[Sequence[Any]], Any]


def _truncated_div(a: Any, b: Any) -> Any:
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _select(condition: Any, yes: Any, no: Any) -> Any:
    return yes if condition else no


OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "div": _truncated_div,
    "mod": lambda a, b: a - b * _truncated_div(a, b),
    "min": min,
    "max": max,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "and": lambda a, b: bool(a and b),
    "or": lambda a, b: bool(a or b),
    "not": lambda a: not a,
    "select": _select,
    "<<": shifted_left,
    ">>": shifted_right,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "~": lambda a: ~a,
    "abs": abs,
    "pow": lambda a, b: a**b,
    "ceil": math.ceil,
    "floor": math.floor,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
}
"""Integers are exact; `//` and `%` round down, `div` and `mod` toward zero."""


def compile_dim(expr: DimExpr, names: Sequence[str] = ()) -> Evaluate:
    """A function from the slots (called `names`) to the value of `expr`.

    Division by zero is a `DiagnosticError` (`dim-zero`) with the expression and the values in it.
    """
    if isinstance(expr, (int, float)):
        return lambda slots: expr
    if expr[0] == "v":
        index = expr[1]
        return lambda slots: slots[index]
    program = _postfix(expr, _function)

    def evaluate(slots: Sequence[Any]) -> Any:
        stack: list[Any] = []
        push = stack.append
        try:
            for kind, payload in program:
                if kind == 0:
                    push(payload)
                elif kind == 1:
                    push(slots[payload])
                else:
                    arguments = stack[-kind + 1 :]
                    del stack[-kind + 1 :]
                    push(payload(*arguments))
        except ZeroDivisionError as error:
            used = sorted({payload for kind, payload in program if kind == 1})
            given = ", ".join(f"{format_dim(['v', slot], names)} = {slots[slot]}" for slot in used)
            where = f", where {given}" if given else ""
            raise fail("dim-zero", f"division by zero in {format_dim(expr, names)}{where}") from error
        return stack[0]

    return evaluate


def compile_dims(dims: Sequence[DimExpr], names: Sequence[str] = ()) -> Callable[[Sequence[Any]], tuple[int, ...]]:
    """A function from the variables (called `names`) to the dims."""
    if all(isinstance(d, int) for d in dims):
        constant = tuple(dims)
        return lambda slots: constant
    functions = [compile_dim(d, names) for d in dims]
    return lambda slots: tuple([int(f(slots)) for f in functions])


def _postfix(expr: DimExpr, operation: Callable[[Sequence[Any]], tuple[int, Any]]) -> list[tuple[int, Any]]:
    """(0, constant), (1, slot) or what `operation` makes of others: (1 + number of arguments, what), operands first."""
    program: list[tuple[int, Any]] = []
    work: list[tuple[DimExpr, bool]] = [(expr, False)]
    while work:
        item, done = work.pop()
        if isinstance(item, (int, float)):
            program.append((0, item))
        elif item[0] == "v":
            program.append((1, int(item[1])))
        elif done:
            program.append(operation(item))
        else:
            work.append((item, True))
            operands = item[2:] if item[0] == "cast" else item[1:]
            work.extend((operand, False) for operand in reversed(operands))
    return program


def _function(item: Sequence[Any]) -> tuple[int, Any]:
    if item[0] == "cast":
        dtype = item[1]
        return 2, lambda value: prim(value, dtype)
    function = OPERATIONS.get(item[0])
    if function is None:
        raise fail("executable-corrupt", f"unknown operation {item[0]!r} in a shape expression")
    return len(item), function


def _shown(item: Sequence[Any]) -> tuple[int, Any]:
    return (2, item[1]) if item[0] == "cast" else (len(item), item[0])


_INFIX = {"+", "-", "*", "//", "%", "==", "!=", "<", "<=", ">", ">=", "<<", ">>", "&", "|", "^"}


def format_dim(expr: DimExpr, names: Sequence[str] = ()) -> str:
    """The expression as people write it; slots by name where `names` has one."""
    pieces: list[str] = []
    for kind, payload in _postfix(expr, _shown):
        if kind == 0:
            pieces.append(str(payload))
        elif kind == 1:
            pieces.append(names[payload] if payload < len(names) else f"v{payload}")
        else:
            arguments = pieces[-kind + 1 :]
            del pieces[-kind + 1 :]
            if payload in _INFIX:
                pieces.append(f"({arguments[0]} {payload} {arguments[1]})")
            else:
                pieces.append(f"{payload}({', '.join(arguments)})")
    text = pieces[0]
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def is_slot(expr: DimExpr) -> bool:
    """Whether the expression is just a slot, which makes it a binding position."""
    return not isinstance(expr, (int, float)) and expr[0] == "v"
