"""Threads and vectors for loops that are no stages: scans, sorts, scatters.

    for o: for i: for k: out[o, i + 1, k] = out[o, i, k] + x[o, i + 1, k]
    ->  for o in parallel: for i: for k in vectors: ...

Loops keep their order. Those around everything else are distributed over threads if no iteration accesses what another
one stores; the innermost ones become vectors if, besides, consecutive iterations access consecutive elements.
"""

from __future__ import annotations

from collections import Counter

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order, rewrite
from baton._src.lower.kernel_schedules.shared.affine import depends, step
from baton._src.lower.kernel_schedules.shared.loops import VECTORIZED, i64, parallel_rows, product, sequence
from baton._src.lower.kernel_schedules.shared.stages import Axis, Opaque, buffers_used, is_plain
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.iteration_conflicts import conflicts
from baton._src.tir.buffer import Buffer
from baton._src.tir.intrinsics import is_pure_call

PLAIN = (st.For, st.SeqStmt, st.BufferStore, st.IfThenElse, st.LetStmt, st.Allocate, st.While)
"""Statements whose loads and stores are all that they access."""
UNKNOWN = 16
"""Assumed iterations of a loop whose number depends on data, or on other loops."""


def shared_out(opaque: Opaque, scratch: set[Buffer], target: Target) -> st.Stmt:
    """The statement with independent loops in parallel and in vectors; nothing else uses its `scratch` memory."""
    stmt, alone = opaque.stmt, scratch
    if not isinstance(stmt, st.BlockRealize):
        return _shared_out(stmt, alone, target)
    block = stmt.block
    if block.iter_vars or block.match_buffers or block.init is not None:
        return stmt
    body = _shared_out(block.body, alone | set(block.alloc_buffers), target)
    return stmt.with_fields(block=block.with_fields(body=body))


def _shared_out(stmt: st.Stmt, scratch: set[Buffer], target: Target) -> st.Stmt:
    if not _is_plain(stmt):
        return stmt
    in_vectors: st.Stmt = rewrite(stmt, _in_vectors)
    if target.num_cores <= 1:
        return in_vectors
    parts = in_vectors.seq if isinstance(in_vectors, st.SeqStmt) else (in_vectors,)
    uses = Counter(buffer for part in parts for buffer in buffers_used(part))
    own = {buffer.data for buffer in scratch if uses[buffer] == 1}
    return sequence(*(_in_parallel(part, own, target) for part in parts))


def _is_plain(stmt: st.Stmt) -> bool:
    nodes = post_order(stmt)
    plain = all(isinstance(n, PLAIN) for n in nodes if isinstance(n, st.Stmt))
    serial = all(n.kind is st.ForKind.SERIAL and not n.annotations for n in nodes if isinstance(n, st.For))
    calls = [n for n in nodes if isinstance(n, tir.Call)]
    return plain and serial and all(is_plain(call) and is_pure_call(call) for call in calls)


# --------------------------------------------------------------------------------------------------- vectors


def _in_vectors(node: Node) -> Node | None:
    """The loop `node` in vectors, if it only stores and its iterations are independent."""
    if not isinstance(node, st.For) or not _is_dense(node) or any(True for _ in conflicts(node, {})):
        return None
    return node.with_fields(kind=VECTORIZED)


def _is_dense(loop: st.For) -> bool:
    """Whether the loop stores consecutive elements, and loads consecutive ones or the same one."""
    stores = loop.body.seq if isinstance(loop.body, st.SeqStmt) else (loop.body,)
    axis = Axis(loop.loop_var, loop.extent)
    for store in stores:
        if not isinstance(store, st.BufferStore) or step(tir.BufferLoad(store.buffer, store.indices), axis) != 1:
            return False
        loads = [n for n in post_order(store.value) if isinstance(n, tir.BufferLoad)]
        if not all(step(load, axis) in (0, 1) for load in loads):
            return False
    return True


# --------------------------------------------------------------------------------------------------- threads


def _in_parallel(stmt: st.Stmt, scratch: set[tir.Var], target: Target) -> st.Stmt:
    """The nest of loops `stmt` with its outer loops distributed over threads, as far as they are independent.

    `scratch` memory that iterations share does not count: it is allocated inside later if each iteration fills its own,
    else the loop runs in turn (`passes.tir.private_memory`).
    """
    axes: list[Axis] = []
    inner = stmt
    while isinstance(inner, st.For) and inner.kind is st.ForKind.SERIAL and _is_zero(inner.min):
        found = conflicts(inner, {})
        if any(depends(inner.extent, axis.var) for axis in axes) or not all(
            c.store.buffer.data in scratch for c in found
        ):
            break
        axes.append(Axis(inner.loop_var, inner.extent))
        inner = inner.body
    work = _work(inner, {axis.var for axis in axes})
    return parallel_rows(axes, work, inner, target.num_cores) if axes else stmt


def _work(stmt: st.Stmt, inside: set[tir.Var]) -> PrimExpr:
    """Roughly how many elementary operations a statement takes, not in terms of the loops around it (`inside`)."""
    nodes = st.statements(stmt)
    inside |= {n.loop_var for n in nodes if isinstance(n, st.For)} | {n.var for n in nodes if isinstance(n, st.LetStmt)}
    total: PrimExpr = i64(0)
    pending: list[tuple[st.Stmt, tuple[PrimExpr, ...]]] = [(stmt, ())]
    while pending:
        item, extents = pending.pop()
        if isinstance(item, st.BufferStore):
            each = sum(not isinstance(n, Buffer) for n in post_order(item.value))
            total = ops.add(total, ops.multiply(product(extents), i64(each)))
        elif isinstance(item, (st.For, st.While)):
            known = isinstance(item, st.For) and not any(
                n in inside or isinstance(n, tir.BufferLoad) for n in post_order(item.extent)
            )
            size = as_int64(item.extent) if isinstance(item, st.For) and known else i64(UNKNOWN)
            pending.append((item.body, (*extents, size)))
        else:
            pending += [(part, extents) for part in st.inner_statements(item)]
    return total


def _is_zero(expr: PrimExpr) -> bool:
    return isinstance(expr, tir.IntImm) and expr.value == 0
