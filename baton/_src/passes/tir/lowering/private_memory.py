"""Privatise buffers that each iteration of a parallel loop fills anew, since iterations run concurrently.

    tmp = alloc (8,); parallel i: { for j: tmp[j] = A[i, j]; for j: B[i, j] = tmp[7 - j] }
    ->  parallel i: { tmp = alloc (8,); for j: tmp[j] = A[i, j]; for j: B[i, j] = tmp[7 - j] }

Buffers of which each iteration writes different elements stay: sharing them needs no more memory. If iterations share
elements of a buffer that only they use, and it is not proven that each fills it before reading it, the loop becomes
serial.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import rewrite
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.analysis.buffer_scopes import accesses
from baton._src.tir.analysis.iteration_conflicts import conflicts
from baton._src.tir.buffer import Buffer


def with_private_buffers(body: st.Stmt) -> st.Stmt:
    """`body` with buffers of blocks around parallel loops allocated inside them, if iterations would share elements."""
    suspects = _suspects(body)
    if not suspects:
        return body
    homes: dict[tir.Var, tuple[Buffer, ...]] = {}
    in_turn: set[tir.Var] = set()
    for access in accesses(body, {}).values():
        loop = suspects.get(access.buffer)
        if loop is not None and loop in access.may_be_inside():
            homes[loop.loop_var] = (*homes.get(loop.loop_var, ()), access.buffer)
        elif loop is not None and loop in access.scopes:
            in_turn.add(loop.loop_var)
    moved = {buffer for buffers in homes.values() for buffer in buffers}

    def rule(node: Node) -> Node | None:
        if isinstance(node, st.Block) and not moved.isdisjoint(node.alloc_buffers):
            return node.with_fields(alloc_buffers=tuple(b for b in node.alloc_buffers if b not in moved))
        if isinstance(node, st.For) and node.loop_var in homes:
            block = st.Block((), (), (), "", node.body, alloc_buffers=homes[node.loop_var])
            node = node.with_fields(body=st.BlockRealize((), tir.IntImm("bool", 1), block))
        if isinstance(node, st.For) and node.loop_var in in_turn:
            node = node.with_fields(kind=st.ForKind.SERIAL)
        return node

    found: st.Stmt = rewrite(body, rule)
    return with_private_buffers(found) if in_turn else found  # parallel loops inside are now looked at


def _suspects(body: st.Stmt) -> dict[Buffer, st.For]:
    """Buffers of blocks of which iterations of an inner parallel loop may access the same elements."""
    found: dict[Buffer, st.For] = {}
    pending: list[tuple[st.Stmt, dict[Any, Buffer], dict[Any, Range]]] = [(body, {}, {})]
    while pending:
        stmt, allocated, loops = pending.pop()
        if isinstance(stmt, st.Block):
            allocated = allocated | {buffer.data: buffer for buffer in stmt.alloc_buffers}
        if isinstance(stmt, st.For) and stmt.kind is st.ForKind.PARALLEL and allocated:
            shared = (allocated[conflict.store.buffer.data] for conflict in conflicts(stmt, loops, allocated))
            found.update(dict.fromkeys(shared, stmt))
            continue
        if isinstance(stmt, st.For):
            loops = {**loops, stmt.loop_var: Range(stmt.min, stmt.extent)}
        pending += [(part, allocated, loops) for part in st.inner_statements(stmt)]
    return found
