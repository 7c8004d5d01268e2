"""Whether a statement may store its result in the memory of an operand that is dead afterwards.

for i in 64: B[i] = exp(A[i])                      each element is read where it is then stored: it may for k in 4: for
i in 64: B[i] = A[i] + 1           stored several times: not after the first
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import Range
from baton._src.ir.node import Node
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import children, post_order
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.analysis.iteration_conflicts import conflicts
from baton._src.tir.buffer import Buffer

_OPAQUE = ("extern_scope", "volatile_scope")


def stores_in_place(statement: st.Stmt, target: tir.Var, source: tir.Var) -> bool:
    """Whether one store writes every element of the target once, and reads of the source only the element that it
    stores.
    """
    nodes = post_order(statement, below=_without_buffers)
    stores = [n for n in nodes if isinstance(n, st.BufferStore)]
    into = [store for store in stores if store.buffer.data is target]
    if len(into) != 1 or any(n is target or n is source for n in nodes):
        return False  # pointers that are handed on
    if any(store.buffer.data is source for store in stores) or any(isinstance(n, st.While) for n in nodes):
        return False
    if any(isinstance(n, st.AttrStmt) and n.attr_key in _OPAQUE for n in nodes):
        return False
    (store,) = into
    own = set(post_order(store.value, below=_without_buffers))
    loads = [n for n in nodes if isinstance(n, tir.BufferLoad) and n.buffer.data in (target, source)]
    return all(load in own and _same_element(load, store, source) for load in loads) and _stores_once(statement, target)


def _without_buffers(node: Node) -> Any:
    return () if isinstance(node, Buffer) else children(node)


def _same_element(load: tir.BufferLoad, store: st.BufferStore, source: tir.Var) -> bool:
    from_memory = any(isinstance(n, tir.BufferLoad) for n in post_order(list(store.indices)))
    if from_memory or load.buffer.data is not source or load.dtype != store.value.dtype:
        return False
    return structural_equal(load.indices, store.indices)


def _stores_once(statement: st.Stmt, target: tir.Var) -> bool:
    """Whether no two iterations of any loop of the statement access one element of the target."""
    pending: list[tuple[st.Stmt, dict[tir.Var, Range]]] = [(statement, {})]
    while pending:
        stmt, loops = pending.pop()
        if isinstance(stmt, st.For):
            if next(conflicts(stmt, loops, {target}), None) is not None:
                return False
            loops = {**loops, stmt.loop_var: Range(stmt.min, stmt.extent)}
        pending += [(part, loops) for part in st.inner_statements(stmt)]
    return True
