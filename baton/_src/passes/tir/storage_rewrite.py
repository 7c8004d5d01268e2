"""StorageRewrite: allocations whose live ranges do not overlap share memory, and results may reuse that of an operand.

    alloc A; alloc B; alloc C; A = ...; B = f(A); C = g(B)      ->      alloc A; alloc B; A = ...; B = f(A); A = g(B)

If f and g store the element that they read, all three share the memory of A. Only for adjacent allocations with
constant extents and the same dtype and scope. Takes bodies without blocks (`LowerOpaqueBlock`) whose accesses have one
index (`FlattenBuffer`).
"""

from __future__ import annotations

import math
from typing import Any

from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.passes.tir.lowering.inplace_stores import stores_in_place
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.passes.tir.ssa import converted
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext


@dataclass(frozen=True)
class StorageRewrite(PrimFuncPass):
    """See the module's docstring."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        if any(isinstance(n, st.Block) for n in post_order(body)):
            raise fail("tir-opaque", "there are blocks", help="run LowerOpaqueBlock and FlattenBuffer first")
        body = converted(body, function)
        shared: dict[st.Allocate, dict[Any, tuple[Any, int]]] = {}
        seen: set[Any] = set()
        for node in reversed(post_order(body)):  # the outermost of a chain first
            if isinstance(node, st.Allocate) and node not in seen:
                chain, inside = _chain(node)
                seen.update(chain)
                shared[node] = _shared(chain, inside)
        renamed = {old: new for found in shared.values() for old, (new, _) in found.items()}
        sizes = {new: size for found in shared.values() for new, size in found.values()}

        def rule(node: Node) -> Node | None:
            if not isinstance(node, st.Allocate):
                return None
            if node.buffer_var in renamed and renamed[node.buffer_var] is not node.buffer_var:
                return node.body
            size = sizes.get(node.buffer_var)
            return None if size is None else node.with_fields(extents=(tir.literal(size, node.extents[0].dtype),))

        without: st.Stmt = rewrite(body, rule)
        found: st.Stmt = substitute(without, {old: new for old, new in renamed.items() if old is not new})
        return found


def _chain(first: st.Allocate) -> tuple[list[st.Allocate], st.Stmt]:
    """Adjacent allocations, with only buffer declarations in between, and the body inside them."""
    chain: list[st.Allocate] = []
    node: st.Stmt = first
    while isinstance(node, st.Allocate | st.DeclBuffer):
        chain += [node] if isinstance(node, st.Allocate) else []
        node = node.body
    return chain, node


def _shared(chain: list[st.Allocate], body: st.Stmt) -> dict[Any, tuple[Any, int]]:
    """For allocations of a chain that share: whose memory each takes, and how many elements that has."""
    lives = _lives(body, {a.buffer_var for a in chain})
    statements = body.seq if isinstance(body, st.SeqStmt) else (body,)
    free: dict[Any, list[Any]] = {}
    sizes: dict[Any, int] = {}
    owners: dict[Any, Any] = {}
    last: dict[Any, Any] = {}
    """The latest user of each piece of memory."""

    def may_take(owner: Any, var: Any, size: int) -> bool:
        end, begin = lives[last[owner]][1], lives[var][0]
        if end == begin and sizes[owner] == size:
            return stores_in_place(statements[begin], var, last[owner])
        return end < begin

    plain = [a for a in chain if a.buffer_var in lives and _size(a) is not None]
    for alloc in sorted(plain, key=lambda a: lives[a.buffer_var]):
        var, size = alloc.buffer_var, _size(alloc) or 0
        memory = free.setdefault((alloc.dtype, var.scope), [])
        owner = next((o for o in memory if may_take(o, var, size)), var)
        if owner is var:
            memory.append(owner)
        owners[var], last[owner] = owner, var
        sizes[owner] = max(sizes.get(owner, 0), size)
    users = list(owners.values())
    return {var: (owner, sizes[owner]) for var, owner in owners.items() if users.count(owner) > 1}


def _size(alloc: st.Allocate) -> int | None:
    extents = [e.value for e in alloc.extents if isinstance(e, tir.IntImm)]
    return math.prod(extents) if len(extents) == len(alloc.extents) and alloc.condition is None else None


def _lives(body: st.Stmt, wanted: set[Any]) -> dict[Any, tuple[int, int]]:
    """The first and the last statement of `body` that use each pointer. If there is only one statement, all overlap."""
    statements = body.seq if isinstance(body, st.SeqStmt) else (body,)
    found: dict[Any, tuple[int, int]] = {}
    for place, statement in enumerate(statements):
        for node in post_order(statement):
            var = node.data if isinstance(node, Buffer) else node
            if isinstance(var, tir.Var) and var in wanted:
                found[var] = (found.get(var, (place, place))[0], place)
    return found


__all__ = ["StorageRewrite"]
