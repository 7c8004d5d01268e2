"""`relay.testing.to_python`: a Relay program as a Python program. `run_as_python` runs it.

    let %y = exp(%x); if (%c) { %y } else { %y * 2f }
becomes
    y = op_0(x)
    if is_true(c):
        v2 = y
    else:
        v1 = op_1(y, const_0)
        v2 = v1

Functions become functions, lets assignments, a match a series of tests; everything else is a call of
`baton.relay.testing.python_words`. The program is in A-normal form first, so that statements come in the order of
evaluation. Python's limits hold for what is written: calls nest a thousand deep, blocks a hundred.
"""

from __future__ import annotations

import ast
import base64
import keyword
import re
from collections.abc import Iterator
from dataclasses import field
from typing import Any

import numpy as np

from baton._src.driver.tvm_names.relay.python_words import WORDS
from baton._src.driver.wiring import wire
from baton._src.ir.expr import GlobalVar, Op, PrimExpr
from baton._src.ir.module import IRModule
from baton._src.ir.types import Constructor
from baton._src.passes.relay.forms.to_a_normal_form import to_a_normal_form_expr
from baton._src.passes.relay.memory.dissolve_memory import DissolveMemory
from baton._src.relay.analysis import free_vars
from baton._src.relay.expressions import global_vars, pattern_vars
from baton._src.relay.nodes import (
    Call,
    Constant,
    Function,
    If,
    Let,
    Match,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from baton._src.relay.running_values import to_value
from baton._src.relay.text.literals import call_attributes
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.trampoline import Task, run
from baton._src.tir.expr import FloatImm, IntImm
from baton._src.values.dtype import DataType

RESULT = "result"
"""The name of the value of the expression, at the end of the program."""


def to_python(expr: Any, mod: IRModule | None = None, target: Any = None) -> ast.Module:
    """The program that evaluates `expr`, closed but for the globals of `mod`, as Python's syntax tree; its value is
    `result`. `ast.unparse` gives the text. Errors: `relay-unbound` for a free variable, `relay-python` for what Python
    has no words for."""
    wire()
    text = _text(expr, mod if mod is not None else IRModule())
    try:
        return ast.parse(text)
    except (SyntaxError, RecursionError, MemoryError) as error:
        help = "ifs, matches and functions within one another become blocks within one another: lift some out"
        raise fail("relay-python", f"Python rejects the program: {error}", help=help) from error


def run_as_python(expr: Any, mod: IRModule | None = None, target: Any = None) -> Any:
    """The value of `expr`, by running `to_python(expr, mod)`. A function's value is a Python function."""
    names: dict[str, Any] = {}
    exec(compile(to_python(expr, mod), "<relay>", "exec"), names)
    found = names[RESULT]
    if not callable(found):
        return found
    return lambda *args: found(*(a if callable(a) else to_value(a) for a in args))


def _text(expr: Any, module: IRModule) -> str:
    unbound = free_vars(expr)
    if unbound:
        message = f"%{unbound[0].name_hint} has no value"
        raise fail("relay-unbound", message, span=unbound[0].span, help="make it a parameter of a function")
    module = DissolveMemory()(module)
    writer = _Writer()
    lines: list[str] = []
    for var in _reached(expr, module):
        function = module[var]
        if not isinstance(function, Function):
            raise fail("relay-python", f"@{var.name_hint} is not a Relay function", span=var.span)
        lines += _assigned(writer, writer.of(var, var.name_hint), function)
    lines += _assigned(writer, RESULT, expr)
    words = f"from baton.relay.testing.python_words import {', '.join(WORDS)}"
    return "\n".join([words, "", *writer.header(), "", *lines, ""])


def _assigned(writer: _Writer, name: str, expr: Any) -> list[str]:
    """Statements that give `name` the value of `expr`."""
    normal = to_a_normal_form_expr(expr)
    if isinstance(normal, Let) and normal.body is normal.var and isinstance(normal.value, Function):
        writer.names[normal.var] = name
        return [*run(writer.scope(normal, None)), ""]
    return [*run(writer.scope(normal, name)), ""]


def _reached(expr: Any, module: IRModule) -> list[GlobalVar]:
    """The globals that `expr` needs, in order of first mention."""
    found: dict[str, GlobalVar] = {}
    work = [expr]
    while work:
        for var in global_vars(work.pop()):
            if var.name_hint not in found:
                found[var.name_hint] = module.get_global_var(var.name_hint)
                work.append(module[var])
    return list(found.values())


@dataclass
class _Writer:
    """Writes scopes; remembers names, and the operators and constants the program begins with."""

    names: dict[Any, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=lambda: {*WORDS, *keyword.kwlist, RESULT})
    counts: dict[str, int] = field(default_factory=dict)
    globals: dict[str, str] = field(default_factory=dict)
    operators: dict[str, str] = field(default_factory=dict)
    constants: dict[Any, str] = field(default_factory=dict)

    def header(self) -> Iterator[str]:
        """The operators and constants."""
        for text, name in self.operators.items():
            yield f"{name} = {text}"
        for constant, name in self.constants.items():
            yield f"{name} = {_constant(constant)}"

    def of(self, node: Any, hint: str) -> str:
        """The name of a variable or global."""
        if isinstance(node, GlobalVar):
            if node.name_hint not in self.globals:
                self.globals[node.name_hint] = self._fresh(node.name_hint)
            return self.globals[node.name_hint]
        if node not in self.names:
            self.names[node] = self._fresh(hint)
        return self.names[node]

    def _fresh(self, hint: str) -> str:
        plain = re.sub(r"\W", "_", hint, flags=re.ASCII)
        plain = f"_{plain}" if not plain or plain[0].isdigit() else plain
        name, count = plain, self.counts.get(plain, 0)
        while name in self.taken:
            count += 1
            name = f"{plain}_{count}"
        self.counts[plain] = count
        self.taken.add(name)
        return name

    # ---- statements

    def scope(self, root: Any, target: str | None) -> Task[list[str]]:
        """The statements of a scope; its value is assigned to `target`, or returned for the target `return`."""
        lines: list[str] = []
        node = root
        while isinstance(node, Let):
            lines += yield self._let(self.of(node.var, node.var.name_hint), node.value)
            node = node.body
        if target == "return":
            lines.append(f"return {self.atom(node)}")
        elif target is not None:
            lines.append(f"{target} = {self.atom(node)}")
        return lines or ["pass"]

    def _let(self, name: str, value: Any) -> Task[list[str]]:
        match value:
            case Function():
                params = ", ".join(self.of(p, p.name_hint) for p in value.params)
                return [f"def {name}({params}):", *_indented((yield self.scope(value.body, "return")))]
            case If():
                chosen, other = (
                    (yield self.scope(value.true_branch, name)),
                    (yield self.scope(value.false_branch, name)),
                )
                return [f"if is_true({self.atom(value.cond)}):", *_indented(chosen), "else:", *_indented(other)]
            case Match():
                lines: list[str] = yield self._match(name, value)
                return lines
            case _:
                return [f"{name} = {self._value(value)}"]

    def _match(self, name: str, node: Match) -> Task[list[str]]:
        """A series of tests; the last branch is for data that no clause fits."""
        data, bound = self.atom(node.data), self._fresh("bound")
        lines: list[str] = []
        for clause in node.clauses:
            names = [self.of(v, v.name_hint) for v in pattern_vars(clause.lhs)]
            unpacked = [f"({', '.join(names)},) = {bound}"] if names else []
            body = [*unpacked, *(yield self.scope(clause.rhs, name))]
            word = "elif" if lines else "if"
            lines.append(f"{word} ({bound} := matched({data}, {_pattern(clause.lhs)})) is not None:")
            lines += _indented(body)
        if not lines:
            return [f"raise no_match({data})"]
        return [*lines, "else:", *_indented([f"raise no_match({data})"])]

    # ---- expressions

    def _value(self, node: Any) -> str:
        match node:
            case Call():
                return f"{self._callee(node)}({', '.join(map(self.atom, node.args))})"
            case Tuple():
                return f"({''.join(f'{self.atom(f)}, ' for f in node.fields)})"
            case TupleGetItem():
                return f"{self.atom(node.tuple_value)}[{node.index}]"
            case RefCreate():
                return f"new_reference({self.atom(node.value)})"
            case RefRead():
                return f"{self.atom(node.ref)}.value"
            case RefWrite():
                return f"write({self.atom(node.ref)}, {self.atom(node.value)})"
            case _:
                return self.atom(node)

    def _callee(self, node: Call) -> str:
        if not isinstance(node.op, Op):
            return self.atom(node.op)
        attributes = [] if node.attrs is None or isinstance(node.attrs, dict) else list(node.attrs.items())
        shown = {text.partition("=")[0] for text in call_attributes(node)}
        given = "".join(f", {name}={_literal(v, node)}" for name, v in attributes if name in shown)
        return self._operator(f"operator({node.op.name!r}{given})")

    def _operator(self, text: str) -> str:
        return self.operators.setdefault(text, f"op_{len(self.operators)}")

    def atom(self, node: Any) -> str:
        """A variable, a constant, or something by name."""
        match node:
            case Var():
                return self.of(node, node.name_hint)
            case GlobalVar():
                return self.of(node, node.name_hint)
            case Constant():
                return self.constants.setdefault(node, f"const_{len(self.constants)}")
            case Op():
                return self._operator(f"operator({node.name!r})")
            case Constructor():
                return self._operator(f"constructor({node.name_hint!r}, {node.tag})")
            case _:
                raise fail("relay-node", f"a {type(node).__name__} is not a Relay expression")


def _indented(lines: list[str]) -> list[str]:
    return [f" {line}" for line in lines]


def _pattern(pattern: Any) -> str:
    match pattern:
        case PatternVar():
            return repr(pattern.var.name_hint)
        case PatternConstructor():
            return f"({pattern.constructor.tag}, {''.join(f'{_pattern(p)}, ' for p in pattern.patterns)})"
        case PatternTuple():
            return f"[{', '.join(map(_pattern, pattern.patterns))}]"
        case _:
            return "None"


def _constant(node: Constant) -> str:
    """Small ones readable, others as bytes."""
    data, dtype = node.data.data, str(node.data.dtype)
    if data.size <= 16 and data.dtype.kind in "iub":
        return f"tensor({data.tolist()!r}, {dtype!r}, {data.shape!r})"
    if data.size <= 16 and dtype in ("float32", "float64") and np.isfinite(data).all():
        return f"tensor({data.tolist()!r}, {dtype!r}, {data.shape!r})"
    return f"tensor({base64.b64encode(np.ascontiguousarray(data).tobytes()).decode()!r}, {dtype!r}, {data.shape!r})"


def _literal(value: Any, call: Call) -> str:
    """An attribute's content in Python."""
    match value:
        case None | bool() | int() | str():
            return repr(str(value) if isinstance(value, DataType) else value)
        case float():
            return repr(value) if np.isfinite(value) else f"float({str(value)!r})"
        case IntImm() | FloatImm():
            return _literal(value.value, call)
        case tuple() | list():
            return f"({''.join(f'{_literal(v, call)}, ' for v in value)})"
        case PrimExpr():
            raise fail("relay-python", f"{call.op.name}: the attribute {value} has no value in Python", span=call.span)
        case _:
            return repr(str(value))


__all__ = ["RESULT", "run_as_python", "to_python"]
