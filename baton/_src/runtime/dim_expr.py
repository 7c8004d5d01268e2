"""Scalar expressions as serialisable data: dims, sizes and prim values that depend on shape variables.

An expression is an int, float or bool, ``["v", slot]`` for the value in a slot (of the shape heap, or of a native
function's variables), ``["cast", dtype, e]``, or ``[op, a, b, ...]`` with an op of `OPERATIONS` or `_CHOICES`.
Executables store expressions in this form; `compile_dim` turns one into a Python function. Expressions may be deep:
only what is not is computed by functions that call each other.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from baton._src.support.diagnostics import fail
from baton._src.support.integer_division import truncated_division, truncated_remainder
from baton._src.values.prim import prim, shifted_left, shifted_right

DimExpr = Any
"""int | float | bool | list (see above); lists come back from JSON as lists, tuples are accepted."""

Evaluate = Callable[[Sequence[Any]], Any]


def _by_kind(reals: Callable[..., Any], integers: Callable[..., Any]) -> Callable[..., Any]:
    """What is computed of floats as elements of tensors are (infinities and NaN are results, too), and what of
    integers.
    """

    def compute(*numbers: Any) -> Any:
        if not any(isinstance(n, float) for n in numbers):
            return integers(*numbers)
        with np.errstate(all="ignore"):
            return float(reals(*map(np.float64, numbers)))

    return compute


def _real(function: Callable[[Any], Any]) -> Callable[[Any], float]:
    compute = _by_kind(function, function)
    return lambda number: compute(float(number))


OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "div": _by_kind(np.divide, truncated_division),
    "mod": _by_kind(np.fmod, truncated_remainder),
    "min": min,
    "max": max,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "not": operator.not_,
    "<<": shifted_left,
    ">>": shifted_right,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "~": operator.invert,
    "abs": abs,
    "pow": _by_kind(np.power, lambda a, b: a**b),
    "ceil": _by_kind(np.ceil, int),
    "floor": _by_kind(np.floor, int),
    "sqrt": _real(np.sqrt),
    "exp": _real(np.exp),
    "log": _real(np.log),
}
"""Integers are exact; `//` and `%` round down, `div` and `mod` toward zero."""
_CHOICES: dict[str, Callable[..., tuple[DimExpr, DimExpr, DimExpr]]] = {
    "select": lambda condition, yes, no: (condition, yes, no),
    "and": lambda a, b: (a, ["not", ["not", b]], False),
    "or": lambda a, b: (a, True, ["not", ["not", b]]),
}
"""Operations that evaluate only the operand they choose, as (condition, if true, if false): the other may divide by
zero.
"""


DEEP = 20
"""Levels of an expression that are computed by functions that call each other."""


class _Step(NamedTuple):
    """Push a constant (kind 0) or a slot's value (1), jump (kind < 0), or apply `payload` to the last kind - 1
    values.
    """

    kind: int
    payload: Any


_JUMP, _JUMP_UNLESS = -1, -2
"""Kinds of steps whose payload is a `_Label`; the second one pops a value, and jumps if it is false."""


class _Label:
    """A position in a program."""

    place = 0


def compile_dim(expr: DimExpr, names: Sequence[str] = ()) -> Evaluate:
    """A function from the slots (called `names`) to the value of `expr`.

    Division by zero is a `DiagnosticError` (`division-by-zero`) with the expression and the values in it.
    """
    if isinstance(expr, (int, float)):
        return lambda slots: expr
    if expr[0] == "v":
        return operator.itemgetter(expr[1])
    run = _calls(expr, DEEP) or _steps(expr)
    if not _divides(expr):
        return run

    def evaluate(slots: Sequence[Any]) -> Any:
        try:
            return run(slots)
        except ZeroDivisionError as error:
            used = sorted(slots_of(expr))
            given = ", ".join(f"{format_dim(['v', slot], names)} = {slots[slot]}" for slot in used)
            where = f", where {given}" if given else ""
            raise fail("division-by-zero", f"division by zero in {format_dim(expr, names)}{where}") from error

    return evaluate


def _divides(expr: DimExpr) -> bool:
    """Whether anything in the expression may divide by zero."""
    return any(step.payload in _DIVISIONS for step in _program(expr) if step.kind > 1)


_DIVISIONS = [OPERATIONS[name] for name in ("//", "%", "div", "mod", "pow")]


def _calls(expr: DimExpr, levels: int) -> Evaluate | None:
    """Functions that call each other, four times as fast as steps; None for expressions of more levels."""
    if isinstance(expr, (int, float)):
        return lambda slots: expr
    if expr[0] == "v":
        return operator.itemgetter(int(expr[1]))
    if levels == 0:
        return None
    if expr[0] in _CHOICES:
        chosen = [_calls(e, levels - 1) for e in _CHOICES[expr[0]](*expr[1:])]
        condition, yes, no = chosen
        if condition is None or yes is None or no is None:
            return None
        return lambda slots: yes(slots) if condition(slots) else no(slots)
    function = _function(expr).payload
    operands = [_calls(e, levels - 1) for e in _operands(expr)]
    known = [f for f in operands if f is not None]
    if len(known) != len(operands):
        return None
    if len(known) != 2:
        return lambda slots: function(*[f(slots) for f in known])
    (first, second), last = known, _operands(expr)[1]
    if isinstance(last, (int, float)):
        return lambda slots: function(first(slots), last)
    return lambda slots: function(first(slots), second(slots))


def _steps(expr: DimExpr) -> Evaluate:
    """One step after the other, however deep the expression is."""
    program = _program(expr)
    run = _run_with_jumps if any(step.kind < 0 for step in program) else _run
    return lambda slots: run(program, slots)


def _run(program: Sequence[_Step], slots: Sequence[Any]) -> Any:
    """The value of a program without jumps."""
    stack: list[Any] = []
    push = stack.append
    for kind, payload in program:
        if kind == 0:
            push(payload)
        elif kind == 1:
            push(slots[payload])
        else:
            arguments = stack[-kind + 1 :]
            del stack[-kind + 1 :]
            push(payload(*arguments))
    return stack[0]


def _run_with_jumps(program: Sequence[_Step], slots: Sequence[Any]) -> Any:
    """The value of any program."""
    stack: list[Any] = []
    place = 0
    while place < len(program):
        kind, payload = program[place]
        place += 1
        if kind == 0:
            stack.append(payload)
        elif kind == 1:
            stack.append(slots[payload])
        elif kind == _JUMP or (kind == _JUMP_UNLESS and not stack.pop()):
            place = payload.place
        elif kind > 1:
            arguments = stack[-kind + 1 :]
            del stack[-kind + 1 :]
            stack.append(payload(*arguments))
    return stack[0]


def compile_dims(dims: Sequence[DimExpr], names: Sequence[str] = ()) -> Callable[[Sequence[Any]], tuple[int, ...]]:
    """A function from the variables (called `names`) to the dims."""
    if all(isinstance(d, int) for d in dims):
        constant = tuple(dims)
        return lambda slots: constant
    functions = [compile_dim(d, names) for d in dims]
    return lambda slots: tuple([int(f(slots)) for f in functions])


def _program(expr: DimExpr) -> list[_Step]:
    """The steps that compute an expression."""
    program: list[_Step] = []
    work: list[Any] = [expr]
    while work:
        item = work.pop()
        if isinstance(item, _Step):
            program.append(item)
        elif isinstance(item, _Label):
            item.place = len(program)
        elif isinstance(item, (int, float)):
            program.append(_Step(0, item))
        elif item[0] == "v":
            program.append(_Step(1, int(item[1])))
        elif item[0] in _CHOICES:
            condition, yes, no = _CHOICES[item[0]](*item[1:])
            other, end = _Label(), _Label()
            work += [end, no, other, _Step(_JUMP, end), yes, _Step(_JUMP_UNLESS, other), condition]
        else:
            work.append(_function(item))
            work.extend(reversed(_operands(item)))
    return program


def _operands(item: Sequence[Any]) -> Sequence[Any]:
    return item[2:] if item[0] == "cast" else item[1:]


def _function(item: Sequence[Any]) -> _Step:
    if item[0] == "cast":
        dtype = item[1]
        return _Step(2, lambda value: prim(value, dtype))
    function = OPERATIONS.get(item[0])
    if function is None:
        raise fail("executable-corrupt", f"unknown operation {item[0]!r} in a shape expression")
    return _Step(len(item), function)


_INFIX = {"+", "-", "*", "//", "%", "==", "!=", "<", "<=", ">", ">=", "<<", ">>", "&", "|", "^"}


def format_dim(expr: DimExpr, names: Sequence[str] = ()) -> str:
    """The expression in readable form; slots by name where `names` has one."""
    pieces: list[str] = []
    work: list[tuple[DimExpr, bool]] = [(expr, False)]
    while work:
        item, done = work.pop()
        if isinstance(item, (int, float)):
            pieces.append(str(item))
        elif item[0] == "v":
            pieces.append(names[item[1]] if item[1] < len(names) else f"v{item[1]}")
        elif not done:
            work.append((item, True))
            work.extend((operand, False) for operand in reversed(_operands(item)))
        else:
            count = len(_operands(item))
            arguments = pieces[-count:]
            del pieces[-count:]
            name = item[1] if item[0] == "cast" else item[0]
            infix = f"({arguments[0]} {name} {arguments[-1]})"
            pieces.append(infix if name in _INFIX else f"{name}({', '.join(arguments)})")
    text = pieces[0]
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def is_slot(expr: DimExpr) -> bool:
    """Whether the expression is just a slot, so that it can be bound."""
    return not isinstance(expr, (int, float)) and expr[0] == "v"


def slots_of(expr: DimExpr) -> set[int]:
    """The slots that an expression reads."""
    return {step.payload for step in _program(expr) if step.kind == 1}
