"""The memory accesses of a kernel, each with the loops, conditions and definitions that decide whether it runs.

    for i in range(8):
        if i < 4: B[i] = T.if_then_else(i > 0, A[i - 1], 0)     ->  B[i] under i in [0, 8), i < 4;  A[i - 1] also i > 0

A `Select` counts as a condition too (the value it does not select has no effect on the result), unless the accesses are
requested that happen because both of its values are computed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import children, post_order
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.intrinsics import Effect, definition
from baton._src.tir.thread_axes import thread_loop

MOST_VISITS = 1 << 16
"""Most expressions visited in one kernel. A part may occur under several conditions, so there may be very many."""
_POINTERS = frozenset({"tir.address_of", "tir.prefetch"})


@dataclass(frozen=True, eq=False)
class Path:
    """The conditions under which a statement or expression is evaluated, from outside to inside."""

    loops: tuple[st.For, ...] = ()
    conditions: tuple[PrimExpr, ...] = ()
    definitions: Mapping[tir.Var, PrimExpr] = field(default_factory=lambda: MappingProxyType({}))

    def where(self, condition: PrimExpr) -> Path:
        """Inside of a condition."""
        return replace(self, conditions=(*self.conditions, condition))

    def unless(self, condition: PrimExpr) -> Path:
        """Where a condition does not hold."""
        return self.where(tir.Not(condition))

    def define(self, values: Mapping[tir.Var, PrimExpr]) -> Path:
        """Inside of definitions."""
        return replace(self, definitions={**self.definitions, **values})


@dataclass(frozen=True, eq=False)
class Access:
    """A `BufferLoad` or `BufferStore`."""

    node: Any
    path: Path


def guarded_accesses(body: st.Stmt, selects_choose: bool = True) -> Iterator[Access]:
    """The accesses of a kernel in program order, up to `MOST_VISITS` expressions.

    Nothing if a statement may leave a loop or the kernel early: whether what follows runs is not known then.
    """
    if _leaves_early(body):
        return
    visits = iter(range(MOST_VISITS))
    stack: list[tuple[st.Stmt, Path]] = [(body, Path())]
    while stack:
        stmt, path = stack.pop()
        for part in _expressions(stmt):
            yield from _loads(part, path, visits, selects_choose)
        if isinstance(stmt, st.BufferStore):
            yield Access(stmt, path)
        stack.extend(reversed(list(_inside(stmt, path))))


def accesses_among(nodes: Collection[Any]) -> set[Any]:
    """The loads and stores among the nodes of a kernel. What is only pointed at (to be fetched, say) is not read."""
    found = {n for n in nodes if isinstance(n, (st.BufferStore, tir.BufferLoad))}
    return found - {a for n in nodes if isinstance(n, tir.Call) and _is_pointer(n) for a in n.args}


def _is_pointer(call: tir.Call) -> bool:
    row = definition(call.op)
    return row is not None and row.name in _POINTERS


def _leaves_early(body: st.Stmt) -> bool:
    """Whether there is a jump, or an assertion after which other statements stand."""
    outer: st.Stmt | None = body
    leading: set[st.Stmt] = set()
    while outer is not None:
        leading.add(outer)
        outer = outer.block.body if isinstance(outer, st.BlockRealize) else getattr(outer, "body", None)
        outer = None if isinstance(outer, (st.For, st.While, st.SeqStmt)) else outer
    for node in post_order(body):
        if isinstance(node, st.AssertStmt) and node not in leading:
            return True
        row = definition(node.op) if isinstance(node, tir.Call) else None
        if row is not None and row.effect is Effect.JUMP:
            return True
    return False


def _expressions(stmt: st.Stmt) -> list[PrimExpr]:
    """What a statement evaluates itself."""
    match stmt:
        case st.BufferStore():
            return [stmt.value, *stmt.indices]
        case st.BlockRealize():
            return [*stmt.iter_values, stmt.predicate]
        case st.Block() | st.AttrStmt() | st.DeclBuffer():
            return []
        case _:
            return [c for c in children(stmt) if isinstance(c, PrimExpr) and not isinstance(c, tir.Var)]


def _inside(stmt: st.Stmt, path: Path) -> Iterator[tuple[st.Stmt, Path]]:
    """The statements directly below one, each with what holds there."""
    match stmt:
        case st.For():
            yield stmt.body, replace(path, loops=(*path.loops, stmt))
        case st.IfThenElse():
            yield stmt.then_case, path.where(stmt.condition)
            if stmt.else_case is not None:
                yield stmt.else_case, path.unless(stmt.condition)
        case st.LetStmt():
            yield stmt.body, path.define({stmt.var: stmt.value})
        case st.AssertStmt() | st.While():
            yield stmt.body, path.where(stmt.condition)
        case st.AttrStmt():
            loop = thread_loop(stmt)
            yield stmt.body, path if loop is None else replace(path, loops=(*path.loops, loop))
        case st.BlockRealize():
            yield from _block(stmt, path)
        case _:
            yield from ((c, path) for c in st.inner_statements(stmt))


def _block(realize: st.BlockRealize, path: Path) -> Iterator[tuple[st.Stmt, Path]]:
    """A block's axes are what they are bound to; its init runs where those of the reduction begin."""
    block = realize.block
    axes = {axis.var: value for axis, value in zip(block.iter_vars, realize.iter_values)}
    inner = path.where(realize.predicate).define(axes)
    if block.init is not None:
        first = inner
        for axis in block.iter_vars:
            if axis.iter_type == tir.IterVar.CommReduce and axis.dom is not None:
                first = first.where(ops.equal(axis.var, axis.dom.min))
        yield block.init, first
    yield block.body, inner


def _loads(root: PrimExpr, path: Path, visits: Iterator[int], selects_choose: bool) -> Iterator[Access]:
    """The loads of one expression, those inside of it first come later."""
    stack = [(root, path)]
    seen: set[tuple[Any, Path]] = set()
    while stack:
        top = stack.pop()
        if top in seen or next(visits, None) is None:
            continue
        seen.add(top)
        node, here = top
        if isinstance(node, tir.BufferLoad):
            yield Access(node, here)
        both = isinstance(node, tir.Select) and not selects_choose
        below = ((c, here) for c in children(node)) if both else _operands(node, here)
        stack.extend(reversed(list(below)))


def _operands(node: PrimExpr, path: Path) -> Iterator[tuple[PrimExpr, Path]]:
    row = definition(node.op) if isinstance(node, tir.Call) else None
    match node:
        case tir.BufferLoad():
            yield from ((index, path) for index in node.indices)
        case tir.Select():
            yield from _choice(node.condition, node.true_value, node.false_value, path)
        case tir.Call(args=(condition, yes, no)) if row is not None and row.lazy:
            yield from _choice(condition, yes, no, path)
        case tir.Call() if row is not None and row.name in _POINTERS:
            inner = [a.indices if isinstance(a, tir.BufferLoad) else (a,) for a in node.args]
            yield from ((index, path) for indices in inner for index in indices)
        case tir.And():
            yield node.a, path
            yield node.b, path.where(node.a)
        case tir.Or():
            yield node.a, path
            yield node.b, path.unless(node.a)
        case tir.Let():
            yield node.value, path
            yield node.body, path.define({node.var: node.value})
        case _:
            yield from ((c, path) for c in children(node) if isinstance(c, PrimExpr))


def _choice(condition: PrimExpr, yes: PrimExpr, no: PrimExpr, path: Path) -> Iterator[tuple[PrimExpr, Path]]:
    yield condition, path
    yield yes, path.where(condition)
    yield no, path.unless(condition)
