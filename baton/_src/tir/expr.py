"""Scalar expressions of TIR. Constructors follow TVM v0.19 and build exactly the node named; `operators` folds."""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.expr import GlobalVar, Op, Operators, PrimExpr, Range
from baton._src.ir.node import Node, binder, init_field, node, note, part
from baton._src.ir.scalar_types import read_scalar_type
from baton._src.ir.types import PointerType, PrimType, Type
from baton._src.support.diagnostics import DiagnosticError, fail
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
    """A string literal (arguments of calls and attributes)."""

    value: str
    dtype: DataType = part(kw_only=True, default=HANDLE)


@node
class AnyDim(PrimExpr):
    """A dim unknown until run time: Relay's `?` (TVM's `tir.Any`). Two of them are never known to be equal."""

    dtype: DataType = part(kw_only=True, default=DataType("int32"))


@node
class BinaryOp(PrimExpr):
    """Base of two-operand arithmetic: both operands and the result have one dtype."""

    a: PrimExpr
    b: PrimExpr

    def __post_init__(self) -> None:
        _coerce_pair(self)
        rules.expect_numbers(type(self).__name__, self.a)
        init_field(self, "dtype", self.a.dtype)


@node
class CompareOp(PrimExpr):
    """Base of comparisons: operands of one dtype, result bool (with the operands' lanes)."""

    a: PrimExpr
    b: PrimExpr

    def __post_init__(self) -> None:
        _coerce_pair(self)
        init_field(self, "dtype", BOOL.with_lanes(self.a.dtype.lanes))


@node
class LogicalOp(PrimExpr):
    """Base of `And` and `Or`: bool operands."""

    a: PrimExpr
    b: PrimExpr

    def __post_init__(self) -> None:
        _coerce_pair(self)
        rules.expect_condition(type(self).__name__, self.a)
        init_field(self, "dtype", self.a.dtype)


def _coerce_pair(target: Any) -> None:
    left, right = target.a, target.b
    if not isinstance(left, PrimExpr):
        left = literal(left, right.dtype if isinstance(right, PrimExpr) else None)
        init_field(target, "a", left)
    if not isinstance(right, PrimExpr):
        right = literal(right, left.dtype)
        init_field(target, "b", right)
    if left.dtype != right.dtype:
        name = type(target).__name__
        raise fail("tir-dtype", f"{name} takes operands of one dtype, got {left.dtype} and {right.dtype}")


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
class Add(BinaryOp):
    """a + b"""


@node
class Sub(BinaryOp):
    """a - b"""


@node
class Mul(BinaryOp):
    """a * b"""


@node
class Div(BinaryOp):
    """a / b; on integers truncating toward zero."""


@node
class Mod(BinaryOp):
    """The remainder of `Div` (sign of a)."""


@node
class FloorDiv(BinaryOp):
    """a // b, rounding down."""


@node
class FloorMod(BinaryOp):
    """The remainder of `FloorDiv` (sign of b)."""


@node
class Min(BinaryOp):
    """The smaller one."""


@node
class Max(BinaryOp):
    """The larger one."""


@node
class EQ(CompareOp):
    """a == b"""

    def __bool__(self) -> bool:
        return self.a is self.b


@node
class NE(CompareOp):
    """a != b"""

    def __bool__(self) -> bool:
        return self.a is not self.b


@node
class LT(CompareOp):
    """a < b"""


@node
class LE(CompareOp):
    """a <= b"""


@node
class GT(CompareOp):
    """a > b"""


@node
class GE(CompareOp):
    """a >= b"""


@node
class And(LogicalOp):
    """Both (short-circuit where an operand could fail)."""


@node
class Or(LogicalOp):
    """Either."""


@node
class Not(PrimExpr):
    """Logical negation."""

    a: PrimExpr

    def __post_init__(self) -> None:
        init_field(self, "a", literal(self.a))
        rules.expect_condition("Not", self.a)
        init_field(self, "dtype", self.a.dtype)


@node
class Select(PrimExpr):
    """`true_value` where `condition`, else `false_value`; both may be evaluated."""

    condition: PrimExpr
    true_value: PrimExpr
    false_value: PrimExpr

    def __post_init__(self) -> None:
        init_field(self, "condition", literal(self.condition, BOOL))
        arms: tuple[Any, Any] = (self.true_value, self.false_value)
        known = next((arm.dtype for arm in arms if isinstance(arm, PrimExpr)), None)
        init_field(self, "true_value", literal(arms[0], known))
        init_field(self, "false_value", literal(arms[1], known))
        rules.expect_select(self.condition, self.true_value, self.false_value)
        init_field(self, "dtype", self.true_value.dtype)


@node
class Cast(PrimExpr):
    """`value` converted to `dtype`."""

    value: PrimExpr

    def __init__(self, dtype: object, value: Any, span: Span | None = None) -> None:
        kind, given = DataType(dtype), literal(value)
        rules.expect_cast(kind, given)
        init_field(self, "dtype", kind)
        init_field(self, "value", given)
        init_field(self, "span", span)


@node
class Ramp(PrimExpr):
    """The vector base, base+stride, ... of `lanes` elements."""

    base: PrimExpr
    stride: PrimExpr
    lanes: int

    def __post_init__(self) -> None:
        init_field(self, "base", literal(self.base))
        init_field(self, "stride", literal(self.stride, self.base.dtype))
        init_field(self, "lanes", int(self.lanes))
        rules.expect_ramp(self.base, self.stride)
        init_field(self, "dtype", self.base.dtype.with_lanes(self.lanes))


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


@node
class Shuffle(PrimExpr):
    """Lanes picked by constant `indices` from the concatenation of `vectors`."""

    vectors: tuple[PrimExpr, ...]
    indices: tuple[int, ...]

    def __post_init__(self) -> None:
        init_field(self, "vectors", tuple(literal(v) for v in self.vectors))
        init_field(self, "indices", tuple(int(i) for i in self.indices))
        rules.expect_shuffle(self.vectors, self.indices)
        init_field(self, "dtype", self.vectors[0].dtype.element.with_lanes(len(self.indices)))


@node
class Let(PrimExpr):
    """`body` with `var` standing for `value`."""

    var: Var = binder()
    value: PrimExpr = part(kw_only=True)
    body: PrimExpr = part(kw_only=True)

    def __init__(self, var: Var, value: Any, body: Any, span: Span | None = None) -> None:
        value, body = literal(value, var.dtype), literal(body)
        rules.expect_let(var, value)
        for name, content in (("var", var), ("value", value), ("body", body), ("span", span)):
            init_field(self, name, content)
        init_field(self, "dtype", body.dtype)


@node
class Call(PrimExpr):
    """A call of an intrinsic (`Op`), a PrimFunc of the module (`GlobalVar`) or `tir.call_extern` and its kin."""

    op: Op | GlobalVar
    args: tuple[Any, ...]

    def __init__(self, dtype: object, op: Op | GlobalVar | str, args: Any, span: Span | None = None) -> None:
        init_field(self, "dtype", DataType(dtype))
        init_field(self, "op", _callee(op, span) if isinstance(op, str) else op)
        init_field(self, "args", tuple(literal(a) if isinstance(a, (int, float, str)) else a for a in args))
        init_field(self, "span", span)


def _callee(name: str, span: Span | None) -> Op:
    try:
        return Op.get(name)
    except DiagnosticError:
        help_text = "e.g. tir.exp; C functions are called by call_extern, functions of Python by call_packed"
        raise fail("tir-intrinsic", f"TIR has no intrinsic {name!r}", span=span, help=help_text) from None


@node
class BufferLoad(PrimExpr):
    """One element of a buffer (a vector if the last index is a `Ramp`)."""

    buffer: Any
    indices: tuple[PrimExpr, ...]

    def __post_init__(self) -> None:
        indices = tuple(literal(i) for i in self.indices)
        init_field(self, "indices", indices)
        lanes = indices[-1].dtype.lanes if indices else 1
        init_field(self, "dtype", self.buffer.dtype.with_lanes(lanes * self.buffer.dtype.lanes))


@node
class ProducerLoad(PrimExpr):
    """One element of a `te` tensor; only inside `te` computations."""

    producer: Any
    indices: tuple[PrimExpr, ...]

    def __post_init__(self) -> None:
        init_field(self, "indices", tuple(literal(i) for i in self.indices))
        init_field(self, "dtype", self.producer.dtype)


@node
class IterVar(Node, Operators):
    """An axis of a block or of a `te` computation: a variable over a range, data-parallel or reduced.

    `iter_type` is `spatial`, `reduce`, `scan`, `opaque`, or how a loop of a `te` schedule runs; the constants below are
    TVM's names, and its numbers are taken too. In arithmetic and as an index an axis stands for its variable.
    """

    DataPar: ClassVar[str] = "spatial"
    ThreadIndex: ClassVar[str] = "thread"
    CommReduce: ClassVar[str] = "reduce"
    Ordered: ClassVar[str] = "scan"
    DimInfo: ClassVar[str] = "opaque"
    Unrolled: ClassVar[str] = "unrolled"
    Vectorized: ClassVar[str] = "vectorized"
    Parallelized: ClassVar[str] = "parallelized"
    Tensorized: ClassVar[str] = "tensorized"

    dom: Range | None
    var: Var = binder()
    iter_type: str = part(kw_only=True, default="spatial")
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
        init_field(self, "iter_type", tuple(_KINDS)[iter_type] if isinstance(iter_type, int) else iter_type)
        init_field(self, "thread_tag", thread_tag)
        init_field(self, "span", span)

    @property
    def extent(self) -> PrimExpr:
        assert self.dom is not None
        return self.dom.extent

    @property
    def kind_name(self) -> str:
        """TVM's name of `iter_type`, which texts have: `DataPar`."""
        return _KINDS.get(self.iter_type, self.iter_type)


_KINDS = {kind: name for name, kind in vars(IterVar).items() if name[0].isupper() and isinstance(kind, str)}
"""TVM's names of kinds of axes, in the order of its numbers."""


@node
class CommReducer(Node):
    """A commutative reduction: results of `lhs`, `rhs` (two tuples of scalars) and the identity elements."""

    lhs: tuple[Var, ...] = binder()
    rhs: tuple[Var, ...] = binder()
    result: tuple[PrimExpr, ...] = part(kw_only=True)
    identity_element: tuple[PrimExpr, ...] = part(kw_only=True)


@node
class Reduce(PrimExpr):
    """The reduction of `source` over `axis`; only as the whole body of a `te` computation."""

    combiner: CommReducer
    source: tuple[PrimExpr, ...]
    axis: tuple[IterVar, ...]
    condition: PrimExpr
    value_index: int
    init: tuple[PrimExpr, ...] = ()

    def __post_init__(self) -> None:
        init_field(self, "dtype", self.source[self.value_index].dtype)
