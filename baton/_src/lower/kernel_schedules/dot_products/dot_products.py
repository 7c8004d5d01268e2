"""Products of int8 and of bfloat16 by the CPU's dot-product instructions.

    C[.., i, j] = sum over k of A[.., i, k] * B[k, j]

    A, B: unsigned by signed bytes, C: int32; or A, B: bfloat16, C: float32

Neighbours along k form words: four bytes or two bfloat16. A broadcast word of A is multiplied by a vector of B's words,
one per column, and the sum of its products is added to that column's accumulator: four or two times the work of a
multiply-add. Otherwise this works like `matmul`: panels of B, packed at compile time (`pack_weights`) or just before
use, tiles of accumulators in registers, elementwise stages when a tile is stored; and like `conv2d`, whose panels are
packed as usual and then interleaved. The last word along k is padded with zeros.

Only for processors with such an instruction; others use the general rules. The graph pass
`passes/relax/products/byte_products` turns products of signed by signed bytes into unsigned by signed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.dot_products.pack_words import pack_words
from baton._src.lower.kernel_schedules.dot_products.word_plan import WordPlan, plan_words
from baton._src.lower.kernel_schedules.dot_products.words import joined_word, vector_of_words, word_at
from baton._src.lower.kernel_schedules.products.matmul import FEW_ROWS
from baton._src.lower.kernel_schedules.products.packed_streams import streaming_grain
from baton._src.lower.kernel_schedules.products.panel_packing import Beside, panel_prefetches
from baton._src.lower.kernel_schedules.products.partial_sums import added_up, in_turns, sums_apart
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.products.row_tiles import panel_tiles
from baton._src.lower.kernel_schedules.products.rows_ahead import tile_prefetches
from baton._src.lower.kernel_schedules.products.sharing import row_blocks, shared_panels, shares_rows
from baton._src.lower.kernel_schedules.products.tile_results import asked_results, write_out
from baton._src.lower.kernel_schedules.products.tiles import Accumulators
from baton._src.lower.kernel_schedules.shared.factors import bound, load_of
from baton._src.lower.kernel_schedules.shared.loops import (
    allocated,
    constant,
    i64,
    index_var,
    local_buffer,
    nest,
    product,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.stages import Declined
from baton._src.lower.kernel_schedules.surroundings import surrounded
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import INT32


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """Apply the schedule rule; see the module."""
    plan = plan_words(func, target)
    if isinstance(plan, Declined):
        return plan
    body = _emit(plan, target)
    return plan.kernel.rebuilt(surrounded(plan.kernel, plan.matrix.origin, body, target))


def _emit(plan: WordPlan, target: Target) -> st.Stmt:
    matrix, width = plan.matrix, plan.width
    panels = ops.floordiv(ops.add(as_int64(matrix.columns.extent), i64(width - 1)), i64(width))
    number = index_var("panel")
    start = ops.multiply(number, i64(width))
    packed = _ready_panel(plan, number) if plan.packed else local_buffer("packed", (plan.words * width,), INT32)

    def with_panel(rows: st.Stmt) -> st.Stmt:
        return rows if plan.packed else allocated(packed, sequence(pack_words(plan, packed, start), rows))

    def tiles(first: PrimExpr, count: PrimExpr) -> st.Stmt:
        later = ops.min(ops.add(number, i64(1)), ops.subtract(panels, i64(1)))
        ahead = panel_prefetches(_ready_panel(plan, later), plan.words, width * plan.dot.group) if plan.packed else None
        prefetches = tile_prefetches(matrix, target, ahead, plan.dot.group)
        return panel_tiles(matrix, plan.shape, width, number, first, count, packed, prefetches, partial(_tile, plan))

    threads = target.num_cores
    if shares_rows(matrix, panels, threads, plan.dot.group):
        return row_blocks(matrix, plan.shape, panels, number, with_panel, tiles, threads)
    body = with_panel(nest(matrix.outer, tiles(i64(0), as_int64(matrix.rows.extent))))
    each, vectors = product([a.extent for a in (*matrix.outer, matrix.rows)]), max(1, plan.words * width // 16)
    count, rows = constant(panels), constant(each)
    streams = plan.packed and count is not None and rows is not None and rows <= FEW_ROWS
    grain = streaming_grain(count, vectors, target) if streams and count is not None else None
    return shared_panels(matrix, number, panels, body, ops.multiply(each, i64(vectors)), threads, grain)


def _ready_panel(plan: WordPlan, number: PrimExpr) -> Buffer:
    """One panel of packed weights as a vector of elements."""
    assert plan.matrix.right is not None
    whole = load_of(plan.matrix.right).buffer
    size = plan.words * plan.width * plan.dot.group
    return Buffer(whole.data, whole.dtype, (i64(size),), (), ops.multiply(number, i64(size)), whole.name)


def _tile(
    plan: WordPlan,
    matrix: Product,
    rows: int,
    width: int,
    first: PrimExpr,
    start: PrimExpr,
    packed: Buffer,
    beside: Beside | None = None,
    *,
    pitch: int,
    masked: bool | None,
) -> st.Stmt:
    """Accumulate `rows` x `width` sums over all words of a panel of `pitch` columns; `masked` as in `write_out`."""
    stage, group = matrix.stage, plan.dot.group
    full, rest = divmod(plan.depth, group)
    few = matrix.rows.size is not None and matrix.rows.size <= FEW_ROWS
    apart = sums_apart(rows * -(-width // plan.shape.lanes), max(1, full)) if few else 1
    acc = Accumulators.of(apart * rows, width, stage.buffer.dtype)
    assert stage.init is not None
    init, zero = stage.init, ops.const(0, stage.buffer.dtype)
    places = [ops.add(first, i64(row)) for row in range(rows)]

    def whole(word: PrimExpr, part: int) -> st.Stmt:
        lefts = [word_at(matrix, place, ops.multiply(word, i64(group)), group) for place in places]
        step = _step(plan, acc, packed, word, lefts, part * rows)
        return step if beside is None else sequence(beside(word), step)

    def last(row: PrimExpr) -> PrimExpr:
        at = [bound(matrix.left, {matrix.k: i64(full * group + n), matrix.rows: row}) for n in range(rest)]
        return joined_word([load_of(value) for value in at])

    begin = acc.each(lambda row, lane: init if row < rows else zero)
    parts = [*asked_results(matrix, rows, width, first, start), begin]
    if full:
        parts += in_turns(full, apart, whole)
    if rest:
        parts.append(_step(plan, acc, packed, i64(full), [last(p) for p in places]))
    parts += added_up(acc, rows)
    results = replace(acc, rows=rows)
    return allocated(acc.buffer, sequence(*parts, write_out(matrix, results, first, start, masked)))


def _step(
    plan: WordPlan, acc: Accumulators, packed: Buffer, word: PrimExpr, lefts: list[PrimExpr], first: int = 0
) -> st.Stmt:
    """Add the products of one word to the accumulators from row `first` on."""
    full, rest = divmod(acc.width, plan.shape.lanes)
    widths = [plan.shape.lanes] * full + [rest] * bool(rest)
    rights = [tir.Var(f"b{n}", INT32.with_lanes(lanes)) for n, lanes in enumerate(widths)]
    parts: list[st.Stmt] = []
    for row, left in enumerate(lefts, first):
        var = tir.Var(f"a{row}", INT32)
        stores = []
        for n, right in enumerate(rights):
            at = tir.Ramp(i64(row * acc.width + n * plan.shape.lanes), i64(1), widths[n])
            total = tir.BufferLoad(acc.buffer, (at,))
            stores.append(st.BufferStore(acc.buffer, plan.dot(total, tir.Broadcast(var, widths[n]), right), (at,)))
        parts.append(st.LetStmt(var, left, sequence(*stores)))
    body = sequence(*parts)
    for n, right in reversed(list(enumerate(rights))):
        place = ops.add(ops.multiply(word, i64(plan.width)), i64(n * plan.shape.lanes))
        body = st.LetStmt(right, vector_of_words(packed, place, widths[n]), body)
    return body
