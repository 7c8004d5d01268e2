"""Products whose right factor was packed when the program was compiled.

    C[.., i, j] = sum over k of A[.., i, k] * P[j // width, k, j % width]

`lower/pack_weights` writes constant weights this way: panels of `width` columns, all of a panel in one piece. Nothing
is packed at run time; tiles of rows run down A for each panel as in `matmul`, and a few rows read panel after panel as
one stream, which is as fast as caches and memory deliver it (panels side by side are foreseen less: 135 instead of
200 GB/s from a second-level cache), with several sums for each result. Where the rows of A lie a multiple of 4 KB
apart, a tile's rows compete for the same lines of the first-level cache: tiles are then no taller than a set has lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.products import short_sums
from baton._src.lower.kernel_schedules.products.converted_rows import with_converted_rows
from baton._src.lower.kernel_schedules.products.last_columns import last_columns, with_last_columns
from baton._src.lower.kernel_schedules.products.matmul import FEW_ROWS, shape_for
from baton._src.lower.kernel_schedules.products.panel_groups import group_size, in_turn, member
from baton._src.lower.kernel_schedules.products.panel_packing import Ahead, asking_for
from baton._src.lower.kernel_schedules.products.products import Product, exactly, find_product, merged_rows, renamed
from baton._src.lower.kernel_schedules.products.row_tiles import (
    columns_of,
    multiply_add_tile,
    panel_tiles,
    steps_of_k,
    store_row,
)
from baton._src.lower.kernel_schedules.products.sharing import row_blocks, shared_panels, shares_rows
from baton._src.lower.kernel_schedules.products.tiles import Accumulators, tile_shape, unrolled_by
from baton._src.lower.kernel_schedules.shared.anchors import find_anchor
from baton._src.lower.kernel_schedules.shared.factors import bound, load_of
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
from baton._src.lower.kernel_schedules.shared.loops import (
    PARALLEL,
    VECTORIZED,
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
from baton._src.lower.kernel_schedules.shared.stages import Declined, read_kernel
from baton._src.lower.kernel_schedules.surroundings import surrounded
from baton._src.passes.tir.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import DataType

FLOAT16 = DataType("float16")
WORTH_STREAMING = 1 << 12
"""Vectors of weights that are worth a thread of their own: 2 to 3 microseconds from the second-level cache."""
ACCUMULATORS = 16
"""Vectors of sums that hide the latency of a multiply-add, for two a cycle with room to spare."""
MOST_SUMS = 8
"""Of one result, each of every so many terms."""
FEWEST_ROWS = (1, 2, 3, 4)
"""Numbers of rows whose terms have several sums even where any may come: one would wait for its last multiply-add."""


@dataclass(frozen=True)
class Weight:
    """A parameter of a kernel that could be packed: its place, whether it lies (n, k), and the width of a panel.

    `gates`: the columns are so many groups, and a panel has `width` columns of each (`recurrence`); 0: they are one.
    """

    place: int
    buffer: Buffer
    load: tir.BufferLoad
    columns_first: bool
    width: int
    gates: int = 0
    group: int = 1
    """So many neighbours along k lie side by side (`dot_products`)."""


def packable_weight(func: PrimFunc, target: Target) -> Weight | None:
    """The right factor of the product in `func`, if it is a matrix among the parameters that is read nowhere else."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return None
    matrix = find_product(inline_elementwise(kernel))
    if matrix is None or matrix.right is None or matrix.batch:
        return None
    if short_sums.suits(matrix, target):
        return None
    last = last_columns(matrix, target)
    if last is not None and last.are_all and (matrix.row_count is not None or last.least_rows == 1):
        return None  # no vector is to lie across the columns
    load = load_of(matrix.right)
    inputs = [func.buffer_map.get(p) for p in func.params]
    size = matrix.columns.size
    if load.buffer not in inputs or len(load.indices) != 2 or size is None or matrix.k.size is None:
        return None
    first, second = load.indices
    if (first, second) not in ((matrix.k.var, matrix.columns.var), (matrix.columns.var, matrix.k.var)):
        return None
    if load.buffer.dtype not in (matrix.stage.buffer.dtype, FLOAT16):
        return None
    shape = tile_shape(target, matrix.stage.buffer.dtype)
    width = shape.lanes * max(1, min(shape.vectors, -(-size // shape.lanes)))
    return Weight(inputs.index(load.buffer), load.buffer, load, first is matrix.columns.var, width)


def panel_width(load: PrimExpr | None, columns: tir.Var, k: tir.Var) -> int | None:
    """The width of the panels, if a factor is read from packed panels."""
    if load is None:
        return None
    load = load_of(load)
    if len(load.indices) != 3:
        return None
    match load.indices:
        case (
            tir.FloorDiv(a=a, b=tir.IntImm(value=width)),
            tir.Var() as row,
            tir.FloorMod(a=b, b=tir.IntImm(value=same)),
        ):
            whole = a is columns and b is columns and row is k and width == same
            return width if whole and constant(load.buffer.shape[2]) == width else None
        case _:
            return None


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """The rule; see the module."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    kernel = inline_elementwise(kernel)
    matrix = find_product(kernel)
    width = None if matrix is None else panel_width(matrix.right, matrix.columns.var, matrix.k.var)
    if matrix is None or width is None:
        return Declined("no product with packed weights")
    lanes = tile_shape(target, matrix.stage.buffer.dtype).lanes
    if width % lanes:
        return Declined(f"panels of {width} columns, which a program has packed itself, are no whole vectors")
    found = find_anchor(kernel, lambda s: s is matrix.stage)
    assert found is not None

    def parts(plain: Product) -> st.Stmt:
        return with_last_columns(
            plain, target, last_columns(plain, target), lambda part: _emit(_Panels(part, width, lanes), target)
        )

    body = with_converted_rows(merged_rows(matrix), target, parts)
    return kernel.rebuilt(surrounded(kernel, found, body, target))


@dataclass(frozen=True)
class _Panels:
    """A product, and its weights by panel."""

    matrix: Product
    width: int
    lanes: int

    @property
    def count(self) -> int:
        return -(-(self.matrix.columns.size or 0) // self.width)

    @property
    def dtype(self) -> DataType:
        return self.panel(i64(0)).dtype

    def panel(self, number: PrimExpr) -> Buffer:
        """One panel as a vector of k * width elements."""
        assert self.matrix.right is not None
        whole = load_of(self.matrix.right).buffer
        size = (self.matrix.k.size or 0) * self.width
        return Buffer(whole.data, whole.dtype, (i64(size),), (), ops.multiply(number, i64(size)), whole.name)

    def ahead(self, number: PrimExpr, further: int) -> Ahead:
        """Tiles ask for the panel `further` on."""
        later = self.panel(ops.min(ops.add(number, i64(further)), i64(self.count - 1)))
        return asking_for(later, self.matrix.k.size or 1, self.width)


def _emit(panels: _Panels, target: Target) -> st.Stmt:
    matrix = panels.matrix
    count = constant(product([a.extent for a in (*matrix.outer, matrix.rows)]))
    if count is not None:
        return (_few_rows if count <= FEW_ROWS else _tiles)(panels, target)
    if not matrix.has_one_row_axis:
        return _tiles(panels, target)
    more = replace(matrix, least_rows=len(FEWEST_ROWS) + 1)
    every = _tiles(replace(panels, matrix=more), target)
    for rows in FEWEST_ROWS:
        just = replace(panels, matrix=exactly(renamed(matrix), rows))
        every = st.IfThenElse(tir.EQ(as_int64(matrix.rows.extent), i64(rows)), _few_rows(just, target), every)
    return every


def _tiles(panels: _Panels, target: Target) -> st.Stmt:
    matrix = panels.matrix
    shape = shape_for(matrix, target)
    group, turn = index_var("panel"), index_var("turn")
    dtype = matrix.stage.buffer.dtype
    together = group_size(matrix, panels.width, target) if panels.dtype == dtype else 1
    number = member(together, group, turn)
    source = panels.panel(number)
    packed = source if source.dtype == dtype else local_buffer("packed", source.shape, dtype)

    def with_panel(rows: st.Stmt) -> st.Stmt:
        """Float16 is converted a panel at a time: all tiles of rows use it."""
        if packed is source:
            return rows
        at = index_var("at")
        convert = st.BufferStore(packed, ops.cast(dtype, tir.BufferLoad(source, (at,))), (at,))
        return allocated(packed, sequence(loop(at, source.shape[0], convert, VECTORIZED), rows))

    def tiles(first: PrimExpr, count: PrimExpr) -> st.Stmt:
        ahead, kind = panels.ahead(number, together * target.num_cores), in_turn(together, turn, multiply_add_tile)
        return panel_tiles(matrix, shape, panels.width, number, first, count, packed, ahead, kind)

    threads = target.num_cores
    if shares_rows(matrix, i64(panels.count), threads):
        return row_blocks(matrix, shape, i64(panels.count // together), group, with_panel, tiles, threads)
    body = with_panel(nest(matrix.outer, tiles(i64(0), as_int64(matrix.rows.extent))))
    work = ops.multiply(
        product([a.extent for a in (*matrix.outer, matrix.rows, matrix.k)]), i64(max(1, panels.width // 16))
    )
    return shared_panels(matrix, group, i64(panels.count // together), body, ops.multiply(work, i64(together)), threads)


# ------------------------------------------------------------------------------------------------- few rows


def _few_rows(panels: _Panels, target: Target) -> st.Stmt:
    """All rows at once, one panel after the other: the weights stream in one piece."""
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
    """How many of `count` parts of `work` vectors of weights are worth a thread.

    Weights that fit the caches of all cores are shared in equal pieces, one a thread: each core then finds its own
    piece again in the next call. Larger ones come from memory each time; smaller pieces even out the threads.
    """
    fewest = -(-WORTH_STREAMING // max(1, work))
    if count * work * target.vector_bits // 8 <= target.num_cores * target.cpu.l2_bytes:
        return max(fewest, -(-count // target.num_cores))
    return max(fewest, thread_work() // max(1, work))


def _strip(panels: _Panels, rows: int, wide: int, number: PrimExpr, width: int, masked: bool) -> st.Stmt:
    """`rows` x `wide` panels of results, `width` columns of each; accumulator row r * wide + p is row r in panel p.

    Where these are few, every so many terms have sums of their own, which are added up at the end: one sum waits for
    its last multiply-add.
    """
    matrix, pitch = panels.matrix, panels.width
    dtype, count, depth = matrix.stage.buffer.dtype, rows * wide, matrix.k.size or 1
    vectors = -(-width // panels.lanes)
    usual = min(MOST_SUMS, max(1, -(-ACCUMULATORS // (count * vectors))))
    apart = min(depth, tuned("sums_apart", usual, (1, 2, 4, MOST_SUMS)))
    acc = Accumulators.of(apart * count, width, dtype)
    numbers = [ops.add(number, i64(p)) for p in range(wide)]
    packed = [panels.panel(n) for n in numbers]
    init = matrix.stage.init
    assert init is not None

    def update(k: PrimExpr, part: int) -> st.Stmt:
        terms = []
        for place in range(count):
            row, panel = divmod(place, wide)
            left = bound(matrix.left, {matrix.k: k, matrix.rows: i64(row)})
            lane, at = index_var("v"), part * count + place
            right = tir.BufferLoad(packed[panel], (ops.add(ops.multiply(k, i64(pitch)), lane),))
            total = tir.Add(acc.load(at, lane), tir.Mul(left, ops.cast(dtype, right)))
            terms.append(loop(lane, width, st.BufferStore(acc.buffer, total, (acc.at(at, lane),)), VECTORIZED))
        return sequence(*terms)

    stores = []
    for place in range(count):
        row, panel = divmod(place, wide)
        stores.append(store_row(matrix, acc, place, i64(row), ops.multiply(numbers[panel], i64(pitch)), masked))
    begin = acc.each(lambda row, lane: init if row < count else ops.const(0, dtype))
    body = sequence(begin, *_in_turns(depth, apart, update), *_added_up(acc, count), *stores)
    return allocated(acc.buffer, body)


def _in_turns(depth: int, apart: int, update: Callable[[PrimExpr, int], st.Stmt]) -> list[st.Stmt]:
    """`update(k, part)` for every k; the parts take turns."""
    if apart == 1:
        return [unrolled_by(steps_of_k(), i64(depth), "k", lambda k: update(k, 0))]
    step, (full, rest) = index_var("k_o"), divmod(depth, apart)
    first = ops.multiply(step, i64(apart))
    parts = [loop(step, full, sequence(*(update(ops.add(first, i64(n)), n) for n in range(apart))))]
    return parts + [update(i64(full * apart + n), n) for n in range(rest)]


def _added_up(acc: Accumulators, count: int) -> list[st.Stmt]:
    """The sums of all parts in the first `count` accumulator rows: by halves, so that few wait for each other."""
    added, parts = [], acc.rows // count
    while parts > 1:
        half = -(-parts // 2)
        for at in range((parts - half) * count):
            lane = index_var("v")
            total = tir.Add(acc.load(at, lane), acc.load(at + half * count, lane))
            added.append(loop(lane, acc.width, st.BufferStore(acc.buffer, total, (acc.at(at, lane),)), VECTORIZED))
        parts = half
    return added
