"""Operators that refer to axes by number, applied to a value in another layout: renumber the axes accordingly.

    mean(transform(x, NHWC -> NCHW), axis=[2, 3])     is     mean(x, axis=[1, 2])        (layouts N and N)
    nn.pad(transform(x, NHWC -> NCHW), w)             is     transform(nn.pad(x, w in the order NHWC), NHWC -> NCHW)

How an operator refers to axes is its layout facet (`ops.layouts`). Blocked values are converted back first: a block is
not an axis that a program can name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from baton._src.ops.axes import from_front
from baton._src.ops.layouts import CutsAxes, Folds, FollowsInput, PerAxis, Permutes
from baton._src.ops.reduce.attributes import folded_axes
from baton._src.passes.relay.building import Build
from baton._src.passes.relay.layouts.layout_changes import TransposedExpr, in_layout, laid_out_as, named
from baton._src.passes.relay.temporaries import Realized, TemporaryTuple
from baton._src.relay.nodes import Call


def follow_axes(build: Build, call: Call, args: list[Any], realized: Realized) -> Any:
    """The value of `call` computed in the layout of its first operand; None if that is not possible."""
    facet = call.op.definition.layout
    if isinstance(facet, FollowsInput):
        return _along_axes(build, call, args, facet, realized) if facet.axis is not None and args else None
    moved = args[0] if args else None
    if not isinstance(moved, TransposedExpr):
        return None
    if isinstance(facet, Permutes):
        return _permuted(moved, call)
    if not (moved.now.isalpha() and moved.was.isalpha()):
        return None

    def again(**changes: Any) -> Any:
        operands = (moved.value, *(_further_operand(build, moved, a, realized(a)) for a in call.args[1:]))
        return build.call(Call(call.op, operands, replace(call.attrs, **changes), span=call.span))

    match facet:
        case Folds():
            return _folded(moved, call, facet.numbered, again)
        case PerAxis():
            entries = getattr(call.attrs, facet.entries)
            value = again(**{facet.entries: tuple(entries[moved.was.index(letter)] for letter in moved.now)})
            return named(value, moved.now, moved.was, moved.maker, call.checked_type)
        case CutsAxes():
            return _cut(moved, call, again)
        case _:
            return None


def _further_operand(build: Build, moved: TransposedExpr, before: Any, plain: Any) -> Any:
    """A further operand: in the layout of the first one if it has its axes (a mean that was kept), else unchanged."""
    kept = len(before.checked_type.shape) == len(moved.was)
    return in_layout(build, plain, moved.now, moved.was) if kept else plain


def _along_axes(build: Build, call: Call, args: list[Any], facet: FollowsInput, realized: Realized) -> Any:
    """An operator along the axes that an attribute names, on one value or on several that it joins. Results of the
    operand's rank have its layout; vectors are unchanged.
    """
    given = args[0].fields if isinstance(args[0], TemporaryTuple) else args[:1]
    moved = next((a for a in given if isinstance(a, TransposedExpr)), None)
    attribute = facet.axis or ""
    axis = getattr(call.attrs, attribute)
    if moved is None or axis is None or not (moved.now.isalpha() and moved.was.isalpha()):
        return None
    if facet.batch_first and moved.now[0] != moved.was[0]:
        return None
    if any(len(g.checked_type.shape) != len(moved.was) for g in given):
        return None
    laid_out = [in_layout(build, g, moved.now, moved.was) for g in given]
    first = build.tuple(*laid_out) if isinstance(args[0], TemporaryTuple) else laid_out[0]
    there = _renumbered(moved, axis) if isinstance(axis, tuple) else _renumbered(moved, (axis,))[0]
    attrs = replace(call.attrs, **{attribute: there})
    value = build.call(Call(call.op, (first, *map(realized, call.args[1:])), attrs, span=call.span))
    return laid_out_as(moved, value, call.checked_type)


def _renumbered(moved: TransposedExpr, axes: Iterable[int]) -> tuple[int, ...]:
    """The program's axes as axes of the converted value."""
    return tuple(moved.now.index(moved.was[axis]) for axis in axes)


def _folded(moved: TransposedExpr, call: Call, numbered: bool, again: Callable[..., Any]) -> Any:
    axes = folded_axes(len(moved.was), call.attrs)
    if not axes or (numbered and len(axes) > 1):
        return None
    value = again(axis=tuple(sorted(_renumbered(moved, axes))), exclude=False)
    gone = "" if call.attrs.keepdims else {moved.was[axis] for axis in axes}
    now, was = ("".join(letter for letter in layout if letter not in gone) for layout in (moved.now, moved.was))
    return named(value, now, was, moved.maker, call.checked_type)


def _cut(moved: TransposedExpr, call: Call, again: Callable[..., Any]) -> Any:
    begin, end, axes = call.attrs.begin, call.attrs.end, call.attrs.axes
    if begin is None:
        return None
    rank = len(moved.was)
    cut = range(max(len(begin), len(end or ()))) if axes is None else [from_front(axis, rank) for axis in axes]
    value = again(axes=_renumbered(moved, cut))
    return named(value, moved.now, moved.was, moved.maker, call.checked_type)


def _permuted(moved: TransposedExpr, call: Call) -> Any:
    """The same value: the operator only names its axes in another order, perhaps in that of the converted value."""
    rank = len(moved.was)
    if len(call.checked_type.shape) != rank or not moved.was.isalpha():
        return None
    order = range(rank - 1, -1, -1) if call.attrs.axes is None else call.attrs.axes
    was = "".join(moved.was[axis] for axis in order)
    return TransposedExpr(moved.value, moved.now, was, moved.maker).with_fields(checked_type_=call.checked_type)
