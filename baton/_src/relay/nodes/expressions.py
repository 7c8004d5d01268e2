"""Expressions of Relay except functions and matches."""

from __future__ import annotations

import operator
from typing import Any, ClassVar, Self, SupportsIndex

from baton._src.ir.array import Array
from baton._src.ir.attrs import Attrs, OpenAttrs
from baton._src.ir.expr import GraphExpr, Op, variable_name
from baton._src.ir.node import Node, binder, init_field, node, note, part
from baton._src.ir.operators import Operators
from baton._src.ir.types import Type
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.values.tensor import NDArray


@node
class Expr(GraphExpr, Operators[object, "Call"]):
    """Any Relay expression; `checked_type` is filled by type inference."""

    is_graph_node: ClassVar[bool] = True

    def __call__(self, *args: Any) -> Call:
        return Call(self, args)


def init_fields(made: Expr, span: Span | None, **parts: Any) -> None:
    """Set the fields of a new expression; its type is not inferred yet."""
    for name, content in parts.items():
        init_field(made, name, content)
    init_field(made, "span", span)
    init_field(made, "checked_type_", None)
    init_field(made, "struct_info_", None)


@node
class Constant(Expr):
    """A tensor literal."""

    is_graph_node: ClassVar[bool] = False

    data: NDArray

    def __init__(self, data: NDArray, span: Span | None = None) -> None:
        init_fields(self, span, data=data)


def _annotation(given: Any) -> Type | None:
    if given is None or isinstance(given, Type):
        return given
    help = "relay.TensorType((1, 3)); or relay.var(name, shape=(1, 3))"
    raise fail("api", f"a variable is annotated with a type, not with {given!r}", help=help)


@node
class Var(Expr):
    """A local variable (`%name_hint` in text): free, or bound by a function, a let or a pattern."""

    is_variable: ClassVar[bool] = True
    is_graph_node: ClassVar[bool] = False

    compared_as: ClassVar[dict[str, str]] = {"type_annotation": "declared_type"}

    name_hint: str
    type_annotation: Type | None = None

    def __init__(self, name_hint: str, type_annotation: Type | None = None, span: Span | None = None) -> None:
        init_fields(self, span, name_hint=variable_name(name_hint), type_annotation=_annotation(type_annotation))

    @property
    def vid(self) -> Var:
        """The variable itself: variables compare by identity, while TVM has a separate `Id` object."""
        return self

    @property
    def declared_type(self) -> Type | None:
        """The annotated type, else the inferred one (None before inference)."""
        found: Type | None = self.type_annotation if self.type_annotation is not None else self.checked_type_
        return found


def as_expr(part: Any) -> Any:
    """`part` if it is a node; of a TupleWrapper (`ops.tuple_wrapper`, in a later layer) the tuple it wraps.

    Raises `DiagnosticError` (`relay-node`) for anything else: numbers, strings, arrays.
    """
    if isinstance(part, Node):
        return part
    if hasattr(part, "astuple"):
        return part.astuple()
    help = (
        "relay.const(value) makes an expression of a number or an array, relay.op.get(name) one of an operator's name"
    )
    raise fail("relay-node", f"{part!r:.60}, of class {type(part).__name__}, is not a Relay expression", help=help)


def nodes_of(parts: Any, what: str) -> tuple[Any, ...]:
    """`parts` as a tuple of nodes; `what` names them in errors. A single expression (a frequent slip) is an error."""
    try:
        return Array([p if isinstance(p, Node) else as_expr(p) for p in parts])
    except TypeError:
        raise fail("api", f"{what} are given as a list, not as a {type(parts).__name__}", help="write [x]") from None


def expect_variables(found: tuple[Any, ...]) -> tuple[Any, ...]:
    """`found`, if all of them are variables; else an error (`api`)."""
    for variable in found:
        if not isinstance(variable, Var):
            help = "make variables with relay.var(name, shape=..., dtype=...)"
            raise fail("api", f"only variables can be bound, not {variable!r} ({type(variable).__name__})", help=help)
    return found


@node
class Tuple(Expr):
    """(a, b, ...)"""

    fields: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.fields)

    def __bool__(self) -> bool:
        return True  # an expression, whether it has fields or not

    def __getitem__(self, index: int) -> Any:
        if index >= len(self.fields):
            raise IndexError(f"field {index} of a tuple of {len(self.fields)}")
        return self.fields[index]

    def __init__(self, fields: Any, span: Span | None = None) -> None:
        init_fields(self, span, fields=nodes_of(fields, "the fields of a tuple"))


@node
class TupleGetItem(Expr):
    """tuple_value.index"""

    tuple_value: Any
    index: int

    def __init__(self, tuple_value: Any, index: int, span: Span | None = None) -> None:
        if not isinstance(index, SupportsIndex):
            raise fail("api", f"a tuple is indexed by a constant integer, not by {index!r}")
        init_fields(self, span, tuple_value=as_expr(tuple_value), index=operator.index(index))


@node
class Call(Expr):
    """op(args): an operator, a function, a closure or a constructor applied."""

    op: Any
    args: tuple[Any, ...]
    attrs: Any = None
    written_type_args: tuple[Type, ...] = ()
    """Explicit type arguments for the callee's type parameters: `type_args` of the constructor."""
    chosen_type_args: tuple[Type, ...] = note(kw_only=True, default=())
    """The type arguments that inference chose."""

    def __init__(self, op: Any, args: Any, attrs: Any = None, type_args: Any = None, span: Span | None = None) -> None:
        put = object.__setattr__  # as init_field does; calls are what long programs are made of
        put(self, "op", op if isinstance(op, Node) else as_expr(op))
        put(self, "args", nodes_of(args, "the arguments of a call"))
        put(self, "attrs", attrs.in_relay() if isinstance(attrs, Attrs) else _attributes(op, attrs))
        imposed = type_args and not isinstance(type_args, InferredTypes) and not isinstance(op, Op)
        put(self, "written_type_args", tuple(type_args) if imposed else ())
        put(self, "chosen_type_args", ())
        put(self, "span", span)
        put(self, "checked_type_", None)
        put(self, "struct_info_", None)

    @property
    def type_args(self) -> tuple[Type, ...]:
        """The type arguments, explicit or else inferred (empty before inference); of an operator its arguments' types.

        Passes copy `written_type_args`. A call constructed from inferred ones (`InferredTypes`) drops them and infers
        again: passes of users copy `type_args` even where they change the arguments.
        """
        if self.written_type_args or self.checked_type_ is None:
            return self.written_type_args
        if not isinstance(self.op, Op):
            return InferredTypes(self.chosen_type_args)
        found = [argument.checked_type_ for argument in self.args]
        return InferredTypes(() if any(t is None for t in found) else found)


def _attributes(op: Any, given: Any) -> Any:
    """Attributes that are not a record: those of an operator of a script's own become what its text reads as."""
    if isinstance(given, dict) and isinstance(op, Op) and getattr(op.definition, "attrs", None) is OpenAttrs:
        return OpenAttrs(**given) if given else None
    return given


class InferredTypes(tuple[Type, ...]):
    """Type arguments that were inferred, not written in the program."""

    __slots__ = ()


@node
class Let(Expr):
    """let var = value; body. The variable is in scope in `value` if that is a function (recursion)."""

    var: Var = binder()
    value: Any = part(kw_only=True)
    body: Any = part(kw_only=True)

    def __init__(self, variable: Var, value: GraphExpr, body: GraphExpr, span: Span | None = None) -> None:
        expect_variables((variable,))
        init_fields(self, span, var=variable, value=as_expr(value), body=as_expr(body))


@node
class If(Expr):
    """if (cond) { true_branch } else { false_branch }"""

    cond: Any
    true_branch: Any
    false_branch: Any

    def __init__(self, cond: Any, true_branch: Any, false_branch: Any, span: Span | None = None) -> None:
        branches = {"true_branch": as_expr(true_branch), "false_branch": as_expr(false_branch)}
        init_fields(self, span, cond=as_expr(cond), **branches)


@node
class RefCreate(Expr):
    """ref(value)"""

    value: Any

    def __init__(self, value: GraphExpr, span: Span | None = None) -> None:
        init_fields(self, span, value=as_expr(value))


@node
class RefRead(Expr):
    """ref_read(ref)"""

    ref: Any

    def __init__(self, ref: Any, span: Span | None = None) -> None:
        init_fields(self, span, ref=as_expr(ref))


@node
class RefWrite(Expr):
    """ref_write(ref, value); its value is ()."""

    ref: Any
    value: Any

    def __init__(self, ref: Any, value: GraphExpr, span: Span | None = None) -> None:
        init_fields(self, span, ref=as_expr(ref), value=as_expr(value))


@node
class TempExpr(Expr):
    """A temporary expression: a pass inserts it and must replace it by `realize()` before it ends.

    A subclass declares its state as fields (`@node`), or sets plain Python attributes.
    """

    def __new__(cls, *state: Any, **named_state: Any) -> Self:
        """Initialises the notes here, as a subclass's `__init__` need not call this class's."""
        made = object.__new__(cls)
        init_fields(made, None)
        return made

    def realize(self) -> Expr:
        """The ordinary expression in its place; subclasses override it."""
        raise fail("RELAY-TEMP-1", f"{type(self).__name__} does not say how to realise itself")
