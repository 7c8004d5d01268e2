"""Values in another layout than the program's, and how far they propagate before they are converted back.

`TransposedExpr` is a temporary expression: the value in layout `now` where the program has `was`; `now` may block axes
(`NCHW8c`). Elementwise operators propagate it, and so do operators that refer to axes by number (`axis_changes`); any
other use realises it, with one transform per value. So two consecutive convolutions need one transform before and one
after them.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.ir.node import node
from baton._src.ir.types import TensorType, TupleType, Type
from baton._src.ops.layout_names import layout_over
from baton._src.ops.layouts import FollowsInput
from baton._src.passes.relay.building import Build, shape_of
from baton._src.passes.relay.temporaries import TemporaryTuple
from baton._src.relay.nodes import Call, TempExpr


@node
class TransposedExpr(TempExpr):
    """`value` is in layout `now`; the program's value is in layout `was`."""

    value: Any
    now: str
    was: str
    maker: Any

    def realize(self) -> Any:
        return transposed(self.maker, self.value, self.now, self.was)


def transposed(build: Build, value: GraphExpr, source: str, target: str) -> Any:
    """`value` from layout `source` to layout `target`."""
    if source == target:
        return value
    return build.op("relay_layout_transform", value, src_layout=source, dst_layout=target)


def in_layout(build: Build, value: GraphExpr, now: str, was: str) -> Any:
    """A value of the program (temporary or not), in layout `now`."""
    if isinstance(value, TransposedExpr) and value.was == was:
        return transposed(build, value.value, value.now, now)
    plain = value.realize() if isinstance(value, TempExpr) else value
    return transposed(build, plain, was, now)


def fits(shape: tuple[int, ...], now: str, was: str) -> bool:
    """Whether every axis that `now` blocks is a multiple of its block."""
    order = layout_over(now, "".join(sorted({c for c in was if c.isupper()})), "layout")
    return all(shape[was.index(a)] % size == 0 for a, size in order.axes if size)


def laid_out_as(operand: TransposedExpr, value: Any, type_: Any) -> Any:
    """`value`, computed in the layout of `operand`, as a temporary for the program's value of this type; of a tuple,
    every field of the operand's rank.
    """
    build = operand.maker
    if isinstance(type_, TupleType):
        fields = (laid_out_as(operand, build.item(value, i), field) for i, field in enumerate(type_.fields))
        return TemporaryTuple(tuple(fields)).with_fields(checked_type_=type_)
    if len(type_.shape) != len(operand.was):
        return value
    return named(value, operand.now, operand.was, build, type_)


def named(value: GraphExpr, now: str, was: str, build: Build, type_: Type) -> Any:
    """`value`, laid out as `now`, of the type that it has in the program; no temporary if both layouts are one."""
    if now == was:
        return value
    return TransposedExpr(value, now, was, build).with_fields(checked_type_=type_)


def follow(build: Build, call: Call, args: list[Any]) -> Any:
    """Apply an elementwise operator to values in another layout; None if that is not possible."""
    facet, type_ = call.op.definition.layout, call.checked_type
    moved = max((a for a in args if isinstance(a, TransposedExpr)), key=lambda a: len(a.was), default=None)
    if moved is None or not isinstance(facet, FollowsInput) or facet.axis is not None:
        return None
    if isinstance(type_, TensorType) and len(type_.shape) != len(moved.was):
        return None
    made = []
    for place, (arg, before) in enumerate(zip(args, call.args)):
        alone = facet.operands is not None and place >= facet.operands
        found = _operand_in_layout(build, moved, arg, shape_of(before), alone)
        if found is None:
            return None
        made.append(found)
    value = build.call(Call(call.op, made, call.attrs, span=call.span))
    return laid_out_as(moved, value, type_)


def _operand_in_layout(
    build: Build, moved: TransposedExpr, arg: Any, shape: tuple[int, ...] | None, alone: bool
) -> Any:
    """An operand of an elementwise operator, to be computed with `moved` in its layout; None where it has no place
    there, or is to stand `alone` and is more than one element."""
    rank = len(moved.was)
    if shape is None:
        return None
    if isinstance(arg, TempExpr) and not (isinstance(arg, TransposedExpr) and len(arg.was) == rank):
        arg = arg.realize()
    if isinstance(arg, TransposedExpr) and not alone:
        return in_layout(build, arg, moved.now, moved.was) if fits(shape, moved.now, moved.was) else None
    if all(extent == 1 for extent in shape):
        return build.op("reshape", arg, newshape=()) if shape else arg
    if alone or len(shape) > rank:
        return None
    padded = (1,) * (rank - len(shape)) + shape
    if not fits(padded, moved.now, moved.was):
        return None
    aligned = arg if padded == shape else build.op("reshape", arg, newshape=padded)
    return transposed(build, aligned, moved.was, moved.now)
