"""Products whose right factor was packed at compile time.

    C[.., i, j] = sum over k of A[.., i, k] * P[j // width, k, j % width]

`lower/pack_weights` lays constant weights out this way: panels of `width` columns, each contiguous. Nothing is packed
at run time. Tiles of rows run down A for each panel as in `matmul`. With few rows, the panels are read as one stream at
cache or memory bandwidth, with several accumulators per result (several panels at once are prefetched less well: 135
instead of 200 GB/s from L2). Where the stride of A's rows is a multiple of 4 KB, the rows of a tile map to the same set
of L1: a tile then has at most as many rows as L1 has ways.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.blocked_terms import Blocks, far_blocks, terms_of_block
from baton._src.lower.kernel_schedules.products.converted_rows import with_converted_rows
from baton._src.lower.kernel_schedules.products.last_columns import last_columns, with_last_columns
from baton._src.lower.kernel_schedules.products.matmul import FEW_ROWS
from baton._src.lower.kernel_schedules.products.packed_streams import streamed_panels
from baton._src.lower.kernel_schedules.products.packed_weights import Panels, panel_width
from baton._src.lower.kernel_schedules.products.panel_groups import group_size, in_turn, member
from baton._src.lower.kernel_schedules.products.panel_packing import converting_beside
from baton._src.lower.kernel_schedules.products.product_tiles import shape_for
from baton._src.lower.kernel_schedules.products.products import Product, exactly, find_product, merged_rows, renamed
from baton._src.lower.kernel_schedules.products.row_tiles import (
    multiply_add_tile,
    panel_tiles,
)
from baton._src.lower.kernel_schedules.products.rows_ahead import both, tile_prefetches
from baton._src.lower.kernel_schedules.products.sharing import (
    blocks_of_rows,
    row_blocks,
    shared_blocks,
    shared_panels,
    shares_rows,
)
from baton._src.lower.kernel_schedules.products.tiles import tile_shape
from baton._src.lower.kernel_schedules.shared.anchors import find_anchor
from baton._src.lower.kernel_schedules.shared.factors import load_of
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
from baton._src.lower.kernel_schedules.shared.loops import (
    allocated,
    constant,
    i64,
    index_var,
    local_buffer,
    nest,
    product,
)
from baton._src.lower.kernel_schedules.shared.stages import Declined, read_kernel
from baton._src.lower.kernel_schedules.surroundings import surrounded
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.prim_func import PrimFunc

FEWEST_ROWS = (1, 2, 3, 4)
"""Row counts that get several partial sums even when the number of rows is unknown: one would be limited by latency."""


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """Apply the schedule rule; see the module."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    kernel = inline_elementwise(kernel)
    matrix = find_product(kernel)
    width = None if matrix is None else panel_width(matrix.right, matrix.columns.var, matrix.k.var)
    if matrix is None or matrix.right is None or width is None:
        return Declined("no product with packed weights")
    if constant(load_of(matrix.right).buffer.shape[1]) != matrix.k.size:
        return Declined("sums over a part of packed weights")
    lanes = tile_shape(target, matrix.stage.buffer.dtype).lanes
    if width % lanes:
        return Declined(f"panels of {width} columns, which a program has packed itself, are not whole vectors")
    found = find_anchor(kernel, lambda s: s is matrix.stage)
    assert found is not None

    def parts(plain: Product) -> st.Stmt:
        return with_last_columns(
            plain, target, last_columns(plain, target), lambda part: _emit(Panels(part, width, lanes), target)
        )

    body = with_converted_rows(merged_rows(matrix), target, parts)
    return kernel.rebuilt(surrounded(kernel, found, body, target))


def _emit(panels: Panels, target: Target) -> st.Stmt:
    matrix = panels.matrix
    count = constant(product([a.extent for a in (*matrix.outer, matrix.rows)]))
    if count is not None:
        return (streamed_panels if count <= FEW_ROWS else _tiles)(panels, target)
    if not matrix.has_one_row_axis:
        return _tiles(panels, target)
    more = replace(matrix, least_rows=len(FEWEST_ROWS) + 1)
    every = _tiles(replace(panels, matrix=more), target)
    for rows in FEWEST_ROWS:
        just = replace(panels, matrix=exactly(renamed(matrix), rows))
        every = st.IfThenElse(tir.EQ(as_int64(matrix.rows.extent), i64(rows)), streamed_panels(just, target), every)
    return every


def _turns(panels: Panels, target: Target) -> tuple[int, int]:
    """How many panels take turns, and of how many terms a block of their sums is; 0: of all."""
    together, terms = far_blocks(panels, target)
    if terms:
        return together, terms
    together = group_size(panels.matrix, panels.width, target)
    return together, terms_of_block(panels, target) if together == 1 else 0


def _tiles(panels: Panels, target: Target) -> st.Stmt:
    matrix = panels.matrix
    shape = shape_for(matrix, target)
    group, turn = index_var("panel"), index_var("turn")
    dtype = matrix.stage.buffer.dtype
    together, terms = _turns(panels, target) if panels.dtype == dtype else (1, 0)
    number = member(together, group, turn)
    source = panels.panel(number)
    packed = source if source.dtype == dtype else local_buffer("packed", source.shape, dtype)

    def with_panel(rows: st.Stmt) -> st.Stmt:
        """Weights of half the width are converted a panel at a time, once for all tiles of rows."""
        return rows if packed is source else allocated(packed, rows)

    def tiles(first: PrimExpr, count: PrimExpr) -> st.Stmt:
        if terms:
            return Blocks(panels, number, packed, terms, turn, together).tiles(shape, first, count)
        ahead = panels.ahead(number, together)
        if packed is not source:
            ahead = both(converting_beside(source, packed, panels.width), ahead)
        prefetches = tile_prefetches(matrix, target, ahead)
        kind = in_turn(together, turn, partial(multiply_add_tile, steps=shape.steps))
        return panel_tiles(matrix, shape, panels.width, number, first, count, packed, prefetches, kind)

    threads = target.num_cores
    if shares_rows(matrix, i64(panels.count), threads):
        return row_blocks(matrix, shape, i64(panels.count // together), group, with_panel, tiles, threads)
    work = product([a.extent for a in (*matrix.outer, matrix.rows, matrix.k)])
    work = ops.multiply(work, i64(together * max(1, panels.width // 16)))
    every, groups = as_int64(matrix.rows.extent), i64(panels.count // together)
    if packed is source and matrix.has_one_row_axis:
        blocks = blocks_of_rows(matrix, shape, target)
        return shared_blocks(matrix, blocks, group, groups, lambda *of: nest(matrix.outer, tiles(*of)), work, threads)
    body = with_panel(nest(matrix.outer, tiles(i64(0), every)))
    return shared_panels(matrix, group, groups, body, work, threads)
