"""Variables, literals and axes; `literal` makes an expression of a Python number."""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node, binder, init_field, node, note, part
from baton._src.ir.operators import Operators
from baton._src.ir.scalar_types import read_scalar_type
from baton._src.ir.types import PointerType, PrimType, Type
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.tir import operand_rules as rules
from baton._src.values.dtype import BOOL, HANDLE, DataType


@node
class Var(PrimExpr):
    """A scalar variable (a shape variable, a loop variable, a pointer). Identity matters; the name is a hint."""

    is_variable: ClassVar[bool] = True

    name: str
    dtype: DataType = part(kw_only=True)
    pointee: DataType | None = part(kw_only=True, default=None)
    """For pointers (`handle`): the element type behind them, if known."""
    scope: str = part(kw_only=True, default="")
    """For pointers: the storage scope; empty is `global`."""

    def __init__(
        self,
        name: str = "v",
        dtype: object = "int32",
        span: Span | None = None,
        *,
        pointee: DataType | None = None,
        scope: str = "",
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"a variable's name is a string, got {type(name).__name__}")
        if isinstance(dtype, Type):
            dtype, pointee, scope = read_scalar_type(dtype)
        init_field(self, "name", name)
        init_field(self, "dtype", DataType(dtype))
        init_field(self, "pointee", pointee)
        init_field(self, "scope", "" if scope == "global" else scope)
        init_field(self, "span", span)

    @property
    def name_hint(self) -> str:
        return self.name

    @property
    def type_annotation(self) -> Type:
        """The dtype as a type: `PointerType` where what lies behind is known, else `PrimType`."""
        if self.pointee is None:
            return PrimType(self.dtype)
        return PointerType(PrimType(self.pointee), self.scope or "global")


@node
class SizeVar(Var):
    """A variable known to be >= 0 (a size)."""

    def __init__(self, name: str = "size", dtype: object = "int32", span: Span | None = None) -> None:
        Var.__init__(self, name, dtype, span)


@node
class IntImm(PrimExpr):
    """An integer (or bool, value 0 or 1) literal; `value` fits the dtype."""

    value: int

    def __init__(self, dtype: object, value: int, span: Span | None = None) -> None:
        kind = DataType(dtype)
        init_field(self, "dtype", kind)
        init_field(self, "value", rules.integer(value, kind, span))
        init_field(self, "span", span)

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __bool__(self) -> bool:
        return self.value != 0


@node
class FloatImm(PrimExpr):
    """A floating literal."""

    value: float

    def __init__(self, dtype: object, value: float, span: Span | None = None) -> None:
        kind = DataType(dtype)
        init_field(self, "dtype", kind)
        init_field(self, "value", rules.floating(value, kind, span))
        init_field(self, "span", span)

    def __float__(self) -> float:
        return self.value


@node
class StringImm(PrimExpr):
    """A string literal (arguments of calls and attributes); it equals the string."""

    value: str
    dtype: DataType = part(kw_only=True, default=HANDLE)

    def __eq__(self, other: object) -> bool:
        """Whether `other` is this string, too, as a Python string or as a literal."""
        return self.value == (other.value if isinstance(other, StringImm) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = Node.__hash__

    def __post_init__(self) -> None:
        if not isinstance(self.value, str):
            raise TypeError(f"a StringImm is made of a string, got {type(self.value).__name__}")
        init_field(self, "value", str(self.value))  # a dtype is a string as well, and prints as something else


@node
class AnyDim(PrimExpr):
    """A dim unknown until run time: Relay's `?` (TVM's `tir.Any`). Two of them are never known to be equal."""

    dtype: DataType = part(kw_only=True, default=DataType("int32"))


def literal(number: object, dtype: DataType | None = None) -> PrimExpr:
    """A Python number as a literal of `dtype` (default int32, float32 or bool, by class); expressions pass through."""
    if isinstance(number, PrimExpr):
        return number
    if isinstance(number, IterVar):
        return number.var
    if isinstance(number, str):
        return StringImm(number)
    lanes = 1 if dtype is None else dtype.lanes
    if lanes > 1 and dtype is not None:
        return Broadcast(literal(number, dtype.element), lanes)
    if hasattr(number, "item"):
        number = number.item()
    if isinstance(number, bool):
        return IntImm(BOOL, int(number)) if dtype is None or dtype.is_bool else literal(int(number), dtype)
    if isinstance(number, int):
        kind = dtype or DataType("int32")
        return FloatImm(kind, float(number)) if kind.is_float else IntImm(kind, number)
    if isinstance(number, float):
        return FloatImm(dtype if dtype is not None and dtype.is_float else "float32", number)
    raise fail("tir-operand", f"{type(number).__name__} is not a scalar expression: {number!r}")


@node
class Broadcast(PrimExpr):
    """The vector of `lanes` copies of `value`."""

    value: PrimExpr
    lanes: int

    def __post_init__(self) -> None:
        init_field(self, "value", literal(self.value))
        init_field(self, "lanes", int(self.lanes))
        rules.expect_scalar("Broadcast", self.value)
        init_field(self, "dtype", self.value.dtype.with_lanes(self.lanes))


class AxisKind(str):
    """What an axis is for, in a word; it equals TVM's number for it, too, and is one as an integer."""

    __slots__ = ("number",)
    number: int

    def __new__(cls, word: str, number: int) -> AxisKind:
        kind = super().__new__(cls, word)
        kind.number = number
        return kind

    def __eq__(self, other: object) -> bool:
        return self.number == other if isinstance(other, int) else str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __index__(self) -> int:
        return self.number

    __int__ = __index__

    def __reduce__(self) -> tuple[Any, ...]:
        return AxisKind, (str(self), self.number)


@node
class IterVar(Node, Operators["PrimExpr | IterVar | float", PrimExpr]):
    """An axis of a block or of a `te` computation: a variable over a range, data-parallel or reduced.

    `iter_type` is `spatial`, `reduce`, `scan`, `opaque`, or how a loop of a `te` schedule runs; the constants below are
    TVM's names, and its numbers are taken too. In arithmetic and as an index an axis stands for its variable.
    """

    DataPar: ClassVar[AxisKind] = AxisKind("spatial", 0)
    ThreadIndex: ClassVar[AxisKind] = AxisKind("thread", 1)
    CommReduce: ClassVar[AxisKind] = AxisKind("reduce", 2)
    Ordered: ClassVar[AxisKind] = AxisKind("scan", 3)
    DimInfo: ClassVar[AxisKind] = AxisKind("opaque", 4)
    Unrolled: ClassVar[AxisKind] = AxisKind("unrolled", 5)
    Vectorized: ClassVar[AxisKind] = AxisKind("vectorized", 6)
    Parallelized: ClassVar[AxisKind] = AxisKind("parallelized", 7)
    Tensorized: ClassVar[AxisKind] = AxisKind("tensorized", 8)

    dom: Range | None
    var: Var = binder()
    iter_type: AxisKind = part(kw_only=True, default=DataPar)
    thread_tag: str = part(kw_only=True, default="")
    span: Span | None = note(kw_only=True, default=None)

    def __init__(
        self, dom: Any, var: Var | str, iter_type: str | int = "spatial", thread_tag: str = "", span: Span | None = None
    ) -> None:
        if isinstance(dom, (list, tuple)):
            if len(dom) != 2:
                raise TypeError("an axis runs over (begin, end)")
            first = literal(dom[0])
            dom = Range(first, literal(dom[1], first.dtype) - first)
        rules.expect_thread_tag(thread_tag, span)
        kind = DataType("int32") if dom is None else dom.extent.dtype
        init_field(self, "dom", dom)
        init_field(self, "var", Var(var, kind) if isinstance(var, str) else var)
        init_field(self, "iter_type", axis_kind(iter_type))
        init_field(self, "thread_tag", thread_tag)
        init_field(self, "span", span)

    @property
    def extent(self) -> PrimExpr:
        assert self.dom is not None
        return self.dom.extent

    @property
    def kind_name(self) -> str:
        """TVM's name of `iter_type`, which texts have: `DataPar`."""
        return _KINDS[self.iter_type]


_KINDS = {kind: name for name, kind in vars(IterVar).items() if isinstance(kind, AxisKind)}
"""TVM's names of kinds of axes, in the order of its numbers."""


def axis_kind(given: str | int) -> AxisKind:
    """The kind of axis with this word or number."""
    found = next((kind for kind in _KINDS if kind == given), None)
    if found is None:
        raise fail("api", f"there is no kind of axis {given!r}", help=f"kinds are {', '.join(_KINDS)}", kind=ValueError)
    return found
