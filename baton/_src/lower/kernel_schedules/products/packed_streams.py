"""Products of few rows with packed weights: the panels are read as one stream, with several accumulators per result."""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.products.bfloat16_pairs import Pairs
from baton._src.lower.kernel_schedules.products.packed_weights import Panels
from baton._src.lower.kernel_schedules.products.partial_sums import added_up, in_turns, sums_apart
from baton._src.lower.kernel_schedules.products.row_tiles import columns_of
from baton._src.lower.kernel_schedules.products.tile_results import store_row
from baton._src.lower.kernel_schedules.products.tiles import Accumulators, tile_shape
from baton._src.lower.kernel_schedules.shared.factors import bound
from baton._src.lower.kernel_schedules.shared.loops import (
    PARALLEL,
    VECTORIZED,
    allocated,
    i64,
    index_var,
    loop,
    nest,
    sequence,
    thread_work,
)
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st

WORTH_STREAMING = 1 << 12
"""Vectors of weights that are worth a thread of their own: 2 to 3 microseconds from the second-level cache."""


def streamed_panels(panels: Panels, target: Target) -> st.Stmt:
    """Return loops that compute all rows at once, one panel after the other, so that the weights are read as one
    stream.
    """
    matrix = panels.matrix
    rows = matrix.rows.size or 1
    shape = tile_shape(target, matrix.stage.buffer.dtype)
    vectors = panels.width // shape.lanes
    columns = columns_of(matrix.columns.size, panels.width, shape)
    whole = panels.count if columns.whole is None else columns.whole
    beside = tuned("panels_beside", 1, (n for n in (1, 2, 4, 8) if n <= whole and rows * vectors * n <= 16))
    groups, rest = divmod(whole, beside)
    parts = []
    for first, count, wide in ((0, groups, beside), (groups * beside, rest, 1)):
        if count:
            group = index_var("group")
            number = ops.add(i64(first), ops.multiply(group, i64(wide)))
            body = nest(matrix.outer, _strip(panels, rows, wide, number, columns.width, columns.whole is None))
            work = (matrix.k.size or 1) * rows * wide * vectors
            grain = streaming_grain(count, work, target)
            parts.append(
                loop(group, count, body, PARALLEL, grain=grain) if target.num_cores > 1 else loop(group, count, body)
            )
    if columns.tail:
        parts.append(nest(matrix.outer, _strip(panels, rows, 1, i64(whole), columns.tail, columns.masked)))
    return sequence(*parts)


def streaming_grain(count: int, work: int, target: Target) -> int:
    """How many of `count` parts, of `work` vectors of weights each, a thread takes at a time.

    Weights that fit in the caches of all cores are divided equally, one piece per thread, so that each core finds its
    piece in its cache in the next call. Larger weights come from memory each time; smaller pieces then balance the
    threads.
    """
    fewest = -(-WORTH_STREAMING // max(1, work))
    if count * work * target.vector_bits // 8 <= target.num_cores * target.cpu.l2_bytes:
        return max(fewest, -(-count // target.num_cores))
    return max(fewest, thread_work() // max(1, work))


def _strip(panels: Panels, rows: int, wide: int, number: PrimExpr, width: int, masked: bool) -> st.Stmt:
    """`rows` x `wide` panels of results, `width` columns of each; accumulator row r * wide + p is row r in panel p.

    Where these are few, the terms are spread over several accumulators, which are added up at the end: a single one
    would be limited by the latency of the multiply-add.
    """
    matrix, pitch = panels.matrix, panels.width
    dtype, count, depth = matrix.stage.buffer.dtype, rows * wide, matrix.k.size or 1
    vectors = -(-width // panels.lanes)
    apart = sums_apart(count * vectors, depth)
    acc = Accumulators.of(apart * count, width, dtype)
    numbers = [ops.add(number, i64(p)) for p in range(wide)]
    packed = [panels.panel(n) for n in numbers]
    pairs = Pairs.of(panels.dtype, dtype, width, panels.lanes)
    init = matrix.stage.init
    assert init is not None

    def update(k: PrimExpr, part: int) -> st.Stmt:
        terms = []
        for place in range(count):
            row, panel = divmod(place, wide)
            left = bound(matrix.left, {matrix.k: k, matrix.rows: i64(row)})
            start, at = ops.multiply(k, i64(pitch)), part * count + place
            if pairs.count:
                terms.append(pairs.add_products(acc, at, left, packed[panel], start))
            if pairs.width == width:
                continue
            number = index_var("v")
            lane = ops.add(number, i64(pairs.width))
            right = tir.BufferLoad(packed[panel], (ops.add(start, lane),))
            total = tir.Add(acc.load(at, lane), tir.Mul(left, ops.cast(dtype, right)))
            store = st.BufferStore(acc.buffer, total, (acc.at(at, lane),))
            terms.append(loop(number, width - pairs.width, store, VECTORIZED))
        return sequence(*terms)

    stores = []
    for place in range(count):
        row, panel = divmod(place, wide)
        stores.append(store_row(matrix, acc, place, i64(row), ops.multiply(numbers[panel], i64(pitch)), masked))
    begin = acc.each(lambda row, lane: init if row < count else ops.const(0, dtype))
    body = sequence(
        begin, *in_turns(depth, apart, update), *added_up(acc, count), *pairs.put_in_order(acc, count), *stores
    )
    return allocated(acc.buffer, body)
