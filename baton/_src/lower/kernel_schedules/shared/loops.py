"""Builders of loop nests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.values.dtype import INT64

SERIAL, PARALLEL, VECTORIZED, UNROLLED = (
    st.ForKind.SERIAL,
    st.ForKind.PARALLEL,
    st.ForKind.VECTORIZED,
    st.ForKind.UNROLLED,
)
WORTH_A_THREAD = 1 << 15
"""Elementary operations below which parallelising a loop costs more than it saves (a few microseconds of work)."""
ENOUGH, MANY = 8, 32
"""Iterations for each thread of the outermost axis, or of several ones, that are shared out without those inside."""


def thread_work() -> int:
    """Elementary operations that a parallel loop gives a thread at a time: `WORTH_A_THREAD`, unless tuning found
    better.
    """
    return tuned("thread_work", WORTH_A_THREAD, (1 << n for n in range(12, 20)))


def i64(value: int) -> tir.IntImm:
    """A literal index."""
    return tir.IntImm(INT64, value)


def ceil_div(whole: PrimExpr, part: PrimExpr) -> PrimExpr:
    """`whole / part`, rounded up."""
    return ops.floordiv(ops.add(whole, ops.subtract(part, i64(1))), part)


def index_var(name: str) -> tir.Var:
    """A fresh loop variable."""
    return tir.Var(name, INT64)


def loop(var: tir.Var, extent: PrimExpr | int, body: st.Stmt, kind: st.ForKind = SERIAL, **notes: Any) -> st.Stmt:
    """`body` for var in [0, extent)."""
    size = extent if isinstance(extent, PrimExpr) else tir.IntImm(var.dtype, extent)
    return st.For(var, 0, ops.cast(var.dtype, size), kind, body, annotations=notes)


def sequence(*parts: st.Stmt) -> st.Stmt:
    """The statements one after the other."""
    return parts[0] if len(parts) == 1 else st.SeqStmt(tuple(parts))


def named(name: str, value: PrimExpr, body: Callable[[PrimExpr], st.Stmt]) -> st.Stmt:
    """`body` of a variable bound to `value`: a value used in many indices is computed, and written, once."""
    if isinstance(value, (tir.IntImm, tir.Var)):
        return body(value)
    var = tir.Var(name, value.dtype)
    return st.LetStmt(var, value, body(var))


def nest(axes: Sequence[Axis], body: st.Stmt, kind: st.ForKind = SERIAL) -> st.Stmt:
    """Loops over axes, the first outermost."""
    for axis in reversed(axes):
        body = st.For(axis.var, 0, axis.extent, kind, body)
    return body


def product(extents: Sequence[PrimExpr]) -> PrimExpr:
    """The number of points, in 64 bits: the product of the extents."""
    total: PrimExpr = i64(1)
    for extent in extents:
        total = ops.multiply(total, as_int64(extent))
    return total


def constant(expr: PrimExpr) -> int | None:
    """The value of a literal; None for other expressions."""
    return expr.value if isinstance(expr, tir.IntImm) else None


def allocated(buffer: Buffer, body: st.Stmt) -> st.Stmt:
    """`body` with memory for `buffer` allocated around it."""
    return st.Allocate(buffer.data, dtype=buffer.dtype, extents=buffer.shape, body=body)


def local_buffer(name: str, shape: Sequence[PrimExpr | int], dtype: object) -> Buffer:
    """A new buffer for the kernel's own use."""
    return decl_buffer([s if isinstance(s, PrimExpr) else i64(s) for s in shape], dtype, name, scope="local")


def split_index(flat: PrimExpr, extents: Sequence[PrimExpr]) -> list[PrimExpr]:
    """The indices whose row-major offset is `flat`."""
    found: list[PrimExpr] = []
    rest = flat
    for extent in reversed(extents[1:]):
        wide = as_int64(extent)
        found.insert(0, ops.floormod(rest, wide))
        rest = ops.floordiv(rest, wide)
    return [rest, *found] if extents else []


def parallel_rows(axes: Sequence[Axis], work: PrimExpr | int, body: st.Stmt, num_threads: int) -> st.Stmt:
    """Loops over `axes`, parallel if each thread gets enough work.

    `work` is the cost of one body. As many of the outermost axes as have enough iterations are fused into one: the
    place along each of them is divided out of its number.
    """
    if not axes:
        return body
    cost = work if isinstance(work, PrimExpr) else i64(work)
    total = constant(ops.multiply(product([a.extent for a in axes]), cost))
    if num_threads <= 1 or (total is not None and total < 2 * WORTH_A_THREAD):
        return nest(axes, body)
    outer = axes[: _enough(axes, cost, num_threads)]
    if len(outer) < len(axes):
        body = nest(axes[len(outer) :], body)
        cost = ops.multiply(product([a.extent for a in axes[len(outer) :]]), cost)
    axes = outer
    if len(axes) == 1:
        return _shared(axes[0].var, axes[0].extent, body, cost)
    flat = index_var("fused")
    long = [axis for axis in axes if axis.size != 1]
    values = dict(zip(long, split_index(flat, [a.extent for a in long])))
    for axis in reversed(axes):
        value = values.get(axis, i64(0))
        body = st.LetStmt(axis.var, ops.cast(axis.var.dtype, value), body)
    return _shared(flat, product([a.extent for a in axes]), body, cost)


def _enough(axes: Sequence[Axis], cost: PrimExpr, num_threads: int) -> int:
    """The number of leading axes that have enough iterations for so many threads: the first alone, or several whose
    iterations are no more than a thread is given at a time; all where only a run tells.
    """
    if axes[0].size is not None and axes[0].size >= ENOUGH * num_threads:
        return 1
    count = 1
    for number, axis in enumerate(axes, 1):
        count *= axis.size or 0
        inside = constant(ops.multiply(product([a.extent for a in axes[number:]]), cost))
        if count >= MANY * num_threads and inside is not None and inside <= thread_work():
            return number
    return len(axes)


def _shared(var: tir.Var, extent: PrimExpr, body: st.Stmt, work: PrimExpr) -> st.Stmt:
    enough = thread_work()
    if isinstance(work, tir.IntImm):
        grain: PrimExpr | int = max(1, enough // max(1, work.value))
    else:
        grain = ops.floordiv(ops.add(i64(enough), work), ops.max(work, i64(1)))
    return loop(var, extent, body, PARALLEL, grain=grain)
