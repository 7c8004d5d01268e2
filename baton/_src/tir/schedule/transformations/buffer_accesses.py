"""Replace a buffer by one in another form: rewrite its loads, stores and the blocks that allocate it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.analysis.regions import pointer_arguments
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer
from baton._src.tir.intrinsics import INTRINSICS
from baton._src.tir.schedule.tree import refreshed, refuse

Indices = tuple[PrimExpr, ...]
IF_THEN_ELSE = INTRINSICS["tir.if_then_else"]


def with_places(root: st.Stmt, old: Buffer, new: Buffer, place: Callable[[Indices], Indices]) -> st.Stmt:
    """`root` with each element of `old` stored in `new` at the `place` of its indices. Errors as in `with_accesses`."""

    def load(node: tir.BufferLoad) -> PrimExpr:
        return tir.BufferLoad(new, place(node.indices))

    def store(node: st.BufferStore) -> st.Stmt:
        return st.BufferStore(new, node.value, place(node.indices))

    return with_accesses(root, old, new, load, store)


def with_accesses(
    root: st.Stmt,
    old: Buffer,
    new: Buffer,
    load: Callable[[tir.BufferLoad], PrimExpr],
    store: Callable[[st.BufferStore], st.Stmt],
) -> st.Stmt:
    """`root` with `new` in place of `old`, its loads and stores replaced by what the functions give.

    Error `schedule`: a region of the buffer is matched, or its pointer is used, which fixes its form.
    """
    if any(argument is old.data for argument in pointer_arguments(root)):
        raise refuse(f"the pointer of {old.name} is used, so its layout cannot change")

    def rule(node: Node) -> Node | None:
        match node:
            case tir.BufferLoad() if node.buffer is old:
                return load(node)
            case st.BufferStore() if node.buffer is old:
                return store(node)
            case st.MatchBufferRegion() if node.source.buffer is old:
                raise refuse(f"a region of {old.name} is matched: its layout cannot be changed")
            case st.MatchBufferRegion() if node.buffer is old:
                raise refuse(f"{old.name} is a view of {node.source.buffer.name}, whose layout it has")
            case st.Block():
                kept = tuple(new if b is old else b for b in node.alloc_buffers)
                node = node.with_fields(alloc_buffers=kept)
                return refreshed(node) if node.reads or node.writes else node
            case _:
                return None

    found: st.Stmt = rewrite(root, rule)
    return found


def with_simple_indices(root: Any, domains: Mapping[tir.Var, Range] | None = None) -> Any:
    """`root` with indices and conditions in the simplifier's form, given the ranges of loops and axes in it and those
    in `domains`. Variables stand in sums in the order in which the program mentions them."""
    analyzer = Analyzer()
    for node in post_order(root):
        if isinstance(node, tir.Var) and node.dtype.is_int:
            analyzer.simplify(node)
    for var, domain in (domains or {}).items():
        analyzer.bind(var, domain)
    for node in post_order(root):
        if isinstance(node, st.For):
            analyzer.bind(node.loop_var, Range(node.min, node.extent))
        elif isinstance(node, tir.IterVar) and node.dom is not None:
            analyzer.bind(node.var, node.dom)

    def rule(node: Node) -> Node | None:
        match node:
            case tir.BufferLoad() | st.BufferStore():
                indices = tuple(map(analyzer.simplify, node.indices))
                return node if indices == node.indices else node.with_fields(indices=indices)
            case st.IfThenElse():
                return node.with_fields(condition=analyzer.simplify(node.condition))
            case tir.Call(args=(condition, *values)) if node.op is IF_THEN_ELSE:
                return node.with_fields(args=(analyzer.simplify(condition), *values))
            case _:
                return None

    return rewrite(root, rule)
