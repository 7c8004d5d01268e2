"""Places of extrema: a reduction of (position, value) pairs as two reductions of numbers, which run in vectors.

    p[i], v[i] = the better of (p[i], v[i]) and (k, x[i, k])     ->     m[i] = max(x[i, k] for k)
                                                                       q[i] = min(key(k, x[i, k]) for k)
                                                                       p[i] = q[i] + n if q[i] < 0 else q[i]

The key of a place is its position (for the last of equals, that from the end) if it holds the extremum, its position
minus the number of places `n` if it holds NaN, which wins, and otherwise greater than all of them.
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.structural import structural_equal
from baton._src.lower.kernel_schedules.shared.loops import constant, i64, product
from baton._src.lower.kernel_schedules.shared.stages import Axis, Kernel, Opaque, Stage, read_block
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.builders.scalar_functions import isnan
from baton._src.tir.dtype_limits import highest, lowest
from baton._src.tir.kept_pair import is_kept
from baton._src.values.dtype import DataType

FEW = 1 << 30
"""Places below which their keys fit in 32 bits."""


@dataclass(frozen=True)
class _Search:
    """`positions` holds the row-major position of the extremum of `value` over the axes `reduce`."""

    positions: Buffer
    values: Buffer
    spatial: tuple[Axis, ...]
    reduce: tuple[Axis, ...]
    position: PrimExpr
    value: PrimExpr
    is_max: bool
    last: bool


def in_two_sweeps(kernel: Kernel) -> Kernel:
    """Return `kernel` with each search for the place of an extremum as three stages, if only the place is read."""
    stages: list[Stage | Opaque] = []
    between: list[Buffer] = []
    for stage in kernel.stages:
        search = _search(stage.stmt) if isinstance(stage, Opaque) else None
        if search is None or not _is_unread(kernel, stage, search.values):
            stages.append(stage)
            continue
        parts = _sweeps(search)
        stages += parts
        between += [part.buffer for part in parts[:-1]]
    return replace(kernel, stages=tuple(stages), local=(*kernel.local, *between)) if between else kernel


def _is_unread(kernel: Kernel, stage: Stage | Opaque, buffer: Buffer) -> bool:
    others = (other for other in kernel.stages if other is not stage)
    return buffer in kernel.local and not any(buffer in other.reads for other in others)


# ---------------------------------------------------------------------------------------------------- reading


def _search(stmt: st.Stmt) -> _Search | None:
    found = read_block(stmt)
    pairs = None if found is None else _updates(found[0].body)
    begun = [] if found is None or pairs is None else _beginnings(found[0].init, pairs)
    if found is None or pairs is None or not begun:
        return None
    axes = found[1]
    (positions, first), (values, second) = pairs
    places = [axes.get(i) if isinstance(i, tir.Var) else None for i in positions.indices]
    spatial = tuple(place[0] for place in places if place is not None and place[1] == "spatial")
    reduce = tuple(axis for axis, kind in axes.values() if kind == "reduce")
    if len(spatial) != len(places) or len(spatial) + len(reduce) != len(axes):
        return None
    if not structural_equal(first.false_value, _row_major(reduce)):
        return None
    held = (
        tir.BufferLoad(positions.buffer, positions.indices),
        tir.BufferLoad(values.buffer, values.indices),
    )
    here = (first.false_value, second.false_value)
    for is_max in (True, False):
        for last in (False, True):
            if not _is_nothing(begun, values.buffer.dtype, is_max, last):
                continue
            keep = is_kept(held, here, is_max=is_max, last=last)
            if all(structural_equal(u, tir.Select(keep, *arms)) for u, *arms in zip((first, second), held, here)):
                return _Search(positions.buffer, values.buffer, spatial, reduce, *here, is_max, last)
    return None


def _row_major(axes: tuple[Axis, ...]) -> PrimExpr:
    place: PrimExpr = i64(0)
    for axis in axes:
        place = ops.add(ops.multiply(place, axis.extent), axis.var)
    return place


def _updates(body: st.Stmt) -> list[tuple[st.BufferStore, tir.Select]] | None:
    """The two stores, each with the selection it stores."""
    bound: dict[PrimExpr, PrimExpr] = {}
    while isinstance(body, st.LetStmt):
        bound[body.var] = body.value
        body = body.body
    stores = body.seq if isinstance(body, st.SeqStmt) else ()
    found = [(s, bound.get(s.value)) for s in stores if isinstance(s, st.BufferStore)]
    chosen = [(store, value) for store, value in found if isinstance(value, tir.Select)]
    same = len(chosen) == len(stores) == 2 and chosen[0][0].indices == chosen[1][0].indices
    return chosen if same and chosen[0][0].buffer.dtype == "int64" else None


def _beginnings(init: st.Stmt | None, pairs: list[tuple[st.BufferStore, tir.Select]]) -> list[PrimExpr]:
    """What the two stores begin with, if both do."""
    stores = [s for s in (init.seq if isinstance(init, st.SeqStmt) else ()) if isinstance(s, st.BufferStore)]
    return [s.value for s in stores] if [s.buffer for s in stores] == [store.buffer for store, _ in pairs] else []


def _is_nothing(begun: list[PrimExpr], dtype: DataType, is_max: bool, last: bool) -> bool:
    """Whether a search begins with what any element is better than."""
    place, value = tir.IntImm("int64", -1 if last else (1 << 63) - 1), (lowest if is_max else highest)(dtype)
    return structural_equal(begun, [place, value])


# ---------------------------------------------------------------------------------------------------- writing


def _sweeps(search: _Search) -> list[Stage]:
    """The extremum, the least key, the position."""
    count = product([axis.extent for axis in search.reduce])
    size = constant(count)
    dtype = DataType("int32" if size is not None and size < FEW else "int64")
    total, at = ops.cast(dtype, count), ops.cast(dtype, search.position)
    at = _from_end(total, at) if search.last else at
    value, greatest = search.value, highest(dtype)
    here = tuple(axis.var for axis in search.spatial)

    extremum = _between(search, "extremum", value.dtype)
    fold, start = (tir.Max, lowest(value.dtype)) if search.is_max else (tir.Min, highest(value.dtype))
    best = Stage(extremum, search.spatial, value, search.reduce, fold, start)

    keys = _between(search, "key", dtype)
    key: PrimExpr = tir.Select(tir.EQ(value, tir.BufferLoad(extremum, here)), at, greatest)
    key = tir.Select(isnan(value), ops.subtract(at, total), key) if value.dtype.is_float else key
    least = Stage(keys, search.spatial, key, search.reduce, tir.Min, greatest)

    found: PrimExpr = tir.BufferLoad(keys, here)
    found = tir.Select(tir.LT(found, tir.IntImm(dtype, 0)), ops.add(found, total), found)
    found = ops.cast("int64", _from_end(total, found) if search.last else found)
    position = Stage(search.positions, search.spatial, found)
    return [best.renamed(), least.renamed(), position.renamed()]


def _from_end(total: PrimExpr, place: PrimExpr) -> PrimExpr:
    """A position counted from the other end."""
    return ops.subtract(ops.subtract(total, tir.IntImm(total.dtype, 1)), place)


def _between(search: _Search, name: str, dtype: DataType) -> Buffer:
    """A buffer for one number per search."""
    name = f"{search.positions.name}_{name}"
    return Buffer(tir.Var(name, "handle", pointee=dtype), dtype, search.positions.shape, name=name)
