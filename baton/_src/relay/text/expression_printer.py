"""Expressions of Relay as lines of text: which are written in place, which get a line and a number, and what each says.

    %0 = add(%a, %b) /* ty=float32 */;

A graph is walked with a stack and nested blocks are tasks, so neither is bounded by Python's recursion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.traverse import post_order
from baton._src.ir.types import Constructor
from baton._src.relay.expressions import parts, walk
from baton._src.relay.nodes import (
    Call,
    Constant,
    Function,
    If,
    Let,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    RefCreate,
    RefRead,
    RefWrite,
    TempExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from baton._src.relay.text.closed_blocks import ClosedBlocks
from baton._src.relay.text.literals import Metadata, call_attributes, scalar, show_value
from baton._src.relay.text.type_text import TypeText
from baton._src.relay.text.unique_names import UniqueNames, global_name
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.support.trampoline import Task, run

INDENT = "  "

_ATOMS = (Var, Constant, Op, GlobalVar, Constructor)
_COMMENTED = (Constant, Call, Var, Function, Tuple, TupleGetItem)
"""What has its type behind it."""

Annotate = Callable[[Any], str]


class ExpressionPrinter:
    """One text: names and numbers are unique within it."""

    def __init__(self, annotate: Annotate | None = None) -> None:
        self._annotate = annotate
        self._names = UniqueNames()
        self.metadata = Metadata()
        self._temporaries = 0
        self.types = TypeText()
        self.begin()

    def begin(self) -> None:
        """A new definition: what it can refer to begins anew."""
        self.types.begin()
        self._texts: dict[Any, str] = {}
        self._pending: dict[Any, str] = {}
        self._free: set[Any] = set()
        self._uses: dict[Any, int] = {}
        self._numbers: dict[Any, int] = {}
        self._closed = ClosedBlocks()

    def expression(self, expr: GraphExpr) -> list[str]:
        """The lines of a whole expression; free variables are declared where they are first read."""
        self.count(expr)
        return run(self._scope(expr))

    def count(self, root: GraphExpr) -> None:
        """How often each node is used: shared ones need a name."""
        for node in walk(root):
            for part in parts(node):
                self._uses[part] = self._uses.get(part, 0) + 1

    def _scope(self, expr: GraphExpr, inside: bool = False) -> Task[list[str]]:
        """The statements of a block and its value; a chain of lets is one loop. With `inside` the first let, though it
        is shared, is written here."""
        lines: list[str] = []
        first = self._temporaries
        while type(expr) is Let and expr not in self._texts and (inside or self._uses.get(expr, 0) <= 1):
            bound = self._binding(expr.var)
            value = yield self._flat(expr.value, lines)
            _append(lines, f"let {bound} = {value};")
            expr, inside = expr.body, False
        value = yield self._flat(expr, lines)
        _append(lines, value)
        self._closed.close(first, self._temporaries)
        return lines

    def _flat(self, root: GraphExpr, lines: list[str]) -> Task[str]:
        """The text of `root`, in place if nothing else uses it; what it is computed from goes into `lines`."""
        texts, pending = self._texts, self._pending
        if root in texts:
            return self._operand(root, lines)
        for node in post_order(root, below=self._below):
            if node in texts or node in pending:
                continue
            closed = len(self._closed)
            text: str = yield self._one(node, lines)
            self._closed.belong_to(node, since=closed)
            if isinstance(node, _ATOMS):
                texts[node] = text if isinstance(node, Var) else text + self._comment(node)
            else:
                pending[node] = text
        if root in pending and self._uses.get(root, 0) <= 1:
            texts[root] = pending.pop(root) + self._comment(root)
        return self._operand(root, lines)

    def _operand(self, node: Any, lines: list[str]) -> str:
        """What `node` is read as; it gets its number where it is first read, a free variable its declaration."""
        number = self._numbers.get(node)
        if number is not None:
            self._write_owner(number, lines)
            return self._texts[node]
        text = self._pending.pop(node, None)
        if text is not None:
            name = f"%{self._temporaries}"
            self._numbers[node] = self._temporaries
            self._temporaries += 1
            _append(lines, f"{name} = {text}{self._comment(node)};")
            self._texts[node] = name
        elif node in self._free:
            self._free.discard(node)
            lines.append(f"free_var {self._binding(node)};")
        return self._texts[node]

    def _write_owner(self, number: int, lines: list[str]) -> None:
        """The expression in whose block a name was given has to come first; if it was written inside a block itself,
        the owner of that one, and so on."""
        found: int | None = number
        while found is not None:
            owner = self._closed.owner(found)
            if owner in self._pending:
                self._operand(owner, lines)
                return
            found = self._numbers.get(owner)

    def _below(self, node: GraphExpr) -> tuple[Any, ...]:
        """What has to be printed before `node`: not what opens a scope of its own."""
        if node in self._texts or node in self._pending:
            return ()
        match node:
            case If():
                return (node.cond,)
            case Match():
                return (node.data,)
            case Function() | Let():
                return ()
            case _:
                return parts(node)

    def _one(self, node: GraphExpr, lines: list[str]) -> Task[str]:
        """The text of a node, without what is said behind it."""
        match node:
            case Var():
                self._free.add(node)
                return f"%{self._names.of(node)}"
            case Constant():
                return scalar(node.data) or self.metadata.reference(node)
            case Op():
                return node.name
            case GlobalVar():
                return f"@{global_name(node)}"
            case Constructor():
                return node.name_hint
            case Call():
                return self._call(node, lines)
            case Tuple():
                inner = ", ".join([self._operand(f, lines) for f in node.fields])
                return f"({inner},)" if len(node.fields) == 1 else f"({inner})"
            case TupleGetItem():
                return f"{self._operand(node.tuple_value, lines)}.{node.index}"
            case RefCreate():
                return f"ref({self._operand(node.value, lines)})"
            case RefRead():
                return f"ref_read({self._operand(node.ref, lines)})"
            case RefWrite():
                return f"ref_write({self._operand(node.ref, lines)}, {self._operand(node.value, lines)})"
            case Let():
                return _parenthesised((yield self._scope(node, inside=True)))
            case Function():
                header: str = yield self.signature_and_body(node)
                return f"fn {header}"
            case If():
                condition = self._operand(node.cond, lines)
                chosen = yield self.block(node.true_branch)
                other = yield self.block(node.false_branch)
                return f"if ({condition}) {chosen} else {other}"
            case Match():
                found: str = yield self._match(node, self._operand(node.data, lines))
                return found
            case TempExpr():
                message = f"a {type(node).__name__} has no text: temporary expressions never leave their pass"
                raise fail("RELAY-TEMP-1", message, help="realize() it before printing")
            case _:
                raise fail("relay-node", f"a {type(node).__name__} is not a Relay expression")

    def _call(self, node: Call, lines: list[str]) -> str:
        args = [self._operand(a, lines) for a in node.args]
        callee = node.op.name_hint if isinstance(node.op, Constructor) else self._operand(node.op, lines)
        if node.written_type_args:
            callee += f"<{', '.join(self.types.text(t) for t in node.written_type_args)}>"
        args += call_attributes(node)
        if isinstance(node.op, Constructor) and not args and not node.written_type_args:
            return callee
        return f"{callee}({', '.join(args)})"

    def _comment(self, node: GraphExpr) -> str:
        """What is said behind an expression: its type and the place in the text it was read from."""
        if self._annotate is not None:
            return str(self._annotate(node) or "")
        if not isinstance(node, _COMMENTED):
            return ""
        type_, span = node.checked_type_, node.span
        said = "" if type_ is None else f" ty={self.types.text(type_)}"
        if span is not None and not span.source.path:  # lines of Python programs serve messages, not texts
            said += f" span={_place(span)}"
        return f" /*{said} */" if said else ""

    def _binding(self, var: Var) -> str:
        """A variable where it is bound."""
        name = f"%{self._names.of(var)}"
        self._texts[var] = name
        type_ = var.type_annotation
        if type_ is None and var.checked_type_ is not None and self.types.is_readable(var.checked_type_):
            type_ = var.checked_type_
        return f"{name}{'' if type_ is None else ': ' + self.types.text(type_)}{self._comment(var)}"

    # ---- blocks

    def block(self, expr: GraphExpr) -> Task[str]:
        lines = yield self._scope(expr)
        return "{\n" + "\n".join(_indented(lines)) + "\n}"

    def signature_and_body(self, function: Function) -> Task[str]:
        """Everything of a function but `fn` or `def @f`."""
        type_params = self.types.params(function.type_params)
        params = [self._binding(p) for p in function.params]
        params += [f"{key}={self._attribute(content)}" for key, content in function.attrs.items()]
        found = function.ret_type
        shown = found is not None and (found is function.ret_annotation or self.types.is_readable(found))
        result = f" -> {self.types.text(found)}" if shown else ""
        where = f" where {', '.join(function.where)}" if function.where else ""
        body = yield self.block(function.body)
        return f"{type_params}({', '.join(params)}){result}{where} {body}"

    def _attribute(self, content: Any) -> str:
        return self.metadata.reference(content) if isinstance(content, Constant) else show_value(content)

    def _match(self, node: Match, data: str) -> Task[str]:
        lines: list[str] = []
        for clause in node.clauses:
            pattern = self.pattern(clause.lhs)
            body = yield self.block(clause.rhs)
            lines += f"{pattern} => {body},".split("\n")
        word = "match" if node.complete else "match?"
        return f"{word} ({data}) {{\n" + "\n".join(_indented(lines)) + "\n}"

    def pattern(self, pattern: Pattern) -> str:
        match pattern:
            case PatternVar():
                return self._binding(pattern.var)
            case PatternConstructor():
                inner = ", ".join(self.pattern(p) for p in pattern.patterns)
                return f"{pattern.constructor.name_hint}({inner})" if inner else pattern.constructor.name_hint
            case PatternTuple():
                return f"({', '.join(self.pattern(p) for p in pattern.patterns)})"
            case _:
                return "_"


def _place(span: Span) -> str:
    """`source:line:column`, as it can stand in a comment."""
    return f"{span.source.name}:{span.line}:{span.column}".replace("*/", "*_/").replace("/*", "/_*")


def _append(lines: list[str], text: str) -> None:
    """Add a statement, which may be several lines."""
    if "\n" in text:
        lines.extend(text.split("\n"))
    else:
        lines.append(text)


def _indented(lines: list[str]) -> list[str]:
    return [INDENT + line for line in lines]


def _parenthesised(lines: list[str]) -> str:
    return "(\n" + "\n".join(_indented(lines)) + "\n)"
