"""Find and replace statements in a PrimFunc's body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import children, post_order, rewrite, substitute
from baton._src.support.diagnostics import Diagnostic, ScheduleError
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer
from baton._src.tir.regions import access_regions


def refuse(message: str, help: str | None = None) -> ScheduleError:
    """The error of a primitive that does not apply."""
    return ScheduleError(Diagnostic("schedule", message, help=help))


def realizes(root: st.Stmt) -> list[st.BlockRealize]:
    """Every block's realisation, inner ones first."""
    return [n for n in post_order(root) if isinstance(n, st.BlockRealize)]


def blocks_directly_in(top: st.Block | st.For) -> list[st.BlockRealize]:
    """The blocks in a block or loop that are in no other one there."""
    inside = realizes(top.body)
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


def computes(block: st.Block) -> bool:
    """Whether the block computes something itself: one without axes around others, such as the root, only contains
    them.
    """
    return bool(block.iter_vars) or not any(isinstance(n, st.Block) for n in post_order(block.body))


def blocks_passed(root: st.Stmt, realize: st.BlockRealize, others: Iterable[st.BlockRealize]) -> list[st.BlockRealize]:
    """The blocks that a block passes when it moves behind or before all of the others, those included."""
    order = realizes(root)
    place, ends = order.index(realize), [order.index(r) for r in others]
    first, last = min((place, *ends)), max((place, *ends))
    around = path_to(root, realize)
    return [r for r in order[first : last + 1] if computes(r.block) and r is not realize and r not in around]


def find_loop(root: st.Stmt, var: tir.Var) -> st.For:
    """The loop over `var`."""
    for item in post_order(root):
        if isinstance(item, st.For) and item.loop_var is var:
            return item
    raise refuse(
        f"the loop over {var.name} is gone", help="an earlier primitive replaced it: use the loops that it returned"
    )


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
        stack += [(c, False) for c in reversed(children(item)) if isinstance(c, st.Stmt)]
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
    found: st.Stmt = rewrite(root, rule)
    return found


def fresh_loop_variables(root: st.Stmt) -> dict[Any, Any]:
    """New variables for the loops in `root`, and for the threads that run them: what a copy of it is substituted by."""
    loops = [n for n in post_order(root) if isinstance(n, st.For)]
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


def is_true(condition: PrimExpr) -> bool:
    return isinstance(condition, tir.IntImm) and condition.value == 1


def with_condition(realize: st.BlockRealize, condition: PrimExpr) -> st.BlockRealize:
    """The realisation under one more condition."""
    joined = condition if is_true(realize.predicate) else ops.logical_and(realize.predicate, condition)
    return realize.with_fields(predicate=joined)


def refreshed(block: st.Block) -> st.Block:
    """The block with the read and write regions of its body."""
    reads, writes = access_regions(block.body, block.init)
    own = block.alloc_buffers
    return block.with_fields(
        reads=tuple(r for r in reads if r.buffer not in own), writes=tuple(w for w in writes if w.buffer not in own)
    )


def without_blocks(stmt: st.Stmt) -> st.Stmt:
    """The statement with each block's axes replaced by their values: what is accessed for which loop variables."""

    def rule(node: Any) -> Any:
        if isinstance(node, st.BlockRealize):
            values = {iv.var: v for iv, v in zip(node.block.iter_vars, node.iter_values)}
            parts = [p for p in (node.block.init, node.block.body) if p is not None]
            body = parts[0] if len(parts) == 1 else st.SeqStmt(tuple(parts))
            return substitute(body, values)
        return None

    found: st.Stmt = rewrite(stmt, rule)
    return found


def replace_buffer(root: Any, old: Buffer, new: Buffer) -> Any:
    """Every mention of `old` becomes `new`."""
    return substitute(root, {old: new})


def only_store(block: st.Block) -> st.BufferStore:
    """The block's single store."""
    if isinstance(block.body, st.BufferStore):
        return block.body
    raise refuse(f"block {block.name_hint} is not a single store")
