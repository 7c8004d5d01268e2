"""Find and replace statements in a PrimFunc's body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.global_names import free_name
from baton._src.ir.traverse import children, post_order, rewrite, substitute
from baton._src.support.diagnostics import Diagnostic, ScheduleError
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.regions import (
    access_regions,
    by_pointer,
    corners,
    point_regions,
    pointer_arguments,
    through_views,
)
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer, BufferRegion


def refuse(message: str, help: str | None = None) -> ScheduleError:
    """The error of a primitive that does not apply."""
    return ScheduleError(Diagnostic("schedule", message, help=help))


def realizes(root: st.Stmt) -> list[st.BlockRealize]:
    """Every block's realisation, inner ones first."""
    return [n for n in st.statements(root) if isinstance(n, st.BlockRealize)]


def blocks_directly_in(top: st.Block | st.For) -> list[st.BlockRealize]:
    """The blocks in the body of a block or loop that are in no other one there."""
    return outermost_blocks(top.body)


def outermost_blocks(stmt: st.Stmt) -> list[st.BlockRealize]:
    """The blocks in a statement that are in no other one there."""
    inside = realizes(stmt)
    nested = {inner for outer in inside for inner in realizes(outer.block)}
    return [r for r in inside if r not in nested]


def find_block(root: st.Stmt, name: str) -> st.BlockRealize:
    """The realisation of the block called `name`."""
    named = {item.block.name_hint: item for item in reversed(realizes(root))}
    for own in (name, f"{name}_update"):  # a reduction without its initialisation is still meant by its handle
        if own in named:
            return named[own]
    known = ", ".join(r.block.name_hint for r in realizes(root))
    raise refuse(f"there is no block {name!r}", help=f"the function has: {known}")


def unused_name(root: st.Stmt, label: str) -> str:
    """A name for a new block: `label`, numbered if a block is called so. Handles are names: those given out stay with
    their blocks.
    """
    return free_name(label, {n.name_hint for n in st.statements(root) if isinstance(n, st.Block)}, "_")


def computes(block: st.Block) -> bool:
    """Whether the block computes something itself: one without axes around others, such as the root, only contains
    them. (With views it uses what these show, of which the others inside know the views only.)
    """
    is_own = bool(block.iter_vars or block.match_buffers)
    return is_own or not any(isinstance(n, st.Block) for n in st.statements(block.body))


def blocks_passed(
    root: st.Stmt, realize: st.BlockRealize, others: Iterable[st.BlockRealize], *, into_readers: bool = False
) -> list[st.BlockRealize]:
    """The blocks that a block passes when it moves behind or before all of the others, those included.

    Refused if statements outside of blocks, of which nothing states the order, use what the block changes; but for what
    reads it, extents of loops say, where it moves `into_readers`.
    """
    order = realizes(root)
    place, ends = order.index(realize), [order.index(r) for r in others]
    first, last = min((place, *ends)), max((place, *ends))
    around = path_to(root, realize)
    _require_nothing_loose(root, realize, around, into_readers)
    return [r for r in order[first : last + 1] if computes(r.block) and r is not realize and r not in around]


def _require_nothing_loose(root: st.Stmt, realize: st.BlockRealize, around: list[st.Stmt], into_readers: bool) -> None:
    reads, writes = ({region.buffer for region in regions} for regions in (realize.block.reads, realize.block.writes))

    def inside(node: Any) -> Sequence[Any]:
        is_whole = isinstance(node, st.BlockRealize) and (
            node is realize or (computes(node.block) and node not in around)
        )
        return () if is_whole else children(node)

    for node in post_order(root, below=inside):
        if isinstance(node, st.BufferStore):
            met = node.buffer in reads | writes
        else:
            met = isinstance(node, tir.BufferLoad) and node.buffer in writes and not into_readers
        if met:
            raise refuse(f"{node.buffer.name} of block {realize.block.name_hint} is used outside of blocks, too")


def find_loop(root: st.Stmt, var: tir.Var) -> st.For:
    """The loop over `var`."""
    for item in st.statements(root):
        if isinstance(item, st.For) and item.loop_var is var:
            return item
    raise refuse(
        f"the loop over {var.name} is gone", help="an earlier primitive replaced it: use the loops that it returned"
    )


def require_around(loop: st.For, realize: st.BlockRealize) -> None:
    """Refuse a loop that does not run the block."""
    if realize not in realizes(loop):
        raise refuse(f"the loop over {loop.loop_var.name} is not around block {realize.block.name_hint}")


def path_to(root: st.Stmt, target: st.Stmt) -> list[st.Stmt]:
    """The statements from `root` down to `target`, both included."""
    path: list[st.Stmt] = []
    stack: list[tuple[st.Stmt, bool]] = [(root, False)]
    while stack:
        item, leaving = stack.pop()
        if leaving:
            path.pop()
            continue
        path.append(item)
        if item is target:
            return path
        stack.append((item, True))
        stack += [(c, False) for c in reversed(st.inner_statements(item))]
    raise refuse("the statement is not part of the function")


def replace(root: st.Stmt, changes: Mapping[st.Stmt, st.Stmt]) -> st.Stmt:
    """`root` with statements replaced (by identity)."""
    changed: dict[Any, Any] = {}

    def rule(node: Any) -> Any:
        found = changed.get(node)
        if found is None and isinstance(node, st.SeqStmt) and any(isinstance(s, st.SeqStmt) for s in node.seq):
            return st.SeqStmt(tuple(st.stmt_list(node)))
        return found

    changed.update(changes)
    found: st.Stmt = rewrite(root, rule, below=st.inner_statements)
    return found


def enclosing_block(path: Sequence[st.Stmt]) -> int:
    """The place in a path of the innermost block around its last statement."""
    return max(place for place, item in enumerate(path[:-1]) if isinstance(item, st.Block))


def bound_by(path: Sequence[st.Stmt]) -> set[tir.Var]:
    """The variables of the loops and of the blocks' axes on a path."""
    loops = {item.loop_var for item in path if isinstance(item, st.For)}
    return loops | {axis.var for item in path if isinstance(item, st.Block) for axis in item.iter_vars}


def fresh_loop_variables(root: st.Stmt) -> dict[Any, Any]:
    """New variables for the loops in `root`, and for the threads that run them: what a copy of it is substituted by."""
    loops = [n for n in st.statements(root) if isinstance(n, st.For)]
    variables = [loop.loop_var for loop in loops]
    variables += [loop.thread_binding.var for loop in loops if loop.thread_binding is not None]
    return {var: var.copy() for var in variables}


def remove(root: st.Stmt, target: st.Stmt) -> st.Stmt:
    """`root` without `target` and without the loops around it that are then empty."""
    path = path_to(root, target)
    for place in range(len(path) - 2, -1, -1):
        parent, child = path[place], path[place + 1]
        if isinstance(parent, st.SeqStmt):
            left = tuple(s for s in parent.seq if s is not child)
            return replace(root, {parent: left[0] if len(left) == 1 else st.SeqStmt(left)})
        if isinstance(parent, st.Block):
            raise refuse("the block is all there is: it cannot be removed")
    raise refuse("the block is all there is: it cannot be removed")


def simplify(expr: PrimExpr, domains: Mapping[tir.Var, Any] | None = None) -> PrimExpr:
    """The simplifier's form of `expr`, given ranges of variables."""
    found: PrimExpr = Analyzer.over(domains or {}).simplify(expr)
    return found


def is_equal(one: PrimExpr, other: PrimExpr) -> bool:
    """Whether two integers are provably equal; their dtypes may differ."""
    return ops.is_const(simplify(ops.subtract(one, ops.cast(one.dtype, other))), 0)


def is_true(condition: PrimExpr) -> bool:
    """Whether a condition is the constant true."""
    return ops.is_const(condition, 1)


def with_condition(realize: st.BlockRealize, condition: PrimExpr) -> st.BlockRealize:
    """The realisation under one more condition."""
    joined = condition if is_true(realize.predicate) else ops.logical_and(realize.predicate, condition)
    return realize.with_fields(predicate=joined)


def refreshed(block: st.Block) -> st.Block:
    """The block with the read and write regions of its body; what it does by pointers stays as stated."""
    opaque, own = by_pointer(block), block.alloc_buffers

    def regions(found: list[BufferRegion], stated: tuple[BufferRegion, ...]) -> tuple[BufferRegion, ...]:
        seen = [r for r in found if r.buffer not in opaque and r.buffer not in own]
        return (*seen, *(r for r in stated if r.buffer in opaque))

    reads, writes = access_regions(block.body, block.init, block.match_buffers)
    return block.with_fields(reads=regions(reads, block.reads), writes=regions(writes, block.writes))


def without_blocks(stmt: st.Stmt) -> st.Stmt:
    """The statement with each block's axes replaced by their values, and its views by what they show: what is accessed
    for which loop variables."""

    return _unwrapped(stmt, lambda block: [])


def regions_in_loops(stmt: st.Stmt) -> tuple[list[BufferRegion], list[BufferRegion]]:
    """(reads, writes) of a statement, as its loops tell them; what blocks do by pointers, as they state it."""
    return point_regions(_unwrapped(stmt, _stated_accesses))


def _stated_accesses(block: st.Block) -> list[st.Stmt]:
    """Accesses in place of those by pointers, of the same regions."""
    opaque = by_pointer(block)
    loads = [tir.BufferLoad(r.buffer, at) for r in block.reads if r.buffer in opaque for at in corners(r)]
    stores = [
        st.BufferStore(w.buffer, ops.const(0, w.buffer.dtype), at)
        for w in block.writes
        if w.buffer in opaque
        for at in corners(w)
    ]
    return [*map(st.Evaluate, loads), *stores]


def _unwrapped(stmt: st.Stmt, more: Callable[[st.Block], list[st.Stmt]]) -> st.Stmt:
    def rule(node: Any) -> Any:
        if not isinstance(node, st.BlockRealize):
            return None
        block = node.block
        parts = [p for p in (block.init, block.body) if p is not None]
        body = through_views(parts[0] if len(parts) == 1 else st.SeqStmt(tuple(parts)), block.match_buffers)
        values = {iv.var: v for iv, v in zip(block.iter_vars, node.iter_values)}
        return substitute(st.stmt_seq(body, *more(block)), values)

    found: st.Stmt = rewrite(stmt, rule, below=st.inner_statements)
    return found


def replace_buffer(root: Any, old: Buffer, new: Buffer) -> Any:
    """Every mention of `old` becomes `new`, as does its pointer where it is passed on; its views are in the scope of
    `new`.
    """
    changes: dict[Any, Any] = {old: new}
    if old.data in pointer_arguments(root):
        if (old.strides, old.elem_offset) != (new.strides, new.elem_offset):
            raise refuse(f"the pointer of {old.name} is used, with its strides or its offset")
        changes[old.data] = new.data
    if old.scope() != new.scope():
        shown = {old}
        for block in reversed([n for n in st.statements(root) if isinstance(n, st.Block)]):
            for view in [v.buffer for v in block.match_buffers if v.source.buffer in shown]:
                shown.add(view)
                changes[view.data] = tir.Var(
                    view.data.name, view.data.dtype, pointee=view.data.pointee, scope=new.scope()
                )
                changes[view] = substitute(view, changes)
    return substitute(root, changes)


def only_store(block: st.Block) -> st.BufferStore:
    """The block's single store."""
    if isinstance(block.body, st.BufferStore):
        return block.body
    raise refuse(f"block {block.name_hint} is not a single store")
