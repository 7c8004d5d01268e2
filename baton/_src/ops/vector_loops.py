"""Statements over whole vectors, for kernels that are written by hand: rows in parallel, runs of elements of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from baton._src.ir.expr import PrimExpr
from baton._src.ops import kernel_words as k
from baton._src.ops.loop_nests import both, loop
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import BufferStore, For, ForKind, Stmt
from baton._src.values.dtype import DataType

VECTOR = 64
"""Bytes of a vector."""
THREAD = 1 << 14
"""Elements that are worth a thread."""


def places(at: PrimExpr, lanes: int, stride: int = 1) -> PrimExpr:
    """`lanes` places from `at` on."""
    return at if lanes == 1 else tir.Ramp(at, k.index(stride), lanes)


def load(buffer: Buffer, row: Sequence[PrimExpr], at: PrimExpr, dtype: DataType) -> PrimExpr:
    """Elements of a row, at one place or several, as `dtype`."""
    found = tir.BufferLoad(buffer, (*row, at))
    return found if buffer.dtype == dtype else tir.Cast(dtype.with_lanes(at.dtype.lanes), found)


def store(buffer: Buffer, row: Sequence[PrimExpr], at: PrimExpr, value: PrimExpr) -> Stmt:
    """Store elements of a row, in the buffer's dtype."""
    lanes = value.dtype.lanes
    same = buffer.dtype == value.dtype.element
    return BufferStore(buffer, value if same else tir.Cast(buffer.dtype.with_lanes(lanes), value), (*row, at))


def along(count: int, lanes: int, body: Callable[[PrimExpr, int], Stmt]) -> Stmt:
    """`body(at, lanes)` for whole vectors, then for smaller ones."""
    whole, rest = divmod(count, lanes)
    found = [loop(whole, lambda chunk: body(chunk * k.index(lanes), lanes), "chunk")] if whole else []
    at = whole * lanes
    while rest:
        width = 1 << (rest.bit_length() - 1)
        found.append(body(k.index(at), width))
        at, rest = at + width, rest - width
    return both(*found)


def in_parts(count: PrimExpr, widths: Sequence[int], body: Callable[[PrimExpr, int], Stmt]) -> Stmt:
    """`body(at, width)` for as many parts of `count`, which a run may tell, of the first width as there are, then for
    what is left of the next one, ...; the last width is 1.
    """
    parts: list[Stmt] = []
    begin: PrimExpr = k.index(0)
    for width in widths:
        part, number = tir.Var("part", "int64"), (count - begin) // k.index(width)
        each = body(begin + part * k.index(width), width)
        parts.append(For(part, k.index(0), number, ForKind.SERIAL, each))
        begin = begin + number * k.index(width)
    return both(*parts)


def lane_loop(lanes: int, body: Callable[[PrimExpr], Stmt], first: int = 0) -> Stmt:
    """`body` of `lanes` numbers from `first` on, at once."""
    if lanes == 1:
        return body(k.index(first))
    lane = tir.Var("lane", "int64")
    return For(lane, k.index(0), k.index(lanes), ForKind.VECTORIZED, body(lane + k.index(first)))


def side_by_side(count: PrimExpr, lanes: int, body: Callable[[PrimExpr], Stmt]) -> Stmt:
    """`body` of 0, 1, ... `count` - 1, which a run may tell: `lanes` of them in a vector, then those that are left."""
    return in_parts(count, (lanes, 1), lambda at, width: lane_loop(width, lambda lane: body(at + lane)))


def over_rows(dims: Sequence[PrimExpr], size: int, body: Callable[[tuple[PrimExpr, ...]], Stmt]) -> Stmt:
    """`body` of every place of the leading axes, in parallel; each takes about `size` steps."""
    extents = [k.index(d) for d in dims]
    var = tir.Var("row", "int64")
    rest: PrimExpr = var
    found: list[PrimExpr] = []
    for extent in reversed(extents):
        found.append(rest % k.divisor(extent))
        rest = rest // k.divisor(extent)
    total = prod(extents, start=k.index(1))
    notes = {"grain": max(1, THREAD // max(1, size))}
    return For(var, k.index(0), total, ForKind.PARALLEL, body(tuple(reversed(found))), annotations=notes)
