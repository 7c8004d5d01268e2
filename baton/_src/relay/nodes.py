"""The expressions of Relay (seed 004). Names and fields follow `tvm.relay` v0.19; types are in `ir.types`."""

from __future__ import annotations

import operator
from typing import Any, ClassVar, Self, SupportsIndex

from baton._src.ir.attrs import DictAttrs
from baton._src.ir.expr import GlobalVar, GraphExpr, Op, Operators
from baton._src.ir.node import Node, binder, init_field, node, note, part
from baton._src.ir.types import Constructor, FuncType, TensorType, Type, TypeVar, not_a_dim
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.tir.expr import literal
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray


@node
class Expr(GraphExpr, Operators):
    """Any Relay expression; `checked_type` is filled by type inference."""

    is_graph_node: ClassVar[bool] = True

    def __call__(self, *args: Any) -> Call:
        return Call(self, args)


def _fill(made: Expr, span: Span | None, **parts: Any) -> None:
    """The fields of a new expression, of which nothing is inferred yet."""
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
        _fill(self, span, data=data)


@node
class Var(Expr):
    """A local variable; `%name_hint` in text. Free, or bound by a function, a let or a pattern."""

    is_variable: ClassVar[bool] = True
    is_graph_node: ClassVar[bool] = False

    compared_as: ClassVar[dict[str, str]] = {"type_annotation": "declared_type"}

    name_hint: str
    type_annotation: Type | None = None

    def __init__(self, name_hint: str, type_annotation: Type | None = None, span: Span | None = None) -> None:
        _fill(self, span, name_hint=name_hint, type_annotation=type_annotation)

    @property
    def vid(self) -> Var:
        """What makes it this variable and no other: itself. TVM's variables have an object for it."""
        return self

    @property
    def declared_type(self) -> Type | None:
        """The annotation, or what was inferred in its place."""
        found: Type | None = self.type_annotation if self.type_annotation is not None else self.checked_type_
        return found


def as_expr(part: Any) -> Any:
    """The tuple itself where a builder's wrapper around one is given (`ops.tuple_wrapper`, of a later layer).

    Raises `DiagnosticError` (`relay-node`) for what is no node: numbers, texts, arrays.
    """
    if isinstance(part, Node):
        return part
    if hasattr(part, "astuple"):
        return part.astuple()
    help = (
        "relay.const(value) makes an expression of a number or an array, relay.op.get(name) one of an operator's name"
    )
    raise fail("relay-node", f"{part!r:.60}, of class {type(part).__name__}, is not a Relay expression", help=help)


def _listed(parts: Any, what: str) -> tuple[Any, ...]:
    """`parts` as a tuple; one expression where a list of them is wanted is a frequent slip."""
    try:
        return tuple([p if isinstance(p, Node) else as_expr(p) for p in parts])
    except TypeError:
        raise fail("api", f"{what} are given as a list, not as a {type(parts).__name__}", help="write [x]") from None


def _variables(found: tuple[Any, ...]) -> tuple[Any, ...]:
    """`found`, all of which must be variables."""
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
        _fill(self, span, fields=_listed(fields, "the fields of a tuple"))


@node
class TupleGetItem(Expr):
    """tuple_value.index"""

    tuple_value: Any
    index: int

    def __init__(self, tuple_value: Any, index: int, span: Span | None = None) -> None:
        if not isinstance(index, SupportsIndex):
            raise fail("api", f"a tuple is indexed by a constant integer, not by {index!r}")
        _fill(self, span, tuple_value=as_expr(tuple_value), index=operator.index(index))


@node
class Call(Expr):
    """op(args): an operator, a function, a closure or a constructor applied."""

    op: Any
    args: tuple[Any, ...]
    attrs: Any = None
    written_type_args: tuple[Type, ...] = ()
    """Types written down for the callee's type parameters: `type_args` of the constructor."""
    chosen_type_args: tuple[Type, ...] = note(kw_only=True, default=())
    """Types that inference chose for them."""

    def __init__(self, op: Any, args: Any, attrs: Any = None, type_args: Any = None, span: Span | None = None) -> None:
        put = object.__setattr__  # as init_field does; calls are what long programs are made of
        put(self, "op", op if isinstance(op, Node) else as_expr(op))
        put(self, "args", _listed(args, "the arguments of a call"))
        put(self, "attrs", attrs)
        imposed = type_args and not isinstance(type_args, InferredTypes) and not isinstance(op, Op)
        put(self, "written_type_args", tuple(type_args) if imposed else ())
        put(self, "chosen_type_args", ())
        put(self, "span", span)
        put(self, "checked_type_", None)
        put(self, "struct_info_", None)

    @property
    def type_args(self) -> tuple[Type, ...]:
        """The types of the callee's type parameters, as written down or else as inferred (none before). An operator has
        a parameter for each argument: they are the arguments' types.

        Passes copy `written_type_args`. A call made with types that were only inferred infers them again, since passes
        of users copy `type_args` whatever they do to the arguments.
        """
        if self.written_type_args or self.checked_type_ is None:
            return self.written_type_args
        if not isinstance(self.op, Op):
            return InferredTypes(self.chosen_type_args)
        found = [argument.checked_type_ for argument in self.args]
        return InferredTypes(() if any(t is None for t in found) else found)


class InferredTypes(tuple[Type, ...]):
    """Types that follow from the rest of the program."""

    __slots__ = ()


@node
class Let(Expr):
    """let var = value; body. The variable is in scope in `value` if that is a function (recursion)."""

    var: Var = binder()
    value: Any = part(kw_only=True)
    body: Any = part(kw_only=True)

    def __init__(self, variable: Var, value: Any, body: Any, span: Span | None = None) -> None:
        _variables((variable,))
        _fill(self, span, var=variable, value=as_expr(value), body=as_expr(body))


@node
class If(Expr):
    """if (cond) { true_branch } else { false_branch }"""

    cond: Any
    true_branch: Any
    false_branch: Any

    def __init__(self, cond: Any, true_branch: Any, false_branch: Any, span: Span | None = None) -> None:
        branches = {"true_branch": as_expr(true_branch), "false_branch": as_expr(false_branch)}
        _fill(self, span, cond=as_expr(cond), **branches)


@node
class Function(Expr):
    """fn [type_params] (params) -> ret_type { body }"""

    compared_as: ClassVar[dict[str, str]] = {"ret_annotation": "ret_type"}

    params: tuple[Var, ...] = binder()
    body: Any = part(kw_only=True)
    ret_annotation: Type | None = part(kw_only=True, default=None)
    """The type of the result, if it was written down: `ret_type` of the constructor."""
    type_params: tuple[TypeVar, ...] = binder(default=())
    attrs: Any = part(kw_only=True, default=None)
    where: tuple[str, ...] = part(kw_only=True, default=())
    """Names of type relations that the parameters and the result must satisfy (seed 004, `where Broadcast`)."""

    def __init__(
        self,
        params: Any,
        body: Any,
        ret_type: Type | None = None,
        type_params: Any = None,
        attrs: Any = None,
        span: Span | None = None,
        *,
        where: tuple[str, ...] = (),
    ) -> None:
        _fill(
            self,
            span,
            params=_variables(_listed(params, "the parameters of a function")),
            body=as_expr(body),
            ret_annotation=ret_type,
            type_params=tuple(type_params or ()),
            attrs=DictAttrs(attrs or {}),
            where=tuple(where),
        )

    @property
    def ret_type(self) -> Type | None:
        """The type of the result: as written down, else as inferred (None before, and where it is generalised).

        Passes copy `ret_annotation`: what was only inferred follows from the new body.
        """
        if self.ret_annotation is not None or not isinstance(self.checked_type_, FuncType):
            return self.ret_annotation
        inferred = self.checked_type_
        return inferred.ret_type if inferred.type_params == self.type_params else None

    def with_attr(self, key: Any, content: object = None) -> Function:
        """A copy with attributes added."""
        added = key if isinstance(key, dict) else {key: content}
        return self.with_fields(attrs=DictAttrs({**self.attrs, **added}))

    def without_attr(self, attr_key: str) -> Function:
        """A copy without an attribute."""
        return self.with_fields(attrs=DictAttrs({k: v for k, v in self.attrs.items() if k != attr_key}))


@node
class RefCreate(Expr):
    """ref(value)"""

    value: Any

    def __init__(self, value: Any, span: Span | None = None) -> None:
        _fill(self, span, value=as_expr(value))


@node
class RefRead(Expr):
    """ref_read(ref)"""

    ref: Any

    def __init__(self, ref: Any, span: Span | None = None) -> None:
        _fill(self, span, ref=as_expr(ref))


@node
class RefWrite(Expr):
    """ref_write(ref, value); its value is ()."""

    ref: Any
    value: Any

    def __init__(self, ref: Any, value: Any, span: Span | None = None) -> None:
        _fill(self, span, ref=as_expr(ref), value=as_expr(value))


@node
class Pattern(Node):
    """The left side of a match clause."""

    span: Span | None = note(kw_only=True, default=None)


@node
class PatternWildcard(Pattern):
    """_"""


@node
class PatternVar(Pattern):
    """%var"""

    var: Var = binder()


@node
class PatternConstructor(Pattern):
    """Constructor(patterns)"""

    constructor: Constructor
    patterns: tuple[Pattern, ...] = ()

    def __init__(self, constructor: Constructor, patterns: Any = None, span: Span | None = None) -> None:
        init_field(self, "constructor", constructor)
        init_field(self, "patterns", tuple(patterns or ()))
        init_field(self, "span", span)


@node
class PatternTuple(Pattern):
    """(patterns)"""

    patterns: tuple[Pattern, ...]

    def __init__(self, patterns: Any = None, span: Span | None = None) -> None:
        init_field(self, "patterns", tuple(patterns or ()))
        init_field(self, "span", span)


@node
class Clause(Node):
    """lhs => rhs"""

    lhs: Pattern = binder()
    rhs: Any = part(kw_only=True)

    def __init__(self, lhs: Pattern, rhs: Any) -> None:
        init_field(self, "lhs", lhs)
        init_field(self, "rhs", rhs)


@node
class Match(Expr):
    """match (data) { clauses }; `complete` promises that every case is covered."""

    data: Any
    clauses: tuple[Clause, ...]
    complete: bool = True

    def __init__(self, data: Any, clauses: Any, complete: bool = True, span: Span | None = None) -> None:
        _fill(self, span, data=as_expr(data), clauses=tuple(clauses), complete=complete)


@node
class TempExpr(Expr):
    """Something a pass inserts and must take out again; `realize()` gives the ordinary expression.

    A subclass declares its state as fields (`@node`) or keeps it in attributes of its own, as Python classes do.
    """

    def __new__(cls, *state: Any, **named_state: Any) -> Self:
        """Whatever `__init__` a subclass has, nothing is said about the expression yet."""
        made = object.__new__(cls)
        _fill(made, None)
        return made

    def realize(self) -> Expr:
        """The expression it stands for; to be overridden."""
        raise fail("RELAY-TEMP-1", f"{type(self).__name__} does not say how to realise itself")


def var(
    name_hint: str,
    type_annotation: Any = None,
    shape: Any = None,
    dtype: object = "float32",
    span: Span | None = None,
) -> Var:
    """A variable. With `shape` (ints, PrimExprs or `relay.Any()`) a tensor of `dtype`; without, its type is inferred.

    A string as `type_annotation` is the dtype of a scalar. Source: `relay.var`, seed 003.
    """
    if type_annotation is not None and shape is not None:
        raise fail("api", "relay.var takes either a type or a shape, not both", kind=ValueError)
    if shape is not None:
        type_annotation = TensorType(tensor_shape(shape), DataType(dtype))
    elif isinstance(type_annotation, str):
        type_annotation = TensorType((), DataType(type_annotation))
    return Var(name_hint, type_annotation, span=span)


def tensor_shape(shape: Any) -> Any:
    """Dims as PrimExprs: ints become int32 immediates. Error: `api` for texts and fractions."""
    dims = shape if isinstance(shape, (tuple, list)) else (shape,)
    for dim in dims:
        if isinstance(dim, (str, float)):
            raise not_a_dim(dim)
    return tuple(literal(d) for d in dims)


__all__ = [
    "Call",
    "Clause",
    "Constant",
    "Constructor",
    "Expr",
    "Function",
    "GlobalVar",
    "If",
    "Let",
    "Match",
    "Op",
    "Pattern",
    "PatternConstructor",
    "PatternTuple",
    "PatternVar",
    "PatternWildcard",
    "RefCreate",
    "RefRead",
    "RefWrite",
    "TempExpr",
    "Tuple",
    "TupleGetItem",
    "Var",
    "var",
]
