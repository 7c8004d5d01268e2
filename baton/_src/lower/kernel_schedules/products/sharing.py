"""Distribute a product over threads: panels of columns, blocks of rows where panels are few, or blocks of rows that go
through all panels where there are rows enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.products.panel_packing import where
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.products.tiles import TileShape
from baton._src.lower.kernel_schedules.shared.factors import load_of
from baton._src.lower.kernel_schedules.shared.loops import (
    PARALLEL,
    WORTH_A_THREAD,
    constant,
    i64,
    index_var,
    loop,
    nest,
    product,
    thread_work,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st

BLOCK_ROWS, PARTS = 64, 4
"""Rows for which it is worth reading all weights again, if so many times their part of A fits in the second-level
cache.
"""
LEAST_BLOCK_ROWS = 16
"""Rows of a block that has panels to pack for itself, where there are too few rows for blocks of the usual size."""
BLOCK_TILES = 8
"""Tiles in a block of rows, where threads take blocks of rows."""


def shared_panels(
    matrix: Product,
    panel: tir.Var,
    panels: PrimExpr,
    body: st.Stmt,
    work: PrimExpr,
    threads: int,
    grain: PrimExpr | int | None = None,
) -> st.Stmt:
    """A parallel loop over batch and panels, fused: each thread takes its part of them in order, `grain` at a time
    (None: as many as are worth a thread), so that tiles can prefetch the next panels.
    """
    batches = product([a.extent for a in matrix.batch])
    if threads <= 1:
        return nest(matrix.batch, loop(panel, panels, body))
    flat = index_var("part")
    inner: st.Stmt = st.LetStmt(panel, ops.floormod(flat, panels), body)
    rest = ops.floordiv(flat, panels)
    for axis in reversed(matrix.batch):
        wide = as_int64(axis.extent)
        value = rest if axis is matrix.batch[0] else ops.floormod(rest, wide)
        inner = st.LetStmt(axis.var, ops.cast(axis.var.dtype, value), inner)
        rest = ops.floordiv(rest, wide)
    each = worth_a_thread(work) if grain is None else grain
    return loop(flat, ops.multiply(batches, panels), inner, PARALLEL, grain=each, apart=True)


def worth_a_thread(work: PrimExpr) -> PrimExpr | int:
    """How many panels are worth a thread, where each takes `work` operations."""
    fixed = constant(work)
    if fixed is not None:
        return max(1, thread_work() // max(1, fixed))
    return ops.floordiv(i64(thread_work()), ops.add(work, i64(1)))


def shares_rows(matrix: Product, panels: PrimExpr, threads: int, group: int = 1) -> bool:
    """Whether threads take blocks of rows instead of panels: there are few panels, and enough work. An instruction
    multiplies `group` pairs per lane.
    """
    batches = constant(product([a.extent for a in matrix.batch])) or 0
    count = constant(panels)
    if threads <= 1 or batches > 2 or count is None or count >= 2 * threads:
        return False
    pairs = constant(product([a.extent for a in (*matrix.batch, *matrix.outer, matrix.rows, matrix.columns, matrix.k)]))
    return pairs is None or pairs > 64 * group * WORTH_A_THREAD


def row_blocks(
    matrix: Product,
    shape: TileShape,
    panels: PrimExpr,
    panel: tir.Var,
    with_panel: Callable[[st.Stmt], st.Stmt],
    tiles: Callable[[PrimExpr, PrimExpr], st.Stmt],
    threads: int,
) -> st.Stmt:
    """A parallel loop over blocks of rows, each of which packs the panels for itself. In a convolution packing takes as
    long as several rows do, so each thread gets one block.
    """
    block = index_var("block")
    usual = BLOCK_TILES
    if matrix.pack is not None and matrix.rows.size is not None:
        usual = max(usual, -(-matrix.rows.size // (shape.rows * threads)))
    step_rows = shape.rows * tuned("block_tiles", usual, (2, 4, 8, 16, 32))
    every, blocks = as_int64(matrix.rows.extent), _even_blocks(matrix, step_rows, threads)
    first, after = (ops.floordiv(ops.multiply(n, every), blocks) for n in (block, ops.add(block, i64(1))))
    is_even = constant(ops.floormod(every, blocks)) == 0
    count = ops.floordiv(every, blocks) if is_even else ops.subtract(after, first)
    inner = loop(panel, panels, with_panel(tiles(first, count)))
    return nest((*matrix.batch, *matrix.outer), loop(block, blocks, inner, PARALLEL, grain=1))


def _even_blocks(matrix: Product, most_rows: int, threads: int) -> PrimExpr:
    """How many blocks of up to `most_rows` rows there are: as many for each thread, and one for each where all rows are
    one block, but have enough rows and half of what is otherwise given to a thread at a time.
    """
    rows, size, each = as_int64(matrix.rows.extent), matrix.rows.size, i64(most_rows * threads)
    work = product([a.extent for a in (matrix.rows, matrix.columns, matrix.k)])
    worth = ops.floordiv(work, i64(16 * thread_work() // 2))
    few = ops.max(ops.min(i64(threads), ops.min(ops.floordiv(rows, i64(LEAST_BLOCK_ROWS)), worth)), i64(1))
    many = ops.multiply(ops.floordiv(ops.add(rows, ops.subtract(each, i64(1))), each), i64(threads))
    if matrix.least_rows > 1:  # there are no lower tiles
        many = ops.min(many, ops.floordiv(rows, i64(matrix.least_rows)))
    if size is not None:
        return few if size <= most_rows else many
    return where(tir.LE(rows, i64(most_rows)), few, many)


def blocks_of_rows(matrix: Product, shape: TileShape, target: Target) -> PrimExpr:
    """How many blocks the rows are cut into that go through all panels, if there is one for each thread; else 1.

    Blocks of a known number of rows are of one size, of whole tiles, and not of sums so long that their panels fill a
    cache.
    """
    rows, known, threads = as_int64(matrix.rows.extent), matrix.rows.size, target.num_cores
    if known is None:
        blocks = ops.floordiv(rows, i64(BLOCK_ROWS))
        return where(tir.GE(blocks, i64(threads)), blocks, i64(1))
    part = BLOCK_ROWS * (matrix.k.size or 0) * load_of(matrix.left).dtype.itemsize
    if part * PARTS > target.cpu.l2_bytes:
        return i64(1)
    even = [n for n in range(max(2, threads), known // BLOCK_ROWS + 1) if known % (n * shape.rows) == 0]
    return i64(max(even, default=1))


def shared_blocks(
    matrix: Product,
    blocks: PrimExpr,
    panel: tir.Var,
    panels: PrimExpr,
    tiles: Callable[[PrimExpr, PrimExpr], st.Stmt],
    work: PrimExpr,
    threads: int,
) -> st.Stmt:
    """Threads take blocks of rows through all panels: a thread's part of A and of the result is then in its own cache
    alone. Where there is one block they take panels. `tiles` makes those of so many rows from the first on.
    """
    every = as_int64(matrix.rows.extent)
    if constant(blocks) == 1:
        return shared_panels(matrix, panel, panels, tiles(i64(0), every), work, threads)
    block, is_cut = index_var("block"), tir.GT(blocks, i64(1))
    first, after = (ops.floordiv(ops.multiply(n, every), blocks) for n in (block, ops.add(block, i64(1))))
    count = ops.subtract(after, first)
    if matrix.rows.size is not None:  # of one size
        count = ops.floordiv(every, blocks)
        first = ops.multiply(block, count)
    each = worth_a_thread(work)
    grain = where(is_cut, panels, each if isinstance(each, PrimExpr) else i64(each))
    each_block = replace(matrix, batch=(Axis(block, blocks),))
    return shared_panels(each_block, panel, panels, tiles(first, count), work, threads, grain)
