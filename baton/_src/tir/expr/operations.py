"""Arithmetic, comparison, logic, selection, conversion and vectors. Nothing is folded: `tir.operators` does that."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import init_field, node
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.tir import operand_rules as rules
from baton._src.tir.expr.leaves import literal
from baton._src.values.dtype import BOOL, DataType


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
class Shuffle(PrimExpr):
    """Lanes picked by constant `indices` from the concatenation of `vectors`."""

    vectors: tuple[PrimExpr, ...]
    indices: tuple[int, ...]

    def __post_init__(self) -> None:
        init_field(self, "vectors", tuple(literal(v) for v in self.vectors))
        init_field(self, "indices", tuple(int(i) for i in self.indices))
        rules.expect_shuffle(self.vectors, self.indices)
        init_field(self, "dtype", self.vectors[0].dtype.element.with_lanes(len(self.indices)))
