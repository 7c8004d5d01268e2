"""Kernels whose loops a script chose: their memory is allocated where it is used, and holds what is used there.

    for i in 32, j in 32:                        for i in 32, j in 32:
        C_tile[i * 32 .., j * 32 ..] = ..    ->      C_tile = alloc (32, 32)
        C[..] = C_tile[..]                           C_tile[..] = ..; C[..] = C_tile[..]

A stage that a schedule moved into its reader's loops (`compute_at`, `reverse_compute_at`) otherwise keeps the memory of
the whole tensor, whose rows are too far apart for the caches. TVM compiles such kernels so, too.
"""

from __future__ import annotations

from baton._src.ir.node import Node
from baton._src.ir.traverse import rewrite
from baton._src.passes.tir.allocation_places import PlanAndUpdateBufferAllocationLocation
from baton._src.passes.tir.block_steps import ConvertBlocksToOpaque, LowerInitBlock
from baton._src.passes.tir.buffer_compaction import CompactBufferAllocation
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.analysis.empty_reductions import empty_reductions
from baton._src.tir.analysis.reductions import begun_ahead
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext

_STEPS = (
    LowerInitBlock(),
    PlanAndUpdateBufferAllocationLocation(),
    ConvertBlocksToOpaque(),
    CompactBufferAllocation(),
)


def with_compact_memory(func: PrimFunc) -> PrimFunc:
    """The kernel with its memory in place; itself if it allocates none around its loops."""
    root = func.body.block if isinstance(func.body, st.BlockRealize) else None
    if root is None or not root.alloc_buffers:
        return func
    body, context = _with_beginnings(func.body), PassContext.current()
    for step in _STEPS:
        body = step.body(body, func, context)
    return func.with_fields(body=body)


def _with_beginnings(body: st.Stmt) -> st.Stmt:
    """Reductions begin in front of the loops that carry them where they can, and where there is nothing to reduce:
    `LowerInitBlock` has them begin inside.
    """
    ahead: dict[tir.Var, st.Stmt] = {}
    pending: list[tuple[st.Stmt, tuple[tir.Var, ...]]] = [(body, ())]
    while pending:
        stmt, around = pending.pop()
        match stmt:
            case st.For():
                begun = begun_ahead(stmt, around)
                if begun is not None:
                    ahead[stmt.loop_var] = begun
                around = (*around, stmt.loop_var)
            case st.Block():
                around = (*around, *(axis.var for axis in stmt.iter_vars))
            case _:
                pass
        pending += [(part, around) for part in st.inner_statements(stmt)]
    empty = empty_reductions(body)

    def rule(node: Node) -> Node | None:
        if not isinstance(node, st.For):
            return None
        if node.loop_var in ahead:
            return st.SeqStmt((ahead[node.loop_var], _without_beginning(node)))
        made = empty.get(node.loop_var)
        return st.SeqStmt((*(one.beginning for one in made), node)) if made else None

    found: st.Stmt = rewrite(body, rule)
    return found


def _without_beginning(item: st.Stmt) -> st.Stmt:
    """A chain of loops over one block without the block's init."""
    if isinstance(item, st.For):
        return item.with_fields(body=_without_beginning(item.body))
    assert isinstance(item, st.BlockRealize)
    return item.with_fields(block=item.block.with_fields(init=None))
