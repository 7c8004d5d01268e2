"""Buffers that each iteration of a parallel loop fills anew are memory of its own: iterations run at the same time.

    tmp = alloc (8,); parallel i: { for j: tmp[j] = A[i, j]; for j: B[i, j] = tmp[7 - j] }
    ->  parallel i: { tmp = alloc (8,); for j: tmp[j] = A[i, j]; for j: B[i, j] = tmp[7 - j] }

Buffers of which each iteration writes elements of its own stay where they are: one for all needs no more memory.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.traverse import children, rewrite
from baton._src.passes.tir.allocation_places import accesses
from baton._src.passes.tir.simplify import mentions
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer


def with_private_buffers(body: st.Stmt) -> st.Stmt:
    """`body` with buffers of blocks around parallel loops allocated inside, where iterations would share elements."""
    suspects = _suspects(body)
    if not suspects:
        return body
    homes: dict[st.For, list[Buffer]] = {}
    for access in accesses(body, {}).values():
        loop = suspects.get(access.buffer)
        if loop is not None and loop in access.may_be_inside():
            homes.setdefault(loop, []).append(access.buffer)
    moved = {buffer for buffers in homes.values() for buffer in buffers}
    inside = {loop.loop_var: tuple(buffers) for loop, buffers in homes.items()}

    def rule(node: Any) -> Any:
        if isinstance(node, st.Block) and not moved.isdisjoint(node.alloc_buffers):
            return node.with_fields(alloc_buffers=tuple(b for b in node.alloc_buffers if b not in moved))
        if isinstance(node, st.For) and node.loop_var in inside:
            block = st.Block((), (), (), "", node.body, alloc_buffers=inside[node.loop_var])
            return node.with_fields(body=st.BlockRealize((), tir.IntImm("bool", 1), block))
        return None

    found: st.Stmt = rewrite(body, rule)
    return found


def _suspects(body: st.Stmt) -> dict[Buffer, st.For]:
    """Buffers that blocks allocate, of which all iterations of a parallel loop inside store the same elements."""
    found: dict[Buffer, st.For] = {}
    pending: list[tuple[st.Stmt, set[Buffer]]] = [(body, set())]
    while pending:
        stmt, allocated = pending.pop()
        if isinstance(stmt, st.Block):
            allocated = allocated | {*stmt.alloc_buffers}
        if isinstance(stmt, st.For) and stmt.kind is st.ForKind.PARALLEL and allocated:
            found.update(dict.fromkeys(_shared(stmt) & allocated, stmt))
        else:
            pending += [(part, allocated) for part in children(stmt) if isinstance(part, st.Stmt)]
    return found


def _shared(loop: st.For) -> set[Buffer]:
    """Buffers of which a statement in the loop stores elements that do not depend on its iteration."""
    own: set[Any] = {loop.loop_var}
    """Variables that are another value in each iteration."""
    found: set[Buffer] = set()
    pending: list[st.Stmt] = [loop.body]
    while pending:
        stmt = pending.pop()
        match stmt:
            case st.BufferStore(buffer=buffer, indices=indices):
                if not any(mentions(index, own) for index in indices):
                    found.add(buffer)
            case st.BlockRealize(iter_values=values, block=block):
                own |= {axis.var for axis, value in zip(block.iter_vars, values) if mentions(value, own)}
            case st.LetStmt(var=var, value=value):
                own |= {var} if mentions(value, own) else set()
            case st.For(loop_var=var, min=first):
                own |= {var} if mentions(first, own) else set()
            case _:
                pass
        pending += [part for part in reversed(children(stmt)) if isinstance(part, st.Stmt)]
    return found
