"""Values in another layout than the program says, and how far they travel before they are put back.

`TransposedExpr` is a temporary expression: the value in layout `now` where the program has `was`; `now` may block
axes (`NCHW8c`).
Elementwise operators pass it on, and those that work along one axis (normalisation, softmax, concatenation, splitting);
whatever else uses it realises it, one transform a value. So two convolutions in a row need one in and one out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from baton._src.ir.node import node
from baton._src.ir.op_def import Fusion
from baton._src.ir.types import TupleType
from baton._src.ops.layout_names import layout_over
from baton._src.ops.layouts import FollowsInput
from baton._src.passes.relay.building import Build, shape_of
from baton._src.passes.relay.temporaries import Realized, TemporaryTuple
from baton._src.relay.nodes import Call, TempExpr


@node
class TransposedExpr(TempExpr):
    """`value` is laid out as `now`; the program means it laid out as `was`."""

    value: Any
    now: str
    was: str
    maker: Any

    def realize(self) -> Any:
        return transposed(self.maker, self.value, self.now, self.was)


def transposed(build: Build, value: Any, source: str, target: str) -> Any:
    """`value` from layout `source` to layout `target`."""
    if source == target:
        return value
    return build.op("relay_layout_transform", value, src_layout=source, dst_layout=target)


def in_layout(build: Build, value: Any, now: str, was: str) -> Any:
    """A value of the program (temporary or not), laid out as `now`."""
    if isinstance(value, TransposedExpr) and value.was == was:
        return transposed(build, value.value, value.now, now)
    plain = value.realize() if isinstance(value, TempExpr) else value
    return transposed(build, plain, was, now)


def fits(shape: tuple[int, ...], now: str, was: str) -> bool:
    """Whether every axis that `now` blocks is a multiple of its block."""
    order = layout_over(now, "".join(sorted({c for c in was if c.isupper()})), "layout")
    return all(shape[was.index(a)] % size == 0 for a, size in order.axes if size)


def follow_axis(build: Build, call: Call, args: list[Any], realized: Realized) -> Any:
    """An operator along one axis, on a value (or on several, joined) in another layout, works there along the axis of
    the same name; None for everything else. Results of the operand's rank are laid out as it is, vectors as they were.
    """
    facet = call.op.definition.layout
    if not isinstance(facet, FollowsInput) or facet.axis is None or not args:
        return None
    given = args[0].fields if isinstance(args[0], TemporaryTuple) else args[:1]
    moved = next((a for a in given if isinstance(a, TransposedExpr)), None)
    axis = getattr(call.attrs, facet.axis)
    if moved is None or not isinstance(axis, int) or not (moved.now.isalpha() and moved.was.isalpha()):
        return None
    if any(len(g.checked_type.shape) != len(moved.was) for g in given):
        return None
    laid_out = [in_layout(build, g, moved.now, moved.was) for g in given]
    first = build.tuple(*laid_out) if isinstance(args[0], TemporaryTuple) else laid_out[0]
    attrs = replace(call.attrs, **{facet.axis: moved.now.index(moved.was[axis])})
    value = build.call(Call(call.op, (first, *map(realized, call.args[1:])), attrs, span=call.span))
    return _laid_out_as(moved, value, call.checked_type)


def _laid_out_as(operand: TransposedExpr, value: Any, type_: Any) -> Any:
    """`value`, computed in the layout of `operand`, as the value of this type that the program means; of a tuple, every
    field of the operand's rank."""
    build = operand.maker
    if isinstance(type_, TupleType):
        fields = (_laid_out_as(operand, build.item(value, i), field) for i, field in enumerate(type_.fields))
        return TemporaryTuple(tuple(fields)).with_fields(checked_type_=type_)
    if len(type_.shape) != len(operand.was):
        return value
    return TransposedExpr(value, operand.now, operand.was, build).with_fields(checked_type_=type_)


def follow(build: Build, call: Call, args: list[Any]) -> Any:
    """An elementwise operator on values in another layout works there; None if it cannot."""
    definition = call.op.definition
    moved = next((a for a in args if isinstance(a, TransposedExpr)), None)
    if moved is None or definition.fusion not in (Fusion.ELEMWISE, Fusion.BROADCAST):
        return None
    if call.attrs is not None and "axis" in call.attrs.names:
        return None
    rank = len(moved.was)
    made = []
    for arg, before in zip(args, call.args):
        shape = shape_of(before)
        if shape is None:
            return None
        if all(extent == 1 for extent in shape) and not isinstance(arg, TransposedExpr):
            made.append(build.op("reshape", before, newshape=()) if shape else before)
        elif isinstance(arg, TransposedExpr) or len(shape) == rank:
            if not fits(shape, moved.now, moved.was):
                return None
            made.append(in_layout(build, arg, moved.now, moved.was))
        else:
            if not fits((1,) * (rank - len(shape)) + shape, moved.now, moved.was):
                return None
            padded = build.op("reshape", before, newshape=(1,) * (rank - len(shape)) + shape)
            made.append(transposed(build, padded, moved.was, moved.now))
    value = build.call(Call(call.op, made, call.attrs, span=call.span))
    return _laid_out_as(moved, value, call.checked_type)
