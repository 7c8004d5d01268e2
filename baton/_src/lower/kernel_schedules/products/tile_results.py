"""How the results of a tile of a product leave it: their cache lines prefetched while the sums are made, then stored
row by row, through the elementwise stage after the product.
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.products.tiles import Accumulators
from baton._src.lower.kernel_schedules.shared.affine import depends, step
from baton._src.lower.kernel_schedules.shared.loops import VECTORIZED, allocated, i64, index_var, loop, sequence
from baton._src.lower.kernel_schedules.shared.prefetch import prefetched
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.values.aligned import LINE

WORTH_ASKING = 64
"""With fewer steps along k than this, prefetching the results costs more than it saves."""
LOOPED_ROWS, LOOPED_TERMS = 4, 256
"""A kernel for any number of rows stores results in a loop when tiles have at least this many rows, and sums this many
terms.
"""


def asked_results(matrix: Product, rows: int, width: int, first: PrimExpr, start: PrimExpr) -> list[st.Stmt]:
    """Prefetch the cache lines that a tile will write, and what elementwise stages read beside its sums, so that its
    end does not wait for them: matrices larger than a cache, or whose rows map to the same sets, are never cached.
    """
    if matrix.k.size is not None and matrix.k.size < WORTH_ASKING:
        return []
    beside = _read_beside(matrix)
    total = tir.Var("sum", matrix.stage.buffer.dtype)
    last = ops.subtract(as_int64(matrix.columns.extent), i64(1))
    row = index_var("row")  # a loop: unrolled, they would take long to compile
    found: list[st.Stmt] = []
    for column in range(0, width, LINE // 4):
        here = ops.min(ops.add(start, i64(column)), last)
        store = matrix.anchored.store(total, {matrix.rows.var: ops.add(first, row), matrix.columns.var: here})
        assert isinstance(store, st.BufferStore)
        found.append(prefetched(tir.BufferLoad(store.buffer, store.indices), writing=True))
        loads = [n for n in post_order(store.value) if isinstance(n, tir.BufferLoad)] if beside else []
        found += [prefetched(load) for load in loads if load.buffer in beside]
    return [loop(row, rows, sequence(*found))]


def _read_beside(matrix: Product) -> list[Buffer]:
    """Matrices that the elementwise stage after a product reads along its rows and columns."""
    stage, epilogue = matrix.stage, matrix.anchored.epilogue
    if epilogue is None:
        return []
    row, column = (epilogue.spatial[stage.spatial.index(axis)] for axis in (matrix.rows, matrix.columns))
    loads = [load for load in epilogue.loads if load.buffer is not stage.buffer and step(load, column) == 1]
    indices = [n for load in loads for index in load.indices for n in post_order(index)]
    if any(isinstance(n, tir.BufferLoad) for n in indices):
        return []  # the address must be the load's own, which may be conditional
    return [load.buffer for load in loads if depends(load, row.var)]


def write_out(
    matrix: Product, acc: Accumulators, first: PrimExpr, start: PrimExpr, masked: bool | None = None
) -> st.Stmt:
    """Store the tile through the epilogue. Columns beyond the last are not written: `masked` says whether there are
    any; if it is None, that is tested at run time.
    """
    size, looped = matrix.columns.size, _is_looped(matrix, acc)
    kept = Accumulators.of(acc.rows, acc.width, acc.buffer.dtype) if looped else acc

    def stores(masked: bool) -> st.Stmt:
        if looped:
            row = index_var("row")
            return loop(row, acc.rows, store_row(matrix, kept, row, ops.add(first, row), start, masked))
        rows = [ops.add(first, i64(row)) for row in range(acc.rows)]
        return sequence(*(store_row(matrix, acc, n, at, start, masked) for n, at in enumerate(rows)))

    if masked is not None or (size is not None and size % acc.width == 0):
        body = stores(bool(masked))
    else:  # two versions, since full panels need no mask
        inside = tir.LE(ops.add(start, i64(acc.width)), as_int64(matrix.columns.extent))
        body = st.IfThenElse(inside, stores(False), stores(True))
    return allocated(kept.buffer, sequence(kept.each(acc.load), body)) if looped else body


def _is_looped(matrix: Product, acc: Accumulators) -> bool:
    """Whether the sums of a tile go through a buffer, from which a loop stores them row by row. In a kernel for any
    number of rows, with tiles of many heights, an unrolled epilogue would be most of the code to compile. After short
    sums the detour would cost run time.
    """
    return matrix.rows.size is None and acc.rows >= LOOPED_ROWS and (matrix.k.size or 0) >= LOOPED_TERMS


def store_row(
    matrix: Product, acc: Accumulators, number: PrimExpr | int, row: PrimExpr, start: PrimExpr, masked: bool
) -> st.Stmt:
    """Store one row of a tile, from column `start` on; if `masked`, only the columns that exist."""
    lane = index_var("v")
    places = {matrix.rows: row, matrix.columns: ops.add(start, lane)}
    store = matrix.anchored.store(acc.load(number, lane), {a.var: p for a, p in places.items()})
    if masked:
        store = st.IfThenElse(tir.LT(places[matrix.columns], as_int64(matrix.columns.extent)), store)
    return loop(lane, acc.width, store, VECTORIZED)
