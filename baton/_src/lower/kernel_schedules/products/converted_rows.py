"""Convert rows of A once when their stored dtype differs from the dtype of the arithmetic.

A tile broadcasts single elements of A. Converting them where they are loaded costs an instruction or two per element
and panel of columns; converting whole rows once, in vectors, costs next to nothing, and the tiles are then those of
float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.shared.affine import depends, step
from baton._src.lower.kernel_schedules.shared.factors import bound, load_of
from baton._src.lower.kernel_schedules.shared.loops import VECTORIZED, allocated, local_buffer, parallel_rows, sequence
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st


def with_converted_rows(matrix: Product, target: Target, emit: Callable[[Product], st.Stmt]) -> st.Stmt:
    """Return `emit(product)` with the left factor converted beforehand, so that `emit` sees a plain load."""
    if isinstance(matrix.left, tir.BufferLoad):
        return emit(matrix)
    inner = (matrix.k, matrix.rows) if step(load_of(matrix.left), matrix.rows) == 1 else (matrix.rows, matrix.k)
    axes = [a for a in (*matrix.batch, *matrix.outer, *inner) if depends(matrix.left, a.var)]
    fresh = [Axis(tir.Var(a.var.name, a.var.dtype), a.extent) for a in axes]
    wide = local_buffer("wide", [as_int64(a.extent) for a in axes], matrix.left.dtype)
    value = bound(matrix.left, {old: new.var for old, new in zip(axes, fresh, strict=True)})
    store = st.BufferStore(wide, value, tuple(as_int64(a.var) for a in fresh))
    last = fresh[-1]
    line = st.For(last.var, 0, last.extent, VECTORIZED, store)
    convert = parallel_rows(fresh[:-1], as_int64(last.extent), line, target.num_cores)
    left = tir.BufferLoad(wide, tuple(as_int64(a.var) for a in axes))
    return allocated(wide, sequence(convert, emit(replace(matrix, left=left))))
