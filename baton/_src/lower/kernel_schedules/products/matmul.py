"""Matrix products: register tiles over panels packed at run time.

    C[batch.., i, j] = sum over k of A[batch.., i, k] * B[batch.., k, j]      (any layout; elementwise stages after it)

Each panel of columns of B is packed into its own buffer, `width` columns side by side for every k, with zeros after the
last column; then tiles of rows run down A. A tile holds rows x width accumulators in registers during the loop over k,
and stores them through the elementwise stages that follow. Panels are distributed over threads (blocks of rows, where
panels are few). With few rows packing does not pay: B is then read in place if its columns are contiguous (`few_rows`;
several dozen, or an unknown number: `blocked_rows`; from memory: `streamed_rows`). With few columns, or few rows and an
(n, k) B, results are computed as dot products (`row_dots`, `last_columns`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.products import blocked_rows, short_sums
from baton._src.lower.kernel_schedules.products.converted_rows import with_converted_rows
from baton._src.lower.kernel_schedules.products.few_rows import FEWEST, MOST, few_rows, up_to_most
from baton._src.lower.kernel_schedules.products.last_columns import last_columns, with_last_columns
from baton._src.lower.kernel_schedules.products.panel_groups import group_size, in_turn, member
from baton._src.lower.kernel_schedules.products.panel_packing import (
    Factor,
    fetching,
    pack_panel,
    packing_beside,
    packs_beside,
)
from baton._src.lower.kernel_schedules.products.product_tiles import shape_for
from baton._src.lower.kernel_schedules.products.products import Product, exactly, find_product, merged_rows, renamed
from baton._src.lower.kernel_schedules.products.row_dots import TALL, dot_tiles, most_rows, suits
from baton._src.lower.kernel_schedules.products.row_tiles import multiply_add_tile, panel_tiles
from baton._src.lower.kernel_schedules.products.rows_ahead import tile_prefetches
from baton._src.lower.kernel_schedules.products.sharing import row_blocks, shared_panels, shares_rows
from baton._src.lower.kernel_schedules.products.streamed_rows import MOST as STREAMED_ROWS
from baton._src.lower.kernel_schedules.products.streamed_rows import (
    MOST_NEAR,
    streamed,
    streamed_any,
    streams,
    streams_near,
)
from baton._src.lower.kernel_schedules.products.tiles import TileShape, tile_shape
from baton._src.lower.kernel_schedules.rows import emit_stages
from baton._src.lower.kernel_schedules.shared.affine import step
from baton._src.lower.kernel_schedules.shared.factors import load_of
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
from baton._src.lower.kernel_schedules.shared.loops import (
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    nest,
    product,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.stages import Declined, Kernel, read_kernel
from baton._src.lower.kernel_schedules.surroundings import surrounded
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc

FEW_ROWS = 4
"""Up to this many rows B is not packed."""
FEW_ROWS_IN_CACHE, FEW_ROWS_STREAMED = 12, 5
"""Up to this many, if the second-level cache holds B; if a larger one does."""
FAR = 24
"""Second-level caches that a B fills which comes from memory."""


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """Apply the schedule rule; see the module."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    kernel = inline_elementwise(kernel)
    matrix = find_product(kernel)
    if matrix is None:
        return Declined("no stage is a product of matrices")
    found = matrix.anchored
    matrix = merged_rows(matrix)
    body = product_loops(matrix, kernel, target)
    if isinstance(body, Declined):
        return body
    return kernel.rebuilt(surrounded(kernel, found, body, target))


def product_loops(matrix: Product, kernel: Kernel, target: Target) -> st.Stmt | Declined:
    """The loops of a product whose weights are not packed; the rule declines some that others do better."""
    count = matrix.row_count
    assert matrix.right is not None
    contiguous = step(load_of(matrix.right), matrix.columns) == 1
    if short_sums.suits(matrix, target):
        return short_sums.short_sums(matrix, target)
    if suits(matrix, target):
        return dot_tiles(matrix, target)
    last = last_columns(matrix, target)
    if last is None and not contiguous and count is not None and count <= FEW_ROWS:
        return Declined("few rows of dot products")
    return with_last_columns(matrix, target, last, lambda part: _across_columns(part, kernel, contiguous, target))


def _across_columns(matrix: Product, kernel: Kernel, contiguous: bool, target: Target) -> st.Stmt:
    """Return the loops of the product with vectors along the columns."""
    count, streaming = matrix.row_count, contiguous and streams(matrix, target)
    if count is None:
        return _any_rows(matrix, kernel, contiguous, streaming, target)
    if streaming and 0 < count <= STREAMED_ROWS:
        return streamed(matrix, target)
    if contiguous and 0 < count <= MOST_NEAR and streams_near(matrix, target):
        return streamed(matrix, target, near=True)
    if contiguous and blocked_rows.suits(matrix) and _few(matrix, streaming, target) < count <= blocked_rows.MOST:
        return blocked_rows.blocked(matrix, target)
    in_one_tile = count == matrix.rows.size and count <= tile_shape(target, matrix.stage.buffer.dtype).rows
    if count <= FEW_ROWS or (contiguous and in_one_tile):
        return few_rows(matrix, target)  # a single tile would use each packed panel once
    return packed_product(matrix, target)


def _few(matrix: Product, streaming: bool, target: Target) -> int:
    """Up to how many rows B is read strip by strip: the farther away it is cached, the slower are jumps to other
    pages.
    """
    assert matrix.right is not None
    size: int = (matrix.columns.size or 0) * (matrix.k.size or 0) * load_of(matrix.right).buffer.dtype.itemsize
    if size <= target.cpu.l2_bytes:
        return FEW_ROWS_IN_CACHE
    if not streaming:
        return FEWEST
    return FEW_ROWS_STREAMED if size <= FAR * target.cpu.l2_bytes else FEW_ROWS


def _any_rows(matrix: Product, kernel: Kernel, contiguous: bool, streaming: bool, target: Target) -> st.Stmt:
    """Return the product for a number of rows known only at run time: one version for few rows, one for all others."""
    total = product([a.extent for a in (*matrix.outer, matrix.rows)])
    if contiguous and blocked_rows.suits(matrix):
        every = blocked_rows.blocked(replace(matrix, least_rows=FEWEST + 1), target)
        return st.IfThenElse(tir.LE(total, i64(FEWEST)), _fewest(matrix, total, streaming, target), every)
    every, most = packed_product(matrix, target), most_rows(matrix, target)
    if most:
        return st.IfThenElse(tir.LE(total, i64(most)), _few_dots(matrix, total, target), every)
    if matrix.outer or not contiguous:
        again = [s.renamed() for s in matrix.anchored.stages]
        return st.IfThenElse(tir.LE(total, i64(FEW_ROWS)), emit_stages(kernel, again, target), every)
    return st.IfThenElse(tir.LE(total, i64(MOST)), up_to_most(renamed(matrix), target), every)


def _fewest(matrix: Product, total: PrimExpr, streaming: bool, target: Target) -> st.Stmt:
    """The product of up to `FEWEST` rows in strips; of still fewer row by row of B, where B is not cached nearby."""
    if not streaming and not streams_near(matrix, target):
        return up_to_most(renamed(matrix), target, FEWEST)
    most = STREAMED_ROWS if streaming else MOST_NEAR
    strips = up_to_most(replace(renamed(matrix), least_rows=most + 1), target, FEWEST)
    return st.IfThenElse(tir.LE(total, i64(most)), streamed_any(matrix, target, near=not streaming), strips)


def _few_dots(matrix: Product, total: PrimExpr, target: Target) -> st.Stmt:
    """Dot products of few rows; if they fit in one tile, they are one, which leaves registers for more columns."""
    found = dot_tiles(renamed(matrix), target)
    for rows in range(1, TALL + 1):
        just = dot_tiles(exactly(renamed(matrix), rows), target)
        found = st.IfThenElse(tir.EQ(total, i64(rows)), just, found)
    return found


# --------------------------------------------------------------------------------------------------- packed


def packed_product(matrix: Product, target: Target) -> st.Stmt:
    """Return the loops of the product over packed panels."""
    return with_converted_rows(matrix, target, lambda plain: _Packed(plain, target).emit())


class _Packed:
    """Panels of B, possibly in groups whose tiles take turns, and the tiles of rows that read them."""

    def __init__(self, matrix: Product, target: Target) -> None:
        self.matrix, self.target, self.threads = matrix, target, target.num_cores
        self.shape = shape_for(matrix, target)
        vectors = _width(matrix, self.shape) // self.shape.lanes
        self.width = self.shape.lanes * tuned("tile_vectors", vectors, range(1, 5))
        self.group, self.turn = index_var("panel"), index_var("turn")
        self.together = group_size(matrix, self.width, target)
        self.panel = member(self.together, self.group, self.turn)
        self.start = ops.multiply(self.panel, i64(self.width))
        one = ops.multiply(as_int64(matrix.k.extent), i64(self.width))
        self.buffer = local_buffer("packed", (ops.multiply(one, i64(self.together)),), matrix.stage.buffer.dtype)
        mine = Buffer(self.buffer.data, self.buffer.dtype, (one,), (), ops.multiply(self.turn, one), "packed")
        self.packed = self.buffer if self.together == 1 else mine
        self.factor = None if matrix.right is None else Factor(matrix.right, matrix.k, matrix.columns)
        self.beside = self.factor is not None and packs_beside(self.factor)

    def emit(self) -> st.Stmt:
        matrix, width = self.matrix, self.width
        panels = ops.floordiv(ops.add(as_int64(matrix.columns.extent), i64(width - 1)), i64(width))
        groups = panels if self.together == 1 else ops.floordiv(panels, i64(self.together))
        if shares_rows(matrix, panels, self.threads):
            return row_blocks(matrix, self.shape, groups, self.group, self._with_panel, self._tiles, self.threads)
        every = self._tiles(i64(0), as_int64(matrix.rows.extent))
        body = self._with_panel(nest(matrix.outer, every))
        work = product([a.extent for a in (*matrix.outer, matrix.rows, matrix.k)])
        work = ops.multiply(ops.multiply(work, i64(max(1, width // 16))), i64(self.together))
        return shared_panels(matrix, self.group, groups, body, work, self.threads)

    def _with_panel(self, rows: st.Stmt) -> st.Stmt:
        """The panels of a group followed by the tiles that read them, or tiles that pack the panels as they go."""
        return allocated(self.buffer, rows if self.beside else sequence(self._packing(), rows))

    def _packing(self) -> st.Stmt:
        if self.matrix.pack is not None:
            each = self.matrix.pack(self.packed, self.start, self.width)
        else:
            assert self.factor is not None
            each = pack_panel(self.factor, self.packed, self.start, self.width, self.shape.lanes)
        return each if self.together == 1 else loop(self.turn, self.together, each)

    def _tiles(self, first: PrimExpr, count: PrimExpr) -> st.Stmt:
        """Tiles of `count` rows, which prefetch the panels of the next group."""
        ahead, start = None, self.start
        if self.factor is not None and self.beside:
            ahead = packing_beside(self.factor, self.packed, start, self.width)
        elif self.factor is not None:
            later = ops.add(start, i64(self.width * self.together))
            ahead = fetching(self.factor, later, self.width, self.shape.lanes)
        prefetches = tile_prefetches(self.matrix, self.target, ahead)
        kind = in_turn(self.together, self.turn, partial(multiply_add_tile, steps=self.shape.steps))
        return panel_tiles(self.matrix, self.shape, self.width, self.panel, first, count, self.packed, prefetches, kind)


def _width(matrix: Product, shape: TileShape) -> int:
    size = matrix.columns.size
    if size is not None and size <= shape.lanes * (shape.vectors - 1):
        return shape.lanes * max(1, -(-size // shape.lanes))
    return shape.width
