"""Products of matrices: register tiles over packed panels.

    C[batch.., i, j] = sum over k of A[batch.., i, k] * B[batch.., k, j]      (any layout; elementwise stages after it)

For each panel of columns B is packed into a buffer of its own, `width` columns side by side for every k, zeros beyond
the last column; then tiles of rows run down A. One tile holds rows x width sums in registers while k runs, and writes
them out through the elementwise stages that follow. Panels (or blocks of rows, where panels are few) are shared
between threads. With few rows packing does not pay: B is then read where it lies if its columns are contiguous;
otherwise each result is a dot product, which is the general rule's business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.affine import depends, merge_pair, step
from baton._src.lower.kernel_schedules.anchors import Anchored, find_anchor, surrounded
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.factors import bound, is_simple, load_of
from baton._src.lower.kernel_schedules.inline import inline_elementwise
from baton._src.lower.kernel_schedules.loops import (
    PARALLEL,
    VECTORIZED,
    WORTH_A_THREAD,
    allocated,
    constant,
    i64,
    index_var,
    local_buffer,
    loop,
    nest,
    product,
    sequence,
    thread_work,
)
from baton._src.lower.kernel_schedules.panel_packing import Factor, pack_panel, where
from baton._src.lower.kernel_schedules.rows import emit_stages
from baton._src.lower.kernel_schedules.stages import Axis, Declined, Kernel, Stage, read_kernel
from baton._src.lower.kernel_schedules.tiles import Accumulators, TileShape, tile_shape, unrolled_by
from baton._src.passes.tir.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc

FEW_ROWS = 4
"""Up to this many rows B is not packed."""
FEW_COLUMNS = 4
"""Up to this many columns along k, or half as many across it, dot products are faster than a mostly empty tile."""
UNROLL_K = 1
"""How often the loop over k is written out: one k fills the pipeline already, and more costs compile time."""

BLOCK_TILES = 8
"""Tiles of a block of rows, where threads share those."""

Ahead = Callable[[PrimExpr, PrimExpr], Callable[[PrimExpr], st.Stmt]]
"""From the number of a tile and how many there are: what each step along k does beside its multiplications."""


Tile = Callable[
    ["Product", int, int, PrimExpr, PrimExpr, Buffer, Callable[[PrimExpr], st.Stmt] | None],
    st.Stmt,
]
"""Makes a tile: the product, rows, width, first row, first column, packed panel, and what each step along k does
beside.
"""


@dataclass(frozen=True)
class Product:
    """The parts of a matrix product: axes by role, and its two factors as expressions over them."""

    anchored: Anchored
    batch: tuple[Axis, ...]
    outer: tuple[Axis, ...]
    """Row axes before the last one (of A and C, not of B)."""
    rows: Axis
    columns: Axis
    k: Axis
    left: PrimExpr
    right: PrimExpr | None
    """The right factor, if it is loaded as it is needed; else `pack` knows."""
    pack: Callable[[Buffer, PrimExpr, int], st.Stmt] | None = None
    """Writes the packed panel of `width` columns from a given one on."""
    whole: Anchored | None = None
    """The stages this replaces, as the kernel has them, if they differ from `anchored`."""

    @property
    def origin(self) -> Anchored:
        return self.whole or self.anchored

    @property
    def stage(self) -> Stage:
        return self.anchored.stage


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """The rule; see the module."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    kernel = inline_elementwise(kernel)
    matrix = find_product(kernel)
    if matrix is None:
        return Declined("no stage is a product of matrices")
    found = matrix.anchored
    matrix = merged_rows(matrix)
    body = _emit(matrix, kernel, target)
    if isinstance(body, Declined):
        return body
    return kernel.rebuilt(surrounded(kernel, found, body, target))


def find_product(kernel: Kernel) -> Product | None:
    """The first stage that is a product of matrices, with its epilogue."""
    found = find_anchor(kernel, lambda s: not isinstance(_product(Anchored(s, None)), Declined))
    matrix = None if found is None else _product(found)
    return None if isinstance(matrix, Declined) else matrix


def merged_rows(matrix: Product) -> Product:
    """`matrix` with the row axes as one, as far as they lie together in A and C: tiles then run across them."""
    while matrix.outer and not all(a.size == 1 for a in matrix.outer):
        stage, epilogue = matrix.stage, matrix.anchored.epilogue
        place = stage.spatial.index(matrix.rows)
        if place == 0 or stage.spatial[place - 1] not in matrix.outer:
            break
        merged = merge_pair(stage, stage.spatial[place - 1], stage.spatial[place])
        after = None if epilogue is None else merge_pair(epilogue, *epilogue.spatial[place - 1 : place + 1])
        if merged is None or (epilogue is not None and after is None):
            break
        found = _product(Anchored(merged, after))
        if isinstance(found, Declined):
            break
        matrix = found
    return matrix


def _product(anchored: Anchored) -> Product | Declined:
    stage = anchored.stage
    if stage.combiner is not tir.Add or len(stage.reduce) != 1 or len(stage.spatial) < 2:
        return Declined("not a sum over one axis")
    if not isinstance(stage.value, tir.Mul):
        return Declined("the terms are no products")
    k, columns = stage.reduce[0], stage.spatial[-1]
    left, right = stage.value.a, stage.value.b
    if depends(left, columns.var):
        left, right = right, left
    if depends(left, columns.var) or not (depends(left, k.var) and depends(right, k.var)):
        return Declined("the factors share the columns")
    batch = tuple(a for a in stage.spatial[:-1] if depends(right, a.var))
    free = tuple(a for a in stage.spatial[:-1] if a not in batch)
    if not free or not depends(right, columns.var) or not all(depends(left, a.var) for a in free if a.size != 1):
        return Declined("a factor does not vary with the rows or columns")
    rows = max(free, key=lambda a: (a.size != 1, stage.spatial.index(a)))
    outer = tuple(a for a in free if a is not rows)
    if not (is_simple(left) and is_simple(right)):
        return Declined("a factor is computed, not loaded")
    return Product(anchored, batch, outer, rows, columns, k, left, right)


def _emit(matrix: Product, kernel: Kernel, target: Target) -> st.Stmt | Declined:
    count = _row_count(matrix)
    assert matrix.right is not None
    contiguous = step(load_of(matrix.right), matrix.columns) == 1
    few = FEW_COLUMNS if step(load_of(matrix.right), matrix.k) == 1 else FEW_COLUMNS // 2
    if (matrix.columns.size or few + 1) <= few and step(load_of(matrix.left), matrix.k) == 1:
        return Declined("few columns: dot products")
    if count is not None and count <= FEW_ROWS:
        return _few_rows(matrix, target) if contiguous else Declined("few rows of dot products")
    if (
        contiguous
        and count is not None
        and count == matrix.rows.size
        and count <= tile_shape(target, matrix.stage.buffer.dtype).rows
    ):
        return _few_rows(matrix, target)  # one tile would use each packed panel once
    packed = packed_product(matrix, target)
    if count is not None:
        return packed
    total = product([a.extent for a in (*matrix.outer, matrix.rows)])
    renamed = [s.renamed() for s in matrix.anchored.stages]
    small = emit_stages(kernel, renamed, target)
    return st.IfThenElse(tir.LE(total, i64(FEW_ROWS)), small, packed)


def _row_count(matrix: Product) -> int | None:
    return constant(product([a.extent for a in (*matrix.outer, matrix.rows)]))


# --------------------------------------------------------------------------------------------------- packed


def packed_product(matrix: Product, target: Target) -> st.Stmt:
    """The product over packed panels."""
    shape = tile_shape(target, matrix.stage.buffer.dtype)
    vectors = _width(matrix, shape) // shape.lanes
    width = shape.lanes * tuned("tile_vectors", vectors, range(1, 5))
    panels = ops.floordiv(ops.add(as_int64(matrix.columns.extent), i64(width - 1)), i64(width))
    panel = index_var("panel")
    start = ops.multiply(panel, i64(width))
    packed = local_buffer("packed", (ops.multiply(as_int64(matrix.k.extent), i64(width)),), matrix.stage.buffer.dtype)

    def plain(buffer: Buffer, at: PrimExpr, wide: int) -> st.Stmt:
        assert matrix.right is not None
        return pack_panel(Factor(matrix.right, matrix.k, matrix.columns), buffer, at, wide, shape.lanes)

    pack = matrix.pack or plain

    def with_panel(rows: st.Stmt) -> st.Stmt:
        return allocated(packed, sequence(pack(packed, start, width), rows))

    def tiles(first: PrimExpr, count: PrimExpr) -> st.Stmt:
        return row_tiles(matrix, shape, width, first, count, start, packed)

    flops = product([a.extent for a in (*matrix.batch, *matrix.outer, matrix.rows, matrix.columns, matrix.k)])
    enough = constant(panels)
    threads = target.num_cores
    work = ops.multiply(product([a.extent for a in (*matrix.outer, matrix.rows, matrix.k)]), i64(max(1, width // 16)))
    every = as_int64(matrix.rows.extent)
    size = constant(flops)
    few_panels = (
        enough is not None and enough < 2 * threads and not (constant(product(_extents(matrix.batch))) or 0) > 2
    )
    if threads > 1 and few_panels and (size is None or size > 64 * WORTH_A_THREAD):
        return row_blocks(matrix, shape, panels, panel, with_panel, tiles)
    body = with_panel(nest(matrix.outer, tiles(i64(0), every)))
    return shared_panels(matrix, panel, panels, body, work, threads)


def _extents(axes: tuple[Axis, ...]) -> list[PrimExpr]:
    return [a.extent for a in axes]


def _width(matrix: Product, shape: TileShape) -> int:
    size = matrix.columns.size
    if size is not None and size <= shape.lanes * (shape.vectors - 1):
        return shape.lanes * max(1, -(-size // shape.lanes))
    return shape.width


def shared_panels(
    matrix: Product, panel: tir.Var, panels: PrimExpr, body: st.Stmt, work: PrimExpr, threads: int
) -> st.Stmt:
    """Loops over batch and panels as one, shared."""
    batches = product(_extents(matrix.batch))
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
    fixed = constant(work)
    grain = (
        max(1, thread_work() // max(1, fixed))
        if fixed is not None
        else ops.floordiv(i64(thread_work()), ops.add(work, i64(1)))
    )
    return loop(flat, ops.multiply(batches, panels), inner, PARALLEL, grain=grain)


def row_blocks(
    matrix: Product,
    shape: TileShape,
    panels: PrimExpr,
    panel: tir.Var,
    with_panel: Callable[[st.Stmt], st.Stmt],
    tiles: Callable[[PrimExpr, PrimExpr], st.Stmt],
) -> st.Stmt:
    """Blocks of rows shared between threads, each packing the panels for itself."""
    block = index_var("block")
    step_rows = shape.rows * tuned("block_tiles", BLOCK_TILES, (2, 4, 8, 16, 32))
    every = as_int64(matrix.rows.extent)
    blocks = ops.floordiv(ops.add(every, i64(step_rows - 1)), i64(step_rows))
    first = ops.multiply(block, i64(step_rows))
    count = ops.min(i64(step_rows), ops.subtract(every, first))
    inner = loop(panel, panels, with_panel(tiles(first, count)))
    return nest((*matrix.batch, *matrix.outer), loop(block, blocks, inner, PARALLEL, grain=1))


def row_tiles(
    matrix: Product,
    shape: TileShape,
    width: int,
    first: PrimExpr,
    count: PrimExpr,
    start: PrimExpr,
    packed: Buffer,
    ahead: Ahead | None = None,
    tile_of: Tile | None = None,
) -> st.Stmt:
    """Tiles of `shape.rows` rows, then smaller ones for what is left. `ahead` asks for what later tiles need, `tile_of`
    makes a tile other than by multiply-adds.
    """
    make = tile_of or _tile
    parts: list[st.Stmt] = []
    size = constant(count)
    most = shape.rows * (shape.width // width) or shape.rows * shape.width // width
    tall = tuned("tile_rows", tile_rows(matrix.rows.size, most), shape.heights(width // shape.lanes))
    done: PrimExpr = first
    if size is None or size >= tall:
        tile = index_var("tile")
        place = ops.add(first, ops.multiply(tile, i64(tall)))
        full = ops.floordiv(count, i64(tall))
        beside = None if ahead is None else ahead(tile, full)
        parts.append(loop(tile, full, make(matrix, tall, width, place, start, packed, beside)))
        done = ops.add(first, ops.multiply(full, i64(tall)))
    if size is not None:
        rest = size % tall
        if rest:
            parts.append(make(matrix, rest, width, done, start, packed, None))
    else:
        left = ops.subtract(ops.add(first, count), done)
        fours = index_var("four")
        quads = ops.floordiv(left, i64(4))
        parts.append(
            loop(fours, quads, make(matrix, 4, width, ops.add(done, ops.multiply(fours, i64(4))), start, packed, None))
        )
        last = ops.add(done, ops.multiply(quads, i64(4)))
        for rows in (1, 2, 3):  # as one tile: alone, a row's few sums wait for each other
            over = tir.EQ(ops.floormod(left, i64(4)), i64(rows))
            parts.append(st.IfThenElse(over, make(matrix, rows, width, last, start, packed, None)))
    return sequence(*parts)


def steps_of_k() -> int:
    """How many steps along k are written out at a time."""
    return tuned("unroll_k", UNROLL_K, (1, 2, 4, 8))


def tile_rows(rows: int | None, most: int) -> int:
    """Rows of a tile: the most there are registers for, or fewer if that leaves none, or no small one, at the end."""
    if rows is None or rows <= most:
        return most
    even = -(-rows // -(-rows // most))
    return next((count for count in range(most, most * 2 // 3 - 1, -1) if rows % count == 0), even)


def _tile(
    matrix: Product,
    rows: int,
    width: int,
    first: PrimExpr,
    start: PrimExpr,
    packed: Buffer,
    beside: Callable[[PrimExpr], st.Stmt] | None = None,
) -> st.Stmt:
    stage = matrix.stage
    acc = Accumulators.of(rows, width, stage.buffer.dtype)
    assert stage.init is not None
    init = stage.init

    def update(k: PrimExpr) -> st.Stmt:
        def term(row: int, lane: tir.Var) -> PrimExpr:
            left = bound(matrix.left, {matrix.k: k, matrix.rows: ops.add(first, i64(row))})
            right = tir.BufferLoad(packed, (ops.add(ops.multiply(k, i64(width)), lane),))
            return tir.Add(acc.load(row, lane), tir.Mul(left, right))

        return acc.each(term) if beside is None else sequence(beside(k), acc.each(term))

    body = sequence(
        acc.each(lambda row, lane: init),
        unrolled_by(steps_of_k(), matrix.k.extent, "k", update),
        write_out(matrix, acc, first, start),
    )
    return allocated(acc.buffer, body)


def write_out(matrix: Product, acc: Accumulators, first: PrimExpr, start: PrimExpr) -> st.Stmt:
    """Store the tile through the epilogue; columns beyond the last are left alone."""
    size = matrix.columns.size
    whole = size is not None and size % acc.width == 0
    rows = [ops.add(first, i64(row)) for row in range(acc.rows)]
    if whole:
        return sequence(*(store_row(matrix, acc, n, at, start, masked=False) for n, at in enumerate(rows)))
    # Full panels need no mask: two versions.
    free = sequence(*(store_row(matrix, acc, n, at, start, masked=False) for n, at in enumerate(rows)))
    masked = sequence(*(store_row(matrix, acc, n, at, start, masked=True) for n, at in enumerate(rows)))
    inside = tir.LE(ops.add(start, i64(acc.width)), as_int64(matrix.columns.extent))
    return st.IfThenElse(inside, free, masked)


def store_row(matrix: Product, acc: Accumulators, number: int, row: PrimExpr, start: PrimExpr, masked: bool) -> st.Stmt:
    """Store one row of a tile, from column `start` on; `masked`: as far as there are columns."""
    lane = index_var("v")
    places = {matrix.rows: row, matrix.columns: ops.add(start, lane)}
    store = matrix.anchored.store(acc.load(number, lane), {a.var: p for a, p in places.items()})
    if masked:
        store = st.IfThenElse(tir.LT(places[matrix.columns], as_int64(matrix.columns.extent)), store)
    return loop(lane, acc.width, store, VECTORIZED)


# ------------------------------------------------------------------------------------------------- few rows


def _few_rows(matrix: Product, target: Target) -> st.Stmt:
    """All rows at once; B read where it lies, several vectors of columns side by side."""
    shape = tile_shape(target, matrix.stage.buffer.dtype)
    rows = matrix.rows.size
    assert rows is not None
    size = matrix.columns.size
    # Registers: the sums, one vector of B a column, and a broadcast element of A.
    room = shape.rows * shape.vectors + 4
    width = shape.lanes * next((n for n in (8, 6, 4, 2) if (rows + 1) * n < room), 1)
    if size is not None and size < width:
        width = shape.lanes * max(1, -(-size // shape.lanes))
    panels = ops.floordiv(ops.add(as_int64(matrix.columns.extent), i64(width - 1)), i64(width))
    panel = index_var("panel")
    start = ops.multiply(panel, i64(width))
    acc = Accumulators.of(rows, width, matrix.stage.buffer.dtype)
    full = _strip(matrix, acc, start, masked=False)
    if size is not None and size % width == 0:
        body = full
    else:
        inside = tir.LE(ops.add(start, i64(width)), as_int64(matrix.columns.extent))
        body = st.IfThenElse(inside, full, _strip(matrix, acc, start, masked=True))
    body = nest(matrix.outer, allocated(acc.buffer, body))
    work = ops.multiply(as_int64(matrix.k.extent), i64(max(1, rows * width // 16)))
    return shared_panels(matrix, panel, panels, body, work, target.num_cores)


def _strip(matrix: Product, acc: Accumulators, start: PrimExpr, masked: bool) -> st.Stmt:
    init = matrix.stage.init
    assert init is not None
    assert matrix.right is not None
    source = matrix.right
    zero = ops.const(0, acc.buffer.dtype)
    end = as_int64(matrix.columns.extent)

    def update(k: PrimExpr) -> st.Stmt:
        def term(row: int, lane: tir.Var) -> PrimExpr:
            column = ops.add(start, lane)
            left = bound(matrix.left, {matrix.k: k, matrix.rows: i64(row)})
            right = bound(source, {matrix.k: k, matrix.columns: column})
            if masked:
                right = where(tir.LT(column, end), right, zero)
            return tir.Add(acc.load(row, lane), tir.Mul(left, right))

        return acc.each(term)

    return sequence(
        acc.each(lambda row, lane: init),
        unrolled_by(steps_of_k(), matrix.k.extent, "k", update),
        write_out(matrix, acc, i64(0), start),
    )
