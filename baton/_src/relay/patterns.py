"""The pattern language over Relay programs (`tvm.relay.dataflow_pattern`): what patterns say.

    conv = is_op("nn.conv2d")(wildcard(), is_constant())
    relu = is_op("nn.relu")(conv | is_op("add")(conv, wildcard()))
    relu.match(expr);  relu.partition(expr);  rewrite(callback, expr)

Patterns are plain objects; one that occurs twice must match the same expression both times. `pattern_match` decides,
`pattern_rewrite` rewrites and partitions. Source: facts relay-language §11.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import Any, ClassVar, TypeVar, dataclass_transform

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.types import Type
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import literal
from baton._src.values.dtype import DataType


def must_be_pattern(value: Any, place: str) -> None:
    """Error `relay-pattern`, a TypeError, for anything else, which would match nothing."""
    if not isinstance(value, DFPattern):
        message = f"{place} takes patterns, got {type(value).__name__}"
        raise fail("relay-pattern", message, help="is_expr(e) matches the expression e", kind=TypeError)


class DFPattern:
    """Any pattern; compared by identity. What `match`, `rewrite` and `partition` do is bound by `driver.wiring`."""

    __slots__ = ()
    matching: ClassVar[Callable[..., bool]]
    rewriting: ClassVar[Callable[..., Any]]
    partitioning: ClassVar[Callable[..., Any]]
    pattern_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that hold a pattern, or several of them."""

    def __post_init__(self) -> None:
        for name in self.pattern_fields:
            content = getattr(self, name)
            for one in content if isinstance(content, (list, tuple)) else (content,):
                if one is not None:
                    must_be_pattern(one, f"{name} of a {type(self).__name__}")

    def match(self, expr: GraphExpr) -> bool:
        """Whether `expr` as a whole matches."""
        return type(self).matching(self, expr)

    def rewrite(self, callback: Callable[[Any, Any, Any], Any], expr: GraphExpr) -> Any:
        """`expr` with `callback(pre, post, node_map)` in place of every match, until nothing changes."""
        return type(self).rewriting(self, callback, expr)

    def partition(
        self,
        expr: GraphExpr,
        attrs: Mapping[str, Any] | None = None,
        check: Callable[[Any], bool] = lambda matched: True,
    ) -> Any:
        """`expr` with every match as a call of a function of its own."""
        return type(self).partitioning(self, expr, attrs, check)

    def __call__(self, *args: Any) -> CallPattern:
        """A call of what this matches. `p(None)` allows any arguments."""
        return CallPattern(self, None if args == (None,) else tuple(args))

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, other)

    def __add__(self, other: DFPattern) -> CallPattern:
        return is_op("add")(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return is_op("subtract")(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return is_op("multiply")(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return is_op("divide")(self, other)

    def has_attr(self, attrs: Mapping[str, Any]) -> AttrPattern:
        """With these attributes, among others."""
        return AttrPattern(self, dict(attrs))

    def has_type(self, ttype: Type) -> TypePattern:
        """What matches this pattern and has this type."""
        if not isinstance(ttype, Type):
            raise fail("relay-pattern", f"has_type takes a type, got {type(ttype).__name__}", kind=TypeError)
        return TypePattern(self, ttype)

    def has_dtype(self, dtype: object) -> DataTypePattern:
        """What matches this pattern and is a tensor of this dtype."""
        return DataTypePattern(self, DataType(dtype))

    def has_shape(self, shape: Any) -> ShapePattern:
        """What matches this pattern and is a tensor of this shape."""
        if not isinstance(shape, (tuple, list)):
            raise fail("relay-pattern", f"has_shape takes a shape, got {type(shape).__name__}", kind=TypeError)
        return ShapePattern(self, tuple(literal(d) for d in shape))

    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """This, or what `option_constructor` makes around it."""
        return self | option_constructor(self)

    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
        """Everything that flows from `parent` comes here, through nodes that match `path`."""
        return DominatorPattern(parent, path if path is not None else wildcard(), self)


T = TypeVar("T")
_PATTERN_TYPES = ("DFPattern", "tuple[DFPattern")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def _pattern(cls: type[T]) -> type[T]:
    made: Any = dataclass(frozen=True, eq=False)(cls)
    made.pattern_fields = tuple(f.name for f in fields(made) if str(f.type).startswith(_PATTERN_TYPES))
    found: type[T] = made
    return found


@_pattern
class WildcardPattern(DFPattern):
    """Matches anything. `redirect_to` makes it another pattern later, for recursive patterns."""

    target: list[DFPattern] = field(default_factory=list)

    def redirect_to(self, pattern: DFPattern) -> None:
        """Match what `pattern` does from now on: so patterns mention themselves."""
        must_be_pattern(pattern, "redirect_to")
        self.target[:] = [pattern]


@_pattern
class ExprPattern(DFPattern):
    """An expression structurally equal to this one (operators: of the same name)."""

    expr: Any


@_pattern
class VarPattern(DFPattern):
    """A variable, of this name unless empty."""

    name_hint: str = ""


@_pattern
class ConstantPattern(DFPattern):
    """A constant."""


@_pattern
class CallPattern(DFPattern):
    """A call; `args` None: of anything."""

    op: DFPattern
    args: tuple[DFPattern, ...] | None


@_pattern
class FunctionPattern(DFPattern):
    """A function literal; `params` None: any parameters."""

    params: tuple[DFPattern, ...] | None
    body: DFPattern


@_pattern
class LetPattern(DFPattern):
    """A let."""

    var: DFPattern
    value: DFPattern
    body: DFPattern


@_pattern
class IfPattern(DFPattern):
    """An if."""

    cond: DFPattern
    true_branch: DFPattern
    false_branch: DFPattern


@_pattern
class TuplePattern(DFPattern):
    """A tuple; `fields` None: of any length."""

    fields: tuple[DFPattern, ...] | None

    def __len__(self) -> int:
        return len(self.fields or ())

    def __getitem__(self, index: int) -> DFPattern:
        return (self.fields or ())[index]


@_pattern
class TupleGetItemPattern(DFPattern):
    """A projection; `index` None: any."""

    tuple_value: DFPattern
    index: int | None = None


@_pattern
class AltPattern(DFPattern):
    """Either."""

    left: DFPattern
    right: DFPattern


@_pattern
class AttrPattern(DFPattern):
    """What matches `pattern` and has these attributes (of the call, the function or the operator)."""

    pattern: DFPattern
    attrs: Mapping[str, Any]


@_pattern
class TypePattern(DFPattern):
    """What matches `pattern` and has this type."""

    pattern: DFPattern
    ttype: Type


@_pattern
class DataTypePattern(DFPattern):
    """What matches `pattern` and is a tensor of this dtype."""

    pattern: DFPattern
    dtype: DataType


@_pattern
class ShapePattern(DFPattern):
    """What matches `pattern` and is a tensor of this shape."""

    pattern: DFPattern
    shape: Any


@_pattern
class DominatorPattern(DFPattern):
    """`child`, to which everything leads that flows from `parent`, through `path`."""

    parent: DFPattern
    path: DFPattern
    child: DFPattern


def wildcard() -> WildcardPattern:
    """Anything."""
    return WildcardPattern()


def is_var(name: str = "") -> VarPattern:
    """A variable; with a name, one of that name."""
    return VarPattern(name)


def is_constant() -> ConstantPattern:
    """Any constant."""
    return ConstantPattern()


def is_expr(expr: GraphExpr) -> ExprPattern:
    """An expression structurally equal to `expr`."""
    return ExprPattern(expr)


def is_op(op_name: str) -> ExprPattern:
    """The operator of this name; called with patterns, a call of it on arguments that match them. Error: there is no
    such operator."""
    return ExprPattern(Op.lookup(op_name))


def is_tuple(fields: Any = None) -> TuplePattern:
    """A tuple whose fields match `fields`; any tuple without them."""
    return TuplePattern(None if fields is None else tuple(fields))


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """Field `index` of a tuple; any field without it."""
    return TupleGetItemPattern(tuple_value, index)


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> IfPattern:
    """A conditional whose three parts match."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """A binding whose three parts match."""
    return LetPattern(var, value, body)


def _or_anything(pattern: DFPattern | None) -> DFPattern:
    return wildcard() if pattern is None else pattern


def has_type(ttype: Type, pattern: DFPattern | None = None) -> TypePattern:
    """What matches `pattern` and has this type; needs an inferred program."""
    return _or_anything(pattern).has_type(ttype)


def has_dtype(dtype: object, pattern: DFPattern | None = None) -> DataTypePattern:
    """What matches `pattern` and is a tensor of this dtype."""
    return _or_anything(pattern).has_dtype(dtype)


def has_shape(shape: Any, pattern: DFPattern | None = None) -> ShapePattern:
    """What matches `pattern` and is a tensor of this shape."""
    return _or_anything(pattern).has_shape(shape)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """What matches `pattern` and has at least these attributes."""
    return _or_anything(pattern).has_attr(attrs)


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DominatorPattern:
    """`child`, where all that flows from `parent` reaches it, through nodes that match `path`."""
    return DominatorPattern(parent, path, child)
