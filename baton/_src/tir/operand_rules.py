"""What the operands of a scalar expression have to be: the rules that constructors of nodes ask, by node.

A node that breaks one of them has no meaning, so it is refused where it is made, with the dtypes and the way out
(`DiagnosticError`: `tir-dtype` for operands that do not fit, `tir-literal` for literals, `tir-lanes` for vectors).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.values.dtype import DataType

THREAD_TAGS = frozenset(f"{kind}.{axis}" for kind in ("blockIdx", "threadIdx", "vthread") for axis in "xyz")
THREAD_TAGS |= {"vthread"}
"""The axes of threads there are, by name."""

_CAST = "convert one of them: x.astype(dtype)"


def integer(value: Any, dtype: DataType, span: Span | None) -> int:
    """The value of a literal of an integer type (or bool); fractions and texts are none."""
    if dtype.kind not in ("int", "uint", "bool") or dtype.lanes != 1:
        raise fail("tir-literal", f"an integer literal cannot have dtype {dtype}", span=span)
    if isinstance(value, str) or value != int(value):
        raise fail("tir-literal", f"{value!r} is not an integer, and the literal is {dtype}", span=span)
    number = int(value)
    low, high = dtype.int_range
    if not low <= number <= high:
        raise fail("tir-literal", f"{number} does not fit {dtype} (range {low}..{high})", span=span)
    return number


def floating(value: Any, dtype: DataType, span: Span | None) -> float:
    """The value of a literal of a floating type."""
    if not dtype.is_float or dtype.lanes != 1:
        raise fail("tir-literal", f"a floating literal cannot have dtype {dtype}", span=span)
    return float(value)


def expect_numbers(name: str, value: PrimExpr) -> None:
    """Arithmetic is for numbers: pointers and texts have none."""
    if value.dtype.kind == "handle":
        raise fail("tir-dtype", f"{name} takes numbers, got {value.dtype}", span=value.span)


def expect_condition(name: str, value: PrimExpr) -> None:
    """An operand of a logical node is bool."""
    if not value.dtype.is_bool:
        help_text = "compare it: x != 0"
        raise fail("tir-dtype", f"{name} takes conditions (bool), got {value.dtype}", span=value.span, help=help_text)


def expect_select(condition: PrimExpr, true_value: PrimExpr, false_value: PrimExpr) -> None:
    """A condition of bool, for all lanes or for each, and two values of one dtype."""
    if not condition.dtype.is_bool:
        help_text = "compare it: x != 0"
        message = f"the condition of Select must be bool, got {condition.dtype}"
        raise fail("tir-dtype", message, span=condition.span, help=help_text)
    kinds = true_value.dtype, false_value.dtype
    if kinds[0] != kinds[1]:
        message = f"Select takes values of one dtype, got {kinds[0]} and {kinds[1]}"
        raise fail("tir-dtype", message, span=true_value.span or false_value.span, help=_CAST)
    if condition.dtype.lanes not in (1, kinds[0].lanes):
        message = f"Select's condition has {condition.dtype.lanes} lanes, its values {kinds[0].lanes}"
        raise fail("tir-lanes", message, span=condition.span)


def expect_cast(dtype: DataType, value: PrimExpr) -> None:
    """A conversion of numbers, lane by lane."""
    if "handle" in (dtype.kind, value.dtype.kind) and dtype.kind != value.dtype.kind:
        message = f"Cast converts numbers, not {value.dtype} to {dtype}"
        raise fail("tir-dtype", message, span=value.span, help="use tir.reinterpret")
    if dtype.lanes != value.dtype.lanes:
        message = f"Cast keeps the number of lanes, and {value.dtype} is cast to {dtype}"
        raise fail("tir-lanes", message, span=value.span, help="tir.Broadcast(x, lanes) makes copies")


def expect_scalar(name: str, value: PrimExpr) -> None:
    """One number, which a vector is made of."""
    if value.dtype.lanes != 1 or value.dtype.kind in ("handle", "void"):
        raise fail("tir-lanes", f"{name} takes one number, got {value.dtype}", span=value.span)


def expect_ramp(base: PrimExpr, stride: PrimExpr) -> None:
    """Two numbers of one dtype."""
    expect_scalar("Ramp", base)
    if base.dtype != stride.dtype:
        message = f"Ramp takes a base and a stride of one dtype, got {base.dtype} and {stride.dtype}"
        raise fail("tir-dtype", message, span=base.span or stride.span, help=_CAST)


def expect_shuffle(vectors: Sequence[PrimExpr], indices: Sequence[int]) -> None:
    """Vectors of one element type, and lanes that they have."""
    if not vectors or not indices:
        raise fail("tir-lanes", "Shuffle takes at least one vector and one index")
    kinds = sorted({vector.dtype.element for vector in vectors})
    if len(kinds) != 1:
        raise fail("tir-dtype", f"Shuffle takes vectors of one element type, got {' and '.join(kinds)}", help=_CAST)
    lanes = sum(vector.dtype.lanes for vector in vectors)
    outside = [i for i in indices if not 0 <= i < lanes]
    if outside:
        raise fail("tir-lanes", f"Shuffle's index {outside[0]} is outside of the {lanes} lanes it has")


def expect_let(var: PrimExpr, value: PrimExpr) -> None:
    """A value of the variable's dtype."""
    if var.dtype != value.dtype:
        message = f"Let binds a variable of {var.dtype} to a value of {value.dtype}"
        raise fail("tir-dtype", message, span=value.span or var.span, help=_CAST)


def expect_all_lanes(predicate: object, span: Span | None) -> None:
    """A load or store of all lanes: masks of lanes are for scalable vectors."""
    if predicate is not None:
        help_text = "put a condition around it: if_then_else(test, load, other), IfThenElse(test, store)"
        raise fail("tir-lanes", "loads and stores have no predicate here", span=span, help=help_text)


def expect_thread_tag(tag: str, span: Span | None) -> None:
    """The name of an axis of threads, or none."""
    if tag and tag not in THREAD_TAGS:
        help_text = f"axes are {', '.join(sorted(THREAD_TAGS))}"
        raise fail("tir-thread", f"there is no axis of threads {tag!r}", span=span, help=help_text)


def size(dim: PrimExpr, what: str) -> PrimExpr:
    """A dim of a buffer: one integer, and no negative one (`tir-buffer`)."""
    if not dim.dtype.is_int or dim.dtype.lanes != 1:
        raise fail("tir-buffer", f"a size of {what} is an integer, not a {dim.dtype}", span=dim.span)
    value = getattr(dim, "value", 0)
    if isinstance(value, int) and value < 0:
        raise fail("tir-buffer", f"a size of {what} cannot be {value}", span=dim.span)
    return dim
