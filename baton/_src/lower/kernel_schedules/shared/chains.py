"""Vector loops over long dependent chains of operations."""

from __future__ import annotations

from itertools import pairwise

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.shared.loops import VECTORIZED, index_var, loop, sequence
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.passes.tir.lowering.vectorize_loops import vector_lanes
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st

BESIDE = 4
"""Vectors that go through a piece side by side."""
LONG = 16
"""Operations from which on a chain is long: below, the CPU sees further vectors coming by itself."""
NEAR = 1 << 14
"""Bytes of a result that stay in the first-level cache from piece to piece."""

_CHEAP = (tir.Add, tir.Sub, tir.Mul, tir.Min, tir.Max)
_LEAVES = (tir.FloatImm, tir.IntImm, tir.Var, tir.BufferLoad)


def vector_loop(var: tir.Var, extent: PrimExpr, store: st.BufferStore, target: Target) -> st.Stmt:
    """A loop over vectors for the BufferStore `store`; several where its value is a long chain."""
    whole = st.For(var, 0, ops.cast(var.dtype, extent), VECTORIZED, store)
    links = _links(store.value)
    size = extent.value if isinstance(extent, tir.IntImm) else 0
    lanes = BESIDE * vector_lanes(whole, target)
    if len(links) < LONG or size == 0 or size % lanes or size * store.buffer.dtype.itemsize > NEAR:
        return whole
    parts = []
    for begin, end in pairwise(_cuts(links, store, target)):
        index = index_var(var.name)
        value: PrimExpr = links[end - 1]
        if begin:
            value = _since(links[begin - 1], links[begin:end], tir.BufferLoad(store.buffer, store.indices))
        piece = st.BufferStore(store.buffer, value, store.indices)
        body = substitute_and_fold(piece, {var: index})
        parts.append(loop(index, extent, body, VECTORIZED, lanes=lanes))
    return sequence(*parts)


def _links(value: PrimExpr) -> list[tir.BinaryOp]:
    """The operations of a chain, the first one first; none if this is something else."""
    found: list[tir.BinaryOp] = []
    while isinstance(value, _CHEAP):
        computed = [side for side in (value.a, value.b) if not isinstance(side, _LEAVES)]
        if len(computed) > 1:
            return []
        found.append(value)
        value = computed[0] if computed else value.a
    return found[::-1] if isinstance(value, _LEAVES) else []


def _cuts(links: list[tir.BinaryOp], store: st.BufferStore, target: Target) -> list[int]:
    """Where pieces begin, and the end. Only the first one loads anything but the result of the one before: an operand
    may lie in the same memory."""
    most = max(LONG // 2, target.cpu.vector_registers - 2 * BESIDE)
    pieces = -(-len(links) // most) if all(link.dtype == store.buffer.dtype for link in links) else 1
    last = max((n for n, link in enumerate(links) if _loads(link)), default=0)
    places = [len(links) * n // pieces for n in range(1, pieces)]
    return [0, *(place for place in places if place > last), len(links)]


def _loads(link: tir.BinaryOp) -> bool:
    return any(isinstance(side, tir.BufferLoad) for side in (link.a, link.b))


def _since(before: PrimExpr, links: list[tir.BinaryOp], start: PrimExpr) -> PrimExpr:
    """The operations `links` of `start` in place of `before`."""
    value = start
    for link in links:
        sides = {name: value for name in ("a", "b") if getattr(link, name) is before}
        before, value = link, link.with_fields(**sides)
    return value
