"""Types of Relay (and the erased view of Relax's StructInfo). Names and fields follow `tvm.ir` v0.19."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Any, ClassVar

from baton._src.ir.array import Array
from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.node import Node, binder, init_field, node, note, part
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.support.spans import Span
from baton._src.values.dtype import DataType


class TypeKind(IntEnum):
    """The kinds of types a type variable ranges over."""

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Constraint = 4
    AdtHandle = 5
    TypeData = 6
    Shape = 3


@node
class Type(Node):
    """Any type. `==` compares what is written (as in TVM); in dictionaries a type is itself, as every node."""

    span: Span | None = note(kw_only=True, default=None)
    equal: ClassVar[Callable[[Type, Type], bool]] = staticmethod(lambda left, right: left is right)
    """Structural equality; bound by `driver.wiring`."""

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Type) and Type.equal(self, other))

    def __hash__(self) -> int:
        return object.__hash__(self)


@node
class PrimType(Type):
    """A scalar of TIR."""

    dtype: DataType


@node
class PointerType(Type):
    """A pointer of TIR."""

    element_type: Type
    storage_scope: str = ""


def not_a_dim(given: object) -> DiagnosticError:
    """The error for a string or a float used as a dim."""
    return fail(
        "api", f"a dim must be an integer, a variable or relay.Any(), got {given!r}",
        help=f'dims with names are variables: tir.Var("{given}", "int32")' if isinstance(given, str) else None,
        kind=TypeError,
    )  # fmt: skip


@node
class TensorType(Type):
    """A tensor: dims are ints (`IntImm`), variables or `Any` (`?`); `()` is a scalar.

    `shape` is a tuple of PrimExprs and `dtype` a DataType, except in polymorphic Relay functions: there either may be
    a `TypeVar` (or, while types are inferred, an `IncompleteType`) of kind Shape or BaseType.
    """

    shape: Any
    dtype: Any = DataType("float32")
    dim: ClassVar[Callable[[int], PrimExpr]]
    """The `IntImm` of a number; bound by `driver.wiring`."""

    def __post_init__(self) -> None:
        if type(self.dtype) is str:
            init_field(self, "dtype", DataType(self.dtype))
        shape = self.shape
        if isinstance(shape, (list, tuple)):
            kinds = set(map(type, shape))
            if not kinds.isdisjoint((str, float)):
                raise not_a_dim(next(d for d in shape if isinstance(d, (str, float))))
            if type(shape) is not Array or int in kinds:
                init_field(self, "shape", Array(TensorType.dim(d) if isinstance(d, int) else d for d in shape))

    @property
    def concrete_shape(self) -> tuple[int, ...]:
        """The dims as numbers; `TypeError` if one is not known."""
        return tuple(int(dim) for dim in self.shape)


@node
class TupleType(Type):
    """A tuple; no fields is the unit type."""

    fields: tuple[Type, ...]

    def __init__(self, fields: Iterable[Type] = (), span: Span | None = None) -> None:
        init_field(self, "fields", Array(fields))
        init_field(self, "span", span)


@node
class TypeVar(Type):
    """A type parameter."""

    is_variable: ClassVar[bool] = True

    name_hint: str
    kind: TypeKind = TypeKind.Type


@node
class GlobalTypeVar(Type):
    """The name of an ADT of the module."""

    name_hint: str
    kind: TypeKind = TypeKind.AdtHandle

    def __call__(self, *args: Type) -> TypeCall:
        """The type for these arguments: `List(int32)`."""
        return TypeCall(self, args)


@node
class IncompleteType(Type):
    """A hole that inference fills."""

    kind: TypeKind = TypeKind.Type


@node
class TypeConstraint(Type):
    """Something that has to hold between types."""


@node
class TypeRelation(TypeConstraint):
    """`func(args, num_inputs, attrs, reporter) -> bool`; the last `len(args) - num_inputs` types are outputs."""

    func: Any
    args: tuple[Type, ...]
    num_inputs: int
    attrs: object = None


@node
class FuncType(Type):
    """`fn<type_params>(arg_types) -> ret_type where type_constraints`"""

    arg_types: tuple[Type, ...]
    ret_type: Type
    type_params: tuple[TypeVar, ...] = binder(default=())
    type_constraints: tuple[TypeConstraint, ...] = ()

    def __init__(
        self,
        arg_types: Iterable[Type],
        ret_type: Type,
        type_params: Iterable[TypeVar] | None = None,
        type_constraints: Iterable[TypeConstraint] | None = None,
        span: Span | None = None,
    ) -> None:
        init_field(self, "span", span)
        init_field(self, "arg_types", Array(arg_types))
        init_field(self, "ret_type", ret_type)
        init_field(self, "type_params", Array(type_params or ()))
        init_field(self, "type_constraints", tuple(type_constraints or ()))


@node
class RelayRefType(Type):
    """A mutable cell holding a `value`."""

    value: Type


@node
class TypeCall(Type):
    """An ADT (or type variable) applied to arguments: `List[int32]`."""

    func: Type
    args: tuple[Type, ...]


@node
class Constructor(GraphExpr):
    """One constructor of an ADT; `tag` distinguishes it from all others, once its `TypeData` exists (-1 before)."""

    name_hint: str
    inputs: tuple[Type, ...]
    belong_to: GlobalTypeVar
    tag: int = part(kw_only=True, default=-1)

    call: ClassVar[Callable[[Constructor, tuple[object, ...]], GraphExpr]]
    """Builds `constructor(a, b)`, a call in Relay; bound by `driver.wiring`."""

    def __call__(self, *args: object) -> GraphExpr:
        """An instance with these fields."""
        return type(self).call(self, args)


@node
class TypeData(Type):
    """The definition of an ADT."""

    header: GlobalTypeVar
    type_vars: tuple[TypeVar, ...] = binder()
    constructors: tuple[Constructor, ...] = part(kw_only=True)

    def __init__(
        self,
        header: GlobalTypeVar,
        type_vars: Iterable[TypeVar],
        constructors: Iterable[Constructor],
        span: Span | None = None,
    ) -> None:
        init_field(self, "header", header)
        init_field(self, "type_vars", tuple(type_vars))
        init_field(self, "constructors", tuple(constructors))
        init_field(self, "span", span)
        first = zlib.crc32(header.name_hint.encode()) % (1 << 22) << 8
        for position, constructor in enumerate(self.constructors):
            if constructor.tag < 0:
                init_field(constructor, "tag", first + position)
