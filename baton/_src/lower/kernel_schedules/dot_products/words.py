"""Words of neighbours along k: from a row of A, from single elements, and vectors of words from a panel of B."""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.shared.factors import bound, load_of
from baton._src.lower.kernel_schedules.shared.loops import (
    i64,
)
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.buffer import Buffer
from baton._src.tir.intrinsics import intrinsic
from baton._src.values.dtype import INT32, DataType


def word_at(matrix: Product, row: PrimExpr, k: PrimExpr, group: int) -> PrimExpr:
    """`group` neighbours in a row of A as a word."""
    load = load_of(bound(matrix.left, {matrix.rows: row}))
    run = tir.BufferLoad(load.buffer, (*load.indices[:-1], tir.Ramp(k, i64(1), group)))
    return tir.Call(INT32, intrinsic("reinterpret"), (run,))


def joined_word(elements: list[tir.BufferLoad]) -> PrimExpr:
    """Elements combined into a word, the first in the lowest bits, with zeros above the last."""
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


def vector_of_words(packed: Buffer, place: PrimExpr, lanes: int) -> PrimExpr:
    """A vector of words from a panel, which stores words or their elements."""
    if packed.dtype == INT32:
        return tir.BufferLoad(packed, (tir.Ramp(place, i64(1), lanes),))
    group = 32 // packed.dtype.bits
    run = tir.Ramp(ops.multiply(place, i64(group)), i64(1), lanes * group)
    return tir.Call(INT32.with_lanes(lanes), intrinsic("reinterpret"), (tir.BufferLoad(packed, (run,)),))
