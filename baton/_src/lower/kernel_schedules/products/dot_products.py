"""Products of 8-bit integers and of bfloat16 through the processor's dot instructions.

    C[.., i, j] = sum over k of A[.., i, k] * B[k, j]

    A, B: unsigned by signed bytes, C: int32; or A, B: bfloat16, C: float32

What lies side by side along k makes words: four bytes or two bfloat16. A word of A, which lies row by row, is
multiplied by a vector of B's words, one of each column, and the sum of its products is added to the column's: four or
two times the work of a multiply-add. Otherwise this is `matmul`: panels of B, packed when compiling (`pack_weights`)
or just before use, tiles of sums in registers, elementwise stages when a tile is written out; and `conv2d`, whose
panels are first packed as there and then interleaved. What remains of k has words filled up with zeros.

Only for processors with the instruction; others have the general rules. Products of signed by signed bytes are made
unsigned by signed ones in the graph (`passes/relax/products/byte_products`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from baton._src.ir.cpu import has_bfloat16_dots, has_byte_dots
from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.convolution.conv2d import find_convolution
from baton._src.lower.kernel_schedules.products.dots import BFLOAT16, INT8, Dot, dot_instruction
from baton._src.lower.kernel_schedules.products.matmul import FEW_ROWS
from baton._src.lower.kernel_schedules.products.panel_packing import Beside, asking_for
from baton._src.lower.kernel_schedules.products.prepacked import Weight
from baton._src.lower.kernel_schedules.products.products import Product, find_product, merged_rows
from baton._src.lower.kernel_schedules.products.row_tiles import (
    asked_results,
    panel_tiles,
    row_blocks,
    rows_in_place,
    shared_panels,
    shares_rows,
    write_out,
)
from baton._src.lower.kernel_schedules.products.tiles import Accumulators, TileShape, tile_shape
from baton._src.lower.kernel_schedules.shared.affine import depends
from baton._src.lower.kernel_schedules.shared.anchors import surrounded
from baton._src.lower.kernel_schedules.shared.factors import bound, is_simple, load_of
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
from baton._src.lower.kernel_schedules.shared.loops import (
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
)
from baton._src.lower.kernel_schedules.shared.stages import Declined, Kernel, read_kernel
from baton._src.passes.tir.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.intrinsics import intrinsic
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import INT32, DataType


@dataclass(frozen=True)
class _Plan:
    """A product in words: `left` and `right` are the dtypes of what is loaded; `width` the columns of a panel."""

    kernel: Kernel
    matrix: Product
    dot: Dot
    right: DataType
    shape: TileShape
    packed: bool
    """Whether B was packed when compiling."""

    @property
    def width(self) -> int:
        return self.shape.width

    @property
    def depth(self) -> int:
        return self.matrix.k.size or 0

    @property
    def words(self) -> int:
        """Along k, with the last one filled up."""
        return -(-self.depth // self.dot.group)


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """The rule; see the module."""
    plan = _plan(func, target)
    if isinstance(plan, Declined):
        return plan
    body = _emit(plan, target)
    return plan.kernel.rebuilt(surrounded(plan.kernel, plan.matrix.origin, body, target))


def packable_words(func: PrimFunc, target: Target) -> Weight | None:
    """The right factor of a product that this rule takes, if it is a matrix parameter that could be packed."""
    plan = _plan(func, target, ahead=True)
    if isinstance(plan, Declined) or plan.packed or plan.matrix.batch:
        return None
    right, columns, k = plan.matrix.right, plan.matrix.columns, plan.matrix.k
    if right is None or columns.size is None:
        return None
    load = load_of(right)
    inputs = [func.buffer_map.get(p) for p in func.params]
    if load.buffer not in inputs or len(load.indices) != 2:
        return None
    first, second = load.indices
    if (first, second) not in ((k.var, columns.var), (columns.var, k.var)):
        return None
    place = inputs.index(load.buffer)
    return Weight(place, load.buffer, load, first is columns.var, plan.width, group=plan.dot.group)


# ------------------------------------------------------------------------------------------------- recognising


def _plan(func: PrimFunc, target: Target, ahead: bool = False) -> _Plan | Declined:
    """What to do; `ahead`: supposing that B will be packed."""
    lanes = target.lanes(32)
    if not (has_byte_dots(target.features, lanes) or has_bfloat16_dots(target.features, lanes)):
        return Declined("the processor has no dot products of narrow numbers")
    if not any(n.dtype in (INT8, BFLOAT16) for n in post_order(func.body) if isinstance(n, tir.BufferLoad)):
        return Declined("nothing is narrow")
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    kernel = inline_elementwise(kernel)
    matrix = find_product(kernel)
    if matrix is None:
        found = find_convolution(kernel)
        if isinstance(found, Declined):
            return Declined("neither a product of matrices nor a convolution")
        kernel, matrix = found
    else:
        matrix = replace(merged_rows(matrix), whole=matrix.anchored)  # what is replaced is as the kernel has it
    return _in_words(kernel, matrix, target, ahead)


def _in_words(kernel: Kernel, matrix: Product, target: Target, ahead: bool) -> _Plan | Declined:
    stage = matrix.stage
    assert isinstance(stage.value, tir.Mul)
    if not (is_simple(stage.value.a) and is_simple(stage.value.b)):
        return Declined("a factor is computed, not loaded")
    dtypes = [load_of(f).dtype for f in (stage.value.a, stage.value.b)]
    left = load_of(matrix.left)
    dtypes.remove(left.dtype)
    dot = dot_instruction(left.dtype, dtypes[0], stage.buffer.dtype, target, target.lanes(32))
    if dot is None:
        return Declined(f"no instruction multiplies {left.dtype} by {dtypes[0]} into {stage.buffer.dtype}")
    k = matrix.k.var
    lies = left.indices[-1] is k and not any(depends(i, k) for i in left.indices[:-1]) and not left.buffer.strides
    if not lies or not matrix.k.size:
        return Declined("the rows of A do not lie along a k of known length")
    width = _packed_width(matrix, dot.group)
    count = constant(product([a.extent for a in (*matrix.outer, matrix.rows)]))
    if width is None and not ahead and count is not None and count <= FEW_ROWS:
        return Declined("few rows: packing B costs more than it saves")
    shape = tile_shape(target, stage.buffer.dtype)
    halves = dot_instruction(left.dtype, dtypes[0], stage.buffer.dtype, target, shape.grain)
    shape = replace(shape, halves=shape.halves and halves is not None)
    vectors = _vectors(matrix, shape) if width is None else width // shape.lanes
    shape = replace(shape, vectors=vectors, rows=min(shape.rows, rows_in_place(matrix)))
    return _Plan(kernel, matrix, dot, dtypes[0], shape, width is not None)


def _vectors(matrix: Product, shape: TileShape) -> int:
    """Vectors of a panel's row, as of a tile of floats (wider and lower tiles lost up to 15 % in convolutions)."""
    size = matrix.columns.size
    return shape.vectors if size is None else min(shape.vectors, -(-size // shape.lanes))


def _packed_width(matrix: Product, group: int) -> int | None:
    """The width of the panels, if B is read from panels packed in words."""
    columns, k = matrix.columns.var, matrix.k.var
    if matrix.right is None or len(load_of(matrix.right).indices) != 4:
        return None
    match load_of(matrix.right).indices:
        case (
            tir.FloorDiv(a=a, b=tir.IntImm(value=width)),
            tir.FloorDiv(a=c, b=tir.IntImm(value=size)),
            tir.FloorMod(a=b, b=tir.IntImm(value=same)),
            tir.FloorMod(a=d, b=tir.IntImm(value=again)),
        ) if a is columns and b is columns and c is k and d is k and width == same and size == again == group:
            return width
        case _:
            return None


# --------------------------------------------------------------------------------------------------- emitting


def _emit(plan: _Plan, target: Target) -> st.Stmt:
    matrix, width = plan.matrix, plan.width
    panels = ops.floordiv(ops.add(as_int64(matrix.columns.extent), i64(width - 1)), i64(width))
    number = index_var("panel")
    start = ops.multiply(number, i64(width))
    packed = _ready_panel(plan, number) if plan.packed else local_buffer("packed", (plan.words * width,), INT32)

    def with_panel(rows: st.Stmt) -> st.Stmt:
        return rows if plan.packed else allocated(packed, sequence(_pack(plan, packed, start), rows))

    def tiles(first: PrimExpr, count: PrimExpr) -> st.Stmt:
        later = ops.min(ops.add(number, i64(max(1, target.num_cores))), ops.subtract(panels, i64(1)))
        ahead = asking_for(_ready_panel(plan, later), plan.words, width * plan.dot.group) if plan.packed else None
        return panel_tiles(matrix, plan.shape, width, number, first, count, packed, ahead, partial(_tile, plan))

    threads = target.num_cores
    if shares_rows(matrix, panels, threads, plan.dot.group):
        return row_blocks(matrix, plan.shape, panels, number, with_panel, tiles, threads)
    body = with_panel(nest(matrix.outer, tiles(i64(0), as_int64(matrix.rows.extent))))
    each = product([a.extent for a in (*matrix.outer, matrix.rows)])
    return shared_panels(
        matrix, number, panels, body, ops.multiply(each, i64(max(1, plan.words * width // 16))), threads
    )


def _ready_panel(plan: _Plan, number: PrimExpr) -> Buffer:
    """One panel of packed weights as a vector of elements."""
    assert plan.matrix.right is not None
    whole = load_of(plan.matrix.right).buffer
    size = plan.words * plan.width * plan.dot.group
    return Buffer(whole.data, whole.dtype, (i64(size),), (), ops.multiply(number, i64(size)), whole.name)


def _tile(
    plan: _Plan,
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
    """`rows` x `width` sums over all words of a panel of `pitch` columns; `masked` as in `write_out`."""
    stage, group = matrix.stage, plan.dot.group
    acc = Accumulators.of(rows, width, stage.buffer.dtype)
    assert stage.init is not None
    init = stage.init
    places = [ops.add(first, i64(row)) for row in range(rows)]
    word = index_var("word")
    full, rest = divmod(plan.depth, group)

    def whole(row: PrimExpr) -> PrimExpr:
        return _word_at(matrix, row, ops.multiply(word, i64(group)), group)

    def last(row: PrimExpr) -> PrimExpr:
        at = [bound(matrix.left, {matrix.k: i64(full * group + n), matrix.rows: row}) for n in range(rest)]
        return joined_word([load_of(value) for value in at])

    parts = [*asked_results(matrix, rows, width, first, start), acc.each(lambda row, lane: init)]
    if full:
        step = _step(plan, acc, packed, word, [whole(p) for p in places])
        parts.append(loop(word, full, step if beside is None else sequence(beside(word), step)))
    if rest:
        parts.append(_step(plan, acc, packed, i64(full), [last(p) for p in places]))
    return allocated(acc.buffer, sequence(*parts, write_out(matrix, acc, first, start, masked)))


def _word_at(matrix: Product, row: PrimExpr, k: PrimExpr, group: int) -> PrimExpr:
    """`group` neighbours of a row of A as a word."""
    load = load_of(bound(matrix.left, {matrix.rows: row}))
    run = tir.BufferLoad(load.buffer, (*load.indices[:-1], tir.Ramp(k, i64(1), group)))
    return tir.Call(INT32, intrinsic("reinterpret"), (run,))


def joined_word(elements: list[tir.BufferLoad]) -> PrimExpr:
    """Elements as a word, the first in its lowest bits, zeros above the last."""
    found: PrimExpr | None = None
    for place, element in enumerate(elements):
        bits = element.dtype.bits
        plain: PrimExpr = element
        if element.dtype.kind != "uint":
            plain = tir.Call(DataType(f"uint{bits}"), intrinsic("reinterpret"), (element,))
        wide = ops.cast(INT32, plain)
        moved = wide if not place else tir.Call(INT32, intrinsic("shift_left"), (wide, tir.IntImm(INT32, place * bits)))
        found = moved if found is None else tir.Call(INT32, intrinsic("bitwise_or"), (found, moved))
    assert found is not None
    return found


def _step(plan: _Plan, acc: Accumulators, packed: Buffer, word: PrimExpr, lefts: list[PrimExpr]) -> st.Stmt:
    """Every sum of the tile takes the products of one word."""
    full, rest = divmod(acc.width, plan.shape.lanes)
    widths = [plan.shape.lanes] * full + [rest] * bool(rest)
    rights = [tir.Var(f"b{n}", INT32.with_lanes(lanes)) for n, lanes in enumerate(widths)]
    parts: list[st.Stmt] = []
    for row, left in enumerate(lefts):
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
        body = st.LetStmt(right, _words(packed, place, widths[n]), body)
    return body


def _words(packed: Buffer, place: PrimExpr, lanes: int) -> PrimExpr:
    """A vector of words of a panel, which has words or their elements."""
    if packed.dtype == INT32:
        return tir.BufferLoad(packed, (tir.Ramp(place, i64(1), lanes),))
    group = 32 // packed.dtype.bits
    run = tir.Ramp(ops.multiply(place, i64(group)), i64(1), lanes * group)
    return tir.Call(INT32.with_lanes(lanes), intrinsic("reinterpret"), (tir.BufferLoad(packed, (run,)),))


# ---------------------------------------------------------------------------------------------------- packing


def _pack(plan: _Plan, packed: Buffer, start: PrimExpr) -> st.Stmt:
    """packed[k // group, v] = the word of column start + v."""
    matrix, width = plan.matrix, plan.width
    if matrix.pack is not None:
        plain = local_buffer("plain", (plan.depth * width,), plan.right)

        def of_panel(k: PrimExpr, v: PrimExpr) -> PrimExpr:
            return tir.BufferLoad(plain, (ops.add(ops.multiply(k, i64(width)), v),))

        return allocated(plain, sequence(matrix.pack(plain, start, width), _interleave(plan, packed, of_panel)))
    assert matrix.right is not None
    source = load_of(matrix.right)
    if source.indices[-1] is matrix.k.var:
        return _copy_words(plan, packed, start, source)
    end = as_int64(matrix.columns.extent)

    def of_matrix(k: PrimExpr, v: PrimExpr) -> PrimExpr:
        return bound(source, {matrix.k: k, matrix.columns: ops.min(ops.add(start, v), ops.subtract(end, i64(1)))})

    def of_inner(k: PrimExpr, v: PrimExpr) -> PrimExpr:
        return bound(source, {matrix.k: k, matrix.columns: ops.add(start, v)})

    if matrix.columns.size is not None and matrix.columns.size % width == 0:
        return _interleave(plan, packed, of_inner)
    inside = tir.LE(ops.add(start, i64(width)), end)
    return st.IfThenElse(inside, _interleave(plan, packed, of_inner), _interleave(plan, packed, of_matrix))


def _interleave(plan: _Plan, packed: Buffer, element: Callable[[PrimExpr, PrimExpr], PrimExpr]) -> st.Stmt:
    """Words of `element(k, column)`."""
    group, width = plan.dot.group, plan.width
    full, rest = divmod(plan.depth, group)

    def row(word: PrimExpr, count: int) -> st.Stmt:
        v = index_var("v")
        parts = [load_of(element(ops.add(ops.multiply(word, i64(group)), i64(n)), v)) for n in range(count)]
        slot = ops.add(ops.multiply(word, i64(width)), v)
        return loop(v, width, st.BufferStore(packed, joined_word(parts), (slot,)), VECTORIZED)

    word = index_var("word")
    stmts = [loop(word, full, row(word, group))] if full else []
    return sequence(*stmts, *([row(i64(full), rest)] if rest else []))


def _copy_words(plan: _Plan, packed: Buffer, start: PrimExpr, source: tir.BufferLoad) -> st.Stmt:
    """The same of a factor that lies along k: whole words; the last column again where there are no more."""
    matrix, width, group = plan.matrix, plan.width, plan.dot.group
    full, rest = divmod(plan.depth, group)
    v, word = index_var("v"), index_var("word")
    last = ops.subtract(as_int64(matrix.columns.extent), i64(1))
    column = ops.min(ops.add(start, v), last)
    here = load_of(bound(source, {matrix.columns: column}))
    run = tir.Ramp(ops.multiply(word, i64(group)), i64(1), group)
    value = tir.Call(INT32, intrinsic("reinterpret"), (tir.BufferLoad(here.buffer, (*here.indices[:-1], run)),))
    stmts = []
    if full:
        store = st.BufferStore(packed, value, (ops.add(ops.multiply(word, i64(width)), v),))
        stmts.append(loop(word, full, store))
    if rest:
        tail = [load_of(bound(here, {matrix.k: i64(full * group + n)})) for n in range(rest)]
        stmts.append(st.BufferStore(packed, joined_word(tail), (ops.add(i64(full * width), v),)))
    return loop(v, width, sequence(*stmts))
