"""A Relay module or expression as text, version 0.0.5: what `parser` reads back to a structurally equal program.

    %0 = add(%a, %b) /* ty=float32 */;
    %1 = (%0, %0) /* ty=(float32, float32) */;
    concatenate(%1) /* ty=Tensor[(2), float32] */

The form is TVM's (v0.19). Graphs print one expression per line as `%0`, `%1`, ..., numbered as they are first read;
variables, constants and what a block ends in stay in place, lets stay lets. Comments give types once they are known, and
the places of expressions that were read from a text. Inferred types are written out where they can be read again.
What 0.0.5 has no words for (kinds of type parameters, `where`, type arguments) prints in seed 004's notation. Nested
blocks are tasks and graphs are walked with a stack, so programs may be as deep and long as memory allows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.ir.types import Constructor, Type, TypeData
from baton._src.relay.check.show import show_type, show_type_params
from baton._src.relay.expressions import binders, parts, walk
from baton._src.relay.nodes import (
    Call,
    Clause,
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
from baton._src.relay.text.literals import Metadata, call_attributes, scalar, show_value
from baton._src.relay.text.unique_names import UniqueNames, global_name
from baton._src.support.diagnostics import fail
from baton._src.support.trampoline import Task, run

HEADER = '#[version = "0.0.5"]'
INDENT = "  "
OMITTED = "/* The metadata section is left out; astext(show_meta_data=True) writes it. */"

_ATOMS = (Var, Constant, Op, GlobalVar, Constructor)
_COMMENTED = (Constant, Call, Var, Function, Tuple, TupleGetItem)
"""What has its type behind it."""

Annotate = Callable[[Any], str]


def astext(node: Any, show_meta_data: bool = True, annotate: Annotate | None = None, header: bool = True) -> str:
    """The text of a module, an expression (both with a header unless told otherwise), a pattern, a clause or a type.

    `annotate` gives what is written behind expressions in place of their types.
    """
    printer = Printer(annotate)
    head = [HEADER] if header else []
    match node:
        case IRModule():
            text = "\n".join([*head, *printer.module(node)])
        case TypeData():
            text = printer.data(node)
        case Type():
            return show_type(node)
        case Pattern():
            return printer.pattern(node)
        case Clause():
            return f"{printer.pattern(node.lhs)} => {run(printer.block(node.rhs))}"
        case _:
            text = "\n".join([*head, *printer.expression(node)])
    if not printer.metadata.entries:
        return text
    return f"{text}\n{printer.metadata.section() if show_meta_data else OMITTED}"


class Printer:
    """One text: names and numbers are unique within it."""

    def __init__(self, annotate: Annotate | None = None) -> None:
        self._annotate = annotate
        self._names = UniqueNames()
        self.metadata = Metadata()
        self._temporaries = 0
        self._begin()

    def _begin(self) -> None:
        """A new definition: what it can refer to begins anew."""
        self._type_names = UniqueNames()
        self._type_scope: set[Any] = set()
        self._type_texts: dict[Any, str] = {}
        self._texts: dict[Any, str] = {}
        self._pending: dict[Any, str] = {}
        self._free: set[Any] = set()
        self._uses: dict[Any, int] = {}

    # ---- modules

    def module(self, module: IRModule) -> list[str]:
        lines: list[str] = []
        for data in module.type_definitions.values():
            lines += [self.data(data), ""]
        for var, function in module.functions.items():
            if isinstance(function, Function):
                self._begin()
                self._count(function)
                lines += [f"def @{global_name(var)}{run(self.signature_and_body(function))}", ""]
            else:
                lines += [f"/* @{global_name(var)} is no Relay function: {type(function).__name__} */", ""]
        return lines

    def _begin(self) -> None:
        """A new definition: names and numbers begin anew."""
        self.names = UniqueNames()
        self._texts = {}
        self._uses = {}
        self._temporaries = 0

    def data(self, data: TypeData) -> str:
        self._begin()
        if not data.constructors:
            return f"extern type {data.header.name_hint}{self._type_params(data.type_vars)}"
        lines = [f"type {data.header.name_hint}{self._type_params(data.type_vars)} {{"]
        for constructor in data.constructors:
            fields = ", ".join(self.type(t) for t in constructor.inputs)
            lines.append(
                f"{INDENT}{constructor.name_hint}({fields})," if fields else f"{INDENT}{constructor.name_hint},"
            )
        return "\n".join([*lines, "}"])

    def _type_params(self, params: tuple[Any, ...]) -> str:
        for param in params:
            self.names.of(param)
        return show_type_params(params, self.names.given)

    def type(self, type_: Any) -> str:
        self.names.of_type(type_)
        return show_type(type_, self.names.given)

    # ---- expressions

    def expression(self, expr: Any) -> list[str]:
        """The lines of a whole expression, its free variables declared first."""
        self._count(expr)
        bound: set[Any] = set()
        lines: list[str] = []
        for node in walk(expr):
            bound.update(binders(node))
        for node in walk(expr):
            if isinstance(node, Var) and node not in bound:
                lines.append(f"free_var {self._typed(node)};")
        return lines + run(self._scope(expr))

    def _count(self, root: Any) -> None:
        """How often each node is used: shared ones need a name."""
        for node in walk(root):
            for part in parts(node):
                self._uses[part] = self._uses.get(part, 0) + 1

    def _scope(self, expr: Any) -> Task[list[str]]:
        """The statements of a block and its value; a chain of lets is one loop."""
        lines: list[str] = []
        while type(expr) is Let and expr not in self._texts:
            value = yield self._flat(expr.value, lines)
            _append(lines, f"let {self._typed(expr.var)} = {value};")
            expr = expr.body
        value = yield self._flat(expr, lines)
        _append(lines, value)
        return lines

    def _flat(self, root: Any, lines: list[str]) -> Task[str]:
        """The text of `root`; what it is computed from goes into `lines` as temporaries."""
        texts: dict[Any, str] = self._texts
        if root in texts:
            return texts[root]
        for node in post_order(root, below=self._below):
            if node in texts:
                continue
            text: str = yield self._one(node)
            shared = self._uses.get(node, 0) > 1
            if isinstance(node, _ATOMS):
                texts[node] = text
            elif node is root and not shared:
                return text
            elif not shared and _is_inline(node, texts):
                texts[node] = text
            else:
                name = f"%{self._temporaries}"
                self._temporaries += 1
                _append(lines, f"{name} = {text};")
                texts[node] = name
        return texts[root]

    def _below(self, node: Any) -> tuple[Any, ...]:
        """What has to be printed before `node`: not what opens a scope of its own."""
        if node in self._texts:
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

    def _one(self, node: Any) -> Task[str]:
        texts = self._texts
        match node:
            case Var():
                return f"%{self.names.of(node)}"
            case Constant():
                return scalar(node.data) or self.metadata.reference(node)
            case Op():
                return node.name
            case GlobalVar():
                return f"@{global_name(node)}"
            case Constructor():
                return node.name_hint
            case Call():
                return self._call(node)
            case Tuple():
                inner = ", ".join(texts[f] for f in node.fields)
                return f"({inner},)" if len(node.fields) == 1 else f"({inner})"
            case TupleGetItem():
                return f"{texts[node.tuple_value]}.{node.index}"
            case RefCreate():
                return f"ref({texts[node.value]})"
            case RefRead():
                return f"ref_read({texts[node.ref]})"
            case RefWrite():
                return f"ref_write({texts[node.ref]}, {texts[node.value]})"
            case Let():
                return _parenthesised((yield self._scope(node)))
            case Function():
                header: str = yield self.signature_and_body(node)
                return f"fn {header}"
            case If():
                chosen = yield self.block(node.true_branch)
                other = yield self.block(node.false_branch)
                return f"if ({texts[node.cond]}) {chosen} else {other}{self._comment(node)}"
            case Match():
                found: str = yield self._match(node)
                return found
            case TempExpr():
                message = f"a {type(node).__name__} has no text: temporary expressions never leave their pass"
                raise fail("RELAY-TEMP-1", message, help="realize() it before printing")
            case _:
                raise fail("relay-node", f"a {type(node).__name__} is not a Relay expression")

    def _call(self, node: Call) -> str:
        texts = self._texts
        callee = texts[node.op]
        if not isinstance(node.op, (Op, GlobalVar, Constructor, Var)) and not callee.startswith("%"):
            callee = f"({callee})"
        if node.type_args:
            callee += f"<{', '.join(self.type(t) for t in node.type_args)}>"
        args = [texts[a] for a in node.args]
        args += call_attributes(node)
        if isinstance(node.op, Constructor) and not args and not node.type_args:
            return callee
        return f"{callee}({', '.join(args)}){self._comment(node)}"

    def _comment(self, node: Any) -> str:
        if self._annotate is not None:
            return str(self._annotate(node) or "")
        known = node.checked_type_
        return "" if known is None else f" /* ty={self.type(known)} */"

    def _typed(self, var: Var) -> str:
        name = f"%{self.names.of(var)}"
        if var.type_annotation is not None:
            return f"{name}: {self.type(var.type_annotation)}"
        return name

    # ---- blocks

    def block(self, expr: Any) -> Task[str]:
        lines = yield self._scope(expr)
        return "{\n" + "\n".join(_indented(lines)) + "\n}"

    def signature_and_body(self, function: Function) -> Task[str]:
        """Everything of a function but `fn` or `def @f`."""
        type_params = self._type_params(function.type_params)
        params = [self._typed(p) + ("" if p.type_annotation is not None else self._comment(p)) for p in function.params]
        params += [f"{key}={show_value(content)}" for key, content in function.attrs.items()]
        result = f" -> {self.type(function.ret_annotation)}" if function.ret_annotation is not None else ""
        where = f" where {', '.join(function.where)}" if function.where else ""
        body = yield self.block(function.body)
        return f"{type_params}({', '.join(params)}){result}{where} {body}"

    def _match(self, node: Match) -> Task[str]:
        lines: list[str] = []
        for clause in node.clauses:
            body = yield self.block(clause.rhs)
            lines += f"{self.pattern(clause.lhs)} => {body},".split("\n")
        word = "match" if node.complete else "match?"
        return f"{word} ({self._texts[node.data]}) {{\n" + "\n".join(_indented(lines)) + f"\n}}{self._comment(node)}"

    def pattern(self, pattern: Pattern) -> str:
        match pattern:
            case PatternVar():
                return self._typed(pattern.var)
            case PatternConstructor():
                inner = ", ".join(self.pattern(p) for p in pattern.patterns)
                return f"{pattern.constructor.name_hint}({inner})" if inner else pattern.constructor.name_hint
            case PatternTuple():
                return f"({', '.join(self.pattern(p) for p in pattern.patterns)})"
            case _:
                return "_"


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


def _is_inline(node: Any, texts: dict[Any, str]) -> bool:
    """Unshared tuples and projections of simple things stay in place."""
    if isinstance(node, TupleGetItem):
        return texts[node.tuple_value].startswith("%")
    simple = all(len(texts[f]) < 80 and "(" not in texts[f] for f in node.fields) if isinstance(node, Tuple) else False
    return simple or (
        isinstance(node, Call) and isinstance(node.op, Constructor) and not node.args and not node.type_args
    )
