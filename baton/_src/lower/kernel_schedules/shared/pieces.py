"""An axis cut where the indices that are computed from it change course.

    for i in 232: B[i] = A[min(abs(i - 4), 446 - abs(i - 4))]                       a mirrored border
    ->
    for i in 5: B[i] = A[4 - i];  for i in 223: B[i + 5] = A[i + 1];  for i in 4: B[i + 228] = A[222 - i]

Within a piece every index grows evenly, or every few iterations (`i // 4`), and conditions are settled, so that whole
vectors are loaded instead of single elements. This covers borders, repeated tensors, rolled, joined and enlarged ones:
where pieces are long and few.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import children, post_order
from baton._src.lower.kernel_schedules.shared.affine import coefficient
from baton._src.lower.kernel_schedules.shared.loops import i64, index_var
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.iteration_points import Points, Unknown
from baton._src.values.tensor import AnyArray

MOST_PIECES = 16
"""Pieces up to which the axis is cut: each is a loop of its own."""
LONGEST = 1 << 18
"""Elements of an axis whose indices are looked at, one by one."""


def cut_in_pieces(axis: Axis, store: st.BufferStore, least: int) -> list[tuple[Axis, st.BufferStore]]:
    """The store over each piece of the axis, whose pieces have at least `least` elements on average; the whole axis if
    nothing changes course, or too often.
    """
    whole = [(axis, store)]
    size = axis.size or 0
    uneven = _uneven(store.value, axis.var) if 0 < size <= LONGEST else []
    if not uneven:
        return whole
    points = Points({}, most=LONGEST)
    points.loop(axis.var, i64(0), axis.extent)
    try:
        columns = [np.broadcast_to(points.value(e), size) for e in uneven]
    except Unknown:
        return whole
    # A step of one column that is cut at another's border is a piece of its own.
    for changes in (_changes, _bends):
        cuts = sorted({0, size, *(cut for column in columns for cut in changes(column))})
        if len(cuts) - 1 <= min(MOST_PIECES, max(1, size // least)):
            found = [_piece(axis, store, dict(zip(uneven, columns)), *ends) for ends in pairwise(cuts)]
            pieces = [piece for piece in found if piece is not None]
            if len(pieces) == len(found):
                return pieces
    return whole


def _uneven(value: PrimExpr, var: tir.Var) -> list[PrimExpr]:
    """The largest expressions of nothing but `var` that are conditions or do not grow evenly with it."""
    alone: dict[Node, bool] = {}
    found: list[PrimExpr] = []
    for node in post_order(value):
        parts = [part for part in children(node) if isinstance(part, PrimExpr)]
        alone[node] = _is_integer(node) and (node is var or bool(parts)) and all(_is_part(p, alone) for p in parts)
        if not alone[node]:
            found += [part for part in parts if alone.get(part)]
    if alone.get(value):
        found.append(value)
    return [e for e in dict.fromkeys(found) if e.dtype.is_bool or coefficient(e, var) is None]


def _is_integer(node: Node) -> bool:
    kinds = (tir.Var, tir.BinaryOp, tir.CompareOp, tir.LogicalOp, tir.Not, tir.Cast, tir.Select)
    return isinstance(node, kinds) and node.dtype.lanes == 1 and not node.dtype.is_float


def _is_part(part: PrimExpr, alone: dict[Node, bool]) -> bool:
    return isinstance(part, tir.IntImm) or alone[part]


def _changes(column: AnyArray) -> list[int]:
    """Where the column changes course, but for its begin."""
    bends = _bends(column)
    stairs = _stairs(column) if bends and column.dtype != bool else None
    if stairs is None:
        return bends
    begin, end = stairs
    around = (*_bends(column[:begin]), begin, end, *(end + bend for bend in _bends(column[end:])))
    cuts = [cut for cut in around if 0 < cut < len(column)]
    return cuts if len(cuts) < len(bends) else bends


def _bends(column: AnyArray) -> list[int]:
    """Where runs of even steps begin, but for the first one; steps of conditions are none."""
    steps = np.diff(column.astype(np.int64))
    begins, begin = [], 0
    while begin + 1 < len(column):
        step = 0 if column.dtype == bool else steps[begin]
        ends = np.flatnonzero(steps[begin:] != step)
        if not len(ends):
            break
        begin += int(ends[0]) + 1
        begins.append(begin)
        if len(begins) > MOST_PIECES:
            break
    return begins


def _stairs(column: AnyArray) -> tuple[int, int] | None:
    """The longest part of which each value lasts for the same number of iterations, at least two."""
    begins = np.flatnonzero(np.diff(column)) + 1
    if len(begins) < 3:
        return None
    lasting = np.diff(begins)
    times = int(np.bincount(lasting, minlength=3)[2:].argmax()) + 2
    breaks = np.flatnonzero(np.r_[True, lasting != times, True])
    longest = int(np.diff(breaks).argmax())
    first, last = int(begins[breaks[longest]]), int(begins[breaks[longest + 1] - 1])
    if first == last:
        return None
    whole = first >= times and bool((column[first - times : first] == column[first - 1]).all())
    return first - times if whole else first, min(last + times, len(column))


class _Course(NamedTuple):
    """The values first + step * (i // times)."""

    first: int
    step: int
    times: int

    def at(self, i: PrimExpr) -> PrimExpr:
        lasting = i if self.times == 1 else ops.floordiv(i, i64(self.times))
        return ops.add(i64(self.first), ops.multiply(lasting, i64(self.step)))


def _course(column: AnyArray) -> _Course | None:
    """The course of a piece, if it has only one."""
    numbers = column.astype(np.int64)
    changes = np.flatnonzero(np.diff(numbers))
    if not len(changes):
        return _Course(int(numbers[0]), 0, 1)
    times = int(changes[0]) + 1
    found = _Course(int(numbers[0]), int(numbers[times] - numbers[0]), times)
    return found if (numbers == found.first + np.arange(len(numbers)) // times * found.step).all() else None


def _piece(
    axis: Axis, store: st.BufferStore, columns: dict[PrimExpr, AnyArray], begin: int, end: int
) -> tuple[Axis, st.BufferStore] | None:
    """The store for [begin, end), over an axis that starts at 0, if each column has one course there."""
    own = index_var(axis.var.name)
    known: dict[Node, PrimExpr] = {axis.var: ops.cast(axis.var.dtype, ops.add(own, i64(begin)))}
    for expr, column in columns.items():
        course = _course(column[begin:end])
        if course is None:
            return None
        settled = expr.dtype.is_bool
        known[expr] = tir.IntImm(expr.dtype, course.first) if settled else ops.cast(expr.dtype, course.at(own))
    body: st.BufferStore = substitute_and_fold(store, known)
    return Axis(own, i64(end - begin)), body
