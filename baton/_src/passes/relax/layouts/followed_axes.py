"""Operators whose first operand has its axes in another order: what they say then, and the order of their results.

    R.nn.softmax(x, axis=1)         x in the order (0, 2, 3, 1)     ->      R.nn.softmax(x', axis=3), in that order
    R.sum(x, axis=[2, 3])                                           ->      R.sum(x', axis=[1, 2]), in the order (0, 1)
    R.permute_dims(x, [0, 2, 3, 1])                                 ->      x', in the order (0, 1, 2, 3)

An order gives for each axis of the value at hand its number in the program's value. (`layouts` of the operators say how
they treat axes.)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.ops.layouts import Anchor, CutsAxes, Folds, FollowsInput, PerAxis, Permutes
from baton._src.ops.nn.normalization.group_norm import group_axes
from baton._src.ops.reduce.attributes import folded_axes
from baton._src.relax.nodes import Call, PrimValue, Tuple
from baton._src.relax.struct_info import TensorStructInfo, TupleStructInfo
from baton._src.tir.expr import IntImm

Order = tuple[int, ...]
Made = tuple[Any, Any]
"""A value, and the order of its axes; of a tuple a list of those of its fields, None for those that are as before."""


def followed(call: Call, value: GraphExpr, order: Order) -> Made | None:
    """The operator on `value` in place of its first operand; None if it cannot take that."""
    attrs, rank = call.attrs, len(order)
    match call.op.name, call.op.definition.layout:
        case "relax.nn.layer_norm", _:
            return _again(call, value, axes=_renumbered(order, attrs.axes)), order
        case "relax.nn.group_norm" | "relax.nn.instance_norm", _:
            return _group_norm(call, value, order) if order[0] == 0 else None
        case "relax.squeeze", _:
            return None if attrs.axis is None else _without(call, value, order, {a % rank for a in attrs.axis})
        case "relax.expand_dims", _:
            return _again(call, value), _with_more(order, attrs.axis)
        case "relax.nn.pad", PerAxis():
            width = [n for axis in order for n in attrs.pairs[axis]]
            return _again(call, value, pad_width=width), order
        case _, Anchor(kernel=None) as facet:
            return _relabelled(call, value, facet, order)
        case _, Permutes():
            turned = [a % rank for a in attrs.axes] if attrs.axes is not None else list(range(rank))[::-1]
            return value, tuple(turned.index(a) for a in order)
        case _, CutsAxes():
            return _cut(call, value, order)
        case _, Folds(numbered=numbered):
            axes = folded_axes(rank, attrs)
            return None if numbered and len(axes) != 1 else _without(call, value, order, set(axes), attrs.keepdims)
        case _, FollowsInput() as facet:
            return _along(call, value, facet, order)
        case _:
            return None


def _again(call: Call, value: GraphExpr, **changes: Any) -> Call:
    attrs = call.attrs.with_attrs(**changes) if changes else call.attrs
    return Call(call.op, [value, *call.args[1:]], attrs, span=call.span)


def _renumbered(order: Order, axes: Iterable[int]) -> tuple[int, ...]:
    """The program's axes as axes of the value."""
    return tuple(order.index(axis % len(order)) for axis in axes)


def _relabelled(call: Call, value: GraphExpr, facet: Anchor, order: Order) -> Made | None:
    """Pooling or resizing; None where its layouts are not of plain axes."""
    old = str(getattr(call.attrs, facet.data))
    out = str(getattr(call.attrs, facet.out) or old) if facet.out is not None else old
    if out != old or len(old) != len(order) or not old.isalpha():
        return None
    new = "".join(old[axis] for axis in order)
    changes = {facet.data: new} if facet.out is None else {facet.data: new, facet.out: new}
    return _again(call, value, **changes), order


def _along(call: Call, value: GraphExpr, facet: FollowsInput, order: Order) -> Made | None:
    """An operator on elements, or along one axis; further operands are scalars, or vectors along that axis."""
    others = [a.struct_info_ for a in call.args[1:] if isinstance(a.struct_info_, TensorStructInfo)]
    if any(info.ndim not in (0, 1) for info in others) or (facet.batch_first and order[0] != 0):
        return None
    orders = _of_same_rank(call.struct_info_, order)
    if facet.axis is None:
        return (_again(call, value), orders) if not others or facet.operands == 1 else None
    axis = getattr(call.attrs, facet.axis)
    if not isinstance(axis, int):
        return None
    return _again(call, value, **{facet.axis: _renumbered(order, (axis,))[0]}), orders


def _of_same_rank(info: Any, order: Order) -> Any:
    """The order of results of that rank; vectors have none."""
    if isinstance(info, TupleStructInfo):
        return [_of_same_rank(field, order) for field in info.fields]
    return order if info.ndim == len(order) else None


def _without(call: Call, value: GraphExpr, order: Order, axes: set[int], keepdims: bool = False) -> Made:
    """An operator that removes axes."""
    whole = call.attrs.axis is None  # so it says that all axes go
    made = _again(call, value) if whole else _again(call, value, axis=tuple(sorted(_renumbered(order, axes))))
    left = order if keepdims else tuple(a for a in order if a not in axes)
    ranks = {a: n for n, a in enumerate(sorted(left))}
    return made, tuple(ranks[a] for a in left)


def _with_more(order: Order, axes: Iterable[int]) -> Order:
    """The order with further axes, whose numbers are as they were."""
    count = len(order) + len(tuple(axes))
    new = {axis % count for axis in axes}
    others = [axis for axis in range(count) if axis not in new]
    old = iter(order)
    return tuple(axis if axis in new else others[next(old)] for axis in range(count))


def _cut(call: Call, value: GraphExpr, order: Order) -> Made | None:
    """A slice, whose operands name its axes."""
    axes = call.args[1].fields if isinstance(call.args[1], Tuple) else ()
    numbers = [a.value.value for a in axes if isinstance(a, PrimValue) and isinstance(a.value, IntImm)]
    if not numbers or len(numbers) < len(axes):
        return None
    there = Tuple([PrimValue(n) for n in _renumbered(order, numbers)])
    return Call(call.op, [value, there, *call.args[2:]], call.attrs, span=call.span), order


def _group_norm(call: Call, value: GraphExpr, order: Order) -> Made:
    channel, axes = group_axes(call.attrs, len(order))
    return _again(call, value, channel_axis=order.index(channel), axes=_renumbered(order, axes)), order
