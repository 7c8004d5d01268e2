"""Expressions of Relax that contain no bindings: variables, literals, tuples, calls, branches."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeGuard

import numpy as np

from baton._src.ir.array import Array
from baton._src.ir.expr import GraphExpr, Op, PrimExpr, variable_name
from baton._src.ir.node import Node, init_field, node
from baton._src.ir.operators import Operators
from baton._src.relax.any_struct_info import StructInfo
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.tir.expr import literal
from baton._src.values.dtype import INT64, DataType
from baton._src.values.filled_tensor import unfinished
from baton._src.values.tensor import NDArray, array

_FLOAT32 = DataType("float32")


def init_fields(target: GraphExpr, span: Span | None, info: StructInfo | None = None, **fields: Any) -> None:
    """Set the fields of a new expression and its notes: source span, StructInfo if known, no checked type."""
    for name, content in fields.items():
        init_field(target, name, content)
    init_field(target, "span", span)
    init_field(target, "struct_info_", info)
    init_field(target, "checked_type_", None)


def _annotation(info: Any) -> StructInfo | None:
    if info is None or isinstance(info, StructInfo):
        return info
    message = f"a variable is annotated with a StructInfo, got {info!r}"
    raise fail("relax-api", message, help="e.g. relax.TensorStructInfo((2, 3), 'float32')", kind=TypeError)


def check_part(whole: str, name: str, given: Any, span: Span | None) -> Any:
    """`given`, the field `name` of a `whole`, if it is a node; else an error (`relax-api`).

    Which nodes are allowed there is a question of well-formedness (`relax.check`).
    """
    if isinstance(given, Node):
        return given
    message = f"{whole}.{name} is an expression, got {type(given).__name__}"
    raise fail("relax-api", message, span=span, help="wrap numbers in relax.const or PrimValue", kind=TypeError)


def as_dim(dim: Any) -> PrimExpr:
    """An int as an int64 immediate, a PrimExpr unchanged; anything else, bools included, is an error (`relax-api`)."""
    if isinstance(dim, PrimExpr):
        return dim
    try:
        if not isinstance(dim, (bool, np.bool_)):
            return literal(operator.index(dim), INT64)
    except TypeError:
        pass
    raise fail("relax-api", f"a dimension is an integer or a scalar expression, got {dim!r}")


@node
class Expr(GraphExpr, Operators[object, "Call"]):
    """Any Relax expression. Normalisation (BlockBuilder) fills in `struct_info_`."""

    deduced_alone: ClassVar[Callable[[Expr], StructInfo | None]]
    """Deduces the StructInfo of an expression outside of a builder; in a later layer: `driver.wiring` binds it."""
    tensor_field: ClassVar[Callable[[Expr, str], Any]]
    """What `x.shape` and the like are (`relax.tensor_fields`); in a later layer: `driver.wiring` binds it."""

    def own_info(self) -> Any:
        return type(self).deduced_alone(self)

    def __call__(self, *args: Any, attrs: Any = None) -> Call:
        return Call(self, args, attrs)

    def __getitem__(self, index: int) -> Any:
        """`TupleGetItem` of a field; negative indices count from the end. `IndexError` if the StructInfo has fewer."""
        fields = getattr(self.struct_info_, "fields", None)
        if fields is None:
            return TupleGetItem(self, index)
        if not -len(fields) <= operator.index(index) < len(fields):
            raise IndexError(f"a tuple of {len(fields)} fields has no field {index}")
        return TupleGetItem(self, index % len(fields))

    def __iter__(self) -> Iterator[Any]:
        """The fields of a tuple, if its StructInfo says how many there are; otherwise `TypeError`."""
        fields = self if hasattr(self, "__len__") else getattr(self.struct_info_, "fields", None)
        if fields is None:
            raise fail("relax-api", f"{self!r} is not known to be a tuple", kind=TypeError)
        return (self[i] for i in range(len(fields)))

    @property
    def dtype(self) -> Any:
        """A tensor's element type, whose `bits`, `lanes` and `type_code` are expressions."""
        return type(self).tensor_field(self, "dtype")

    @property
    def ndim(self) -> Any:
        """A tensor's rank, as an expression."""
        return type(self).tensor_field(self, "ndim")

    @property
    def shape(self) -> Any:
        """A tensor's shape, whose items are expressions."""
        return type(self).tensor_field(self, "shape")

    @property
    def strides(self) -> Any:
        """A tensor's strides in elements, whose items are expressions."""
        return type(self).tensor_field(self, "strides")

    @property
    def byte_offset(self) -> Any:
        """The bytes in front of a tensor's first element, as an expression."""
        return type(self).tensor_field(self, "byte_offset")

    @property
    def elem_offset(self) -> Any:
        """The elements in front of a tensor's first one, as an expression."""
        return type(self).tensor_field(self, "elem_offset")


@node
class Constant(Expr):
    """A tensor literal."""

    data: NDArray

    def __init__(self, data: Any, struct_info: StructInfo | None = None, span: Span | None = None) -> None:
        found = data if isinstance(data, NDArray) else array(data)
        if unfinished(found).dtype.kind in "USOMm":
            raise fail("relax-api", f"a Constant holds numbers, got {data!r}", span=span)
        init_fields(self, span, struct_info, data=found)


@node
class Var(Expr):
    """A variable; unique by identity, named `name_hint`. Its annotation is its struct info."""

    is_variable: ClassVar[bool] = True

    name_hint: str

    def __init__(self, name_hint: str, struct_info: StructInfo | None = None, span: Span | None = None) -> None:
        init_fields(self, span, _annotation(struct_info), name_hint=variable_name(name_hint))

    @property
    def vid(self) -> Var:
        """The variable itself: variables compare by identity, while TVM has a separate `Id` object."""
        return self


@node
class DataflowVar(Var):
    """A variable visible only within its DataflowBlock."""

    def __init__(self, name_hint: str, struct_info: StructInfo | None = None, span: Span | None = None) -> None:
        init_fields(self, span, _annotation(struct_info), name_hint=variable_name(name_hint))


@node
class Tuple(Expr):
    """(a, b, ...)"""

    fields: tuple[Any, ...]

    def __init__(self, fields: Any, span: Span | None = None) -> None:
        init_fields(self, span, fields=Array(fields))

    def __getitem__(self, index: int) -> Any:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)


@node
class TupleGetItem(Expr):
    """tuple_value[index]"""

    tuple_value: Any
    index: int

    def __init__(self, tuple_value: Any, index: int, span: Span | None = None) -> None:
        try:
            position = operator.index(index)
        except TypeError:
            raise fail("relax-api", f"the index of a tuple's item is an integer, got {index!r}", span=span) from None
        init_fields(self, span, tuple_value=tuple_value, index=position)


@node
class ShapeExpr(Expr):
    """A shape: dims are PrimExprs (int64)."""

    values: tuple[PrimExpr, ...]

    def __init__(self, values: Any, span: Span | None = None) -> None:
        init_fields(self, span, values=Array(as_dim(v) for v in values))

    def __getitem__(self, index: int) -> PrimExpr:
        return self.values[index]

    def __len__(self) -> int:
        return len(self.values)


@node
class PrimValue(Expr):
    """A scalar on the host, given by a PrimExpr; Python numbers become int64, float32 or bool, as in TVM."""

    value: PrimExpr

    def __init__(self, value: Any, span: Span | None = None) -> None:
        if isinstance(value, (bool, np.bool_)):
            value = literal(bool(value))
        elif isinstance(value, (int, np.integer)):
            value = literal(int(value), INT64)
        elif isinstance(value, float):
            value = literal(value, _FLOAT32)
        elif not isinstance(value, PrimExpr):
            raise fail("relax-api", f"a PrimValue holds one scalar, got {value!r}", span=span, kind=TypeError)
        init_fields(self, span, value=value)


@node
class StringImm(Expr):
    """A string."""

    value: str

    def __init__(self, value: str, span: Span | None = None) -> None:
        init_fields(self, span, value=str(value))


@node
class DataTypeImm(Expr):
    """A data type as a value."""

    value: DataType

    def __init__(self, value: object, span: Span | None = None) -> None:
        init_fields(self, span, value=DataType(value))


@node
class Call(Expr):
    """op(args): an operator, a function, a closure or a packed function applied.

    `sinfo_args` are struct infos for operators that need them (call_tir's output, a packed call's result).
    """

    op: Any
    args: tuple[Any, ...]
    attrs: Any = None
    sinfo_args: tuple[Any, ...] = ()

    def __init__(self, op: Any, args: Any, attrs: Any = None, sinfo_args: Any = (), span: Span | None = None) -> None:
        found = Array(args)
        if not isinstance(op, Node):
            help = "an operator is called by its function in relax.op, a function of the module by its GlobalVar"
            raise fail("relax-api", f"{op!r} cannot be called", span=span, help=help, kind=TypeError)
        for position, arg in enumerate(found):
            if not isinstance(arg, GraphExpr) and not _is_prim_func(arg):
                raise fail(
                    "RELAX-GRAMMAR-01",
                    f"argument {position} of a call must be a Relax expression, got {type(arg).__name__}",
                    span=span,
                    help="wrap a scalar in PrimValue, dims in ShapeExpr, an array in relax.const",
                )
        init_fields(self, span, op=op, args=found, attrs=attrs, sinfo_args=Array(sinfo_args or ()))


def is_call(value: object, *names: str) -> TypeGuard[Call]:
    """Whether it is a call of an operator of one of these names."""
    return isinstance(value, Call) and isinstance(value.op, Op) and value.op.name in names


def definition_of(value: object) -> Any:
    """What the operator that a call is of is defined by; None for anything else."""
    return value.op.definition if isinstance(value, Call) and isinstance(value.op, Op) else None


def _is_prim_func(candidate: object) -> bool:
    return type(candidate).__name__ == "PrimFunc"


@node
class If(Expr):
    """if cond: true_branch else: false_branch; cond is a boolean scalar."""

    cond: Any
    true_branch: Any
    false_branch: Any

    def __init__(self, cond: Any, true_branch: Any, false_branch: Any, span: Span | None = None) -> None:
        for name, part_ in (("cond", cond), ("true_branch", true_branch), ("false_branch", false_branch)):
            if part_ is None:
                raise fail("relax-api", f"an If needs its {name}", span=span)
            check_part("If", name, part_, span)
        init_fields(self, span, cond=cond, true_branch=true_branch, false_branch=false_branch)
