"""Pack a panel of words just before it is used: from a matrix in either layout, or from a convolution's packed
panel.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.dot_products.word_plan import WordPlan
from baton._src.lower.kernel_schedules.dot_products.words import joined_word
from baton._src.lower.kernel_schedules.shared.factors import bound, load_of
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    sequence,
)
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.intrinsics import intrinsic
from baton._src.values.dtype import INT32


def pack_words(plan: WordPlan, packed: Buffer, start: PrimExpr) -> st.Stmt:
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


def _interleave(plan: WordPlan, packed: Buffer, element: Callable[[PrimExpr, PrimExpr], PrimExpr]) -> st.Stmt:
    """Form words from `element(k, column)`."""
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


def _copy_words(plan: WordPlan, packed: Buffer, start: PrimExpr, source: tir.BufferLoad) -> st.Stmt:
    """Copy whole words of a factor that is contiguous along k; beyond the last column the last one is repeated."""
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
