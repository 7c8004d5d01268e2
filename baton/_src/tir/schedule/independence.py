"""Whether the iterations of a loop may run at the same time: none goes on from another one, or stores what it uses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from baton._src.ir.expr import Range
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import children, post_order
from baton._src.tir import stmt as st
from baton._src.tir.arith.iter_affine_map import detect_iter_map
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import IntImm
from baton._src.tir.schedule.tree import refuse


def require_independent(loop: st.For) -> None:
    """Refuse a parallel or vectorised loop whose iterations go on from one another."""
    if loop.kind not in (st.ForKind.PARALLEL, st.ForKind.VECTORIZED):
        return
    for item in post_order(loop.body):
        if not isinstance(item, st.BlockRealize):
            continue
        for axis, value in zip(item.block.iter_vars, item.iter_values):
            if axis.iter_type != "spatial" and any(n is loop.loop_var for n in post_order(value)):
                carried = "the reduction" if axis.iter_type == "reduce" else f"the axis {axis.var.name}"
                raise refuse(
                    f"the loop over {loop.loop_var.name} carries {carried} of block {item.block.name_hint}",
                    help="split the reduction off (rfactor) or choose a data-parallel loop",
                )
        goes_on = any(axis.iter_type == "opaque" for axis in item.block.iter_vars)
        if goes_on and not (_apart(loop, item) and _reads_what_it_stores(loop, item)):
            raise refuse(
                f"block {item.block.name_hint} goes on from its own elements: the iterations of the loop over"
                f" {loop.loop_var.name} share them"
            )
    if not _runs_once(loop):
        _require_elements_apart(loop)


def require_order_kept(before: Sequence[st.For], after: Sequence[st.For]) -> None:
    """Refuse another order of nested loops where axes of a block go on from their earlier values: such a loop may only
    change places with one whose iterations are independent."""
    body = before[-1].body
    for outer, inner in itertools.combinations(before, 2):
        if after.index(outer) < after.index(inner) or _runs_once(outer) or _runs_once(inner):
            continue
        carrying = [name for loop in (outer, inner) if (name := _carried_in_order(loop, body)) is not None]
        if len(carrying) == 2:
            raise refuse(
                f"the loops over {outer.loop_var.name} and {inner.loop_var.name} carry an axis of block {carrying[0]}"
                " that goes on from its earlier values: their order is that of the values"
            )
        if carrying:
            other = outer if _carried_in_order(inner, body) is not None else inner
            nest = body
            for loop in reversed([loop for loop in before if loop is not other]):
                nest = loop.with_fields(body=nest)
            require_independent(other.with_fields(kind=st.ForKind.PARALLEL, thread_binding=None, body=nest))


def _runs_once(loop: st.For) -> bool:
    return isinstance(loop.extent, IntImm) and loop.extent.value <= 1


def _carried_in_order(loop: st.For, body: st.Stmt) -> str | None:
    """The block that has an axis along the loop which is neither data-parallel nor reduced."""
    for item in post_order(body):
        if isinstance(item, st.BlockRealize):
            for axis, value in zip(item.block.iter_vars, item.iter_values):
                if axis.iter_type not in ("spatial", "reduce") and loop.loop_var in post_order(value):
                    return item.block.name_hint
    return None


def _apart(loop: st.For, realize: st.BlockRealize) -> bool:
    """Whether iterations of the loop run the block for other values of its spatial axes each."""
    inside = [n for n in post_order(loop) if isinstance(n, st.For)]
    domains = {n.loop_var: Range(n.min, n.extent) for n in inside}
    pairs = zip(realize.block.iter_vars, realize.iter_values)
    found = detect_iter_map([value for axis, value in pairs if axis.iter_type == "spatial"], domains)
    return not found.errors and loop.loop_var in post_order(found.indices)


def _reads_what_it_stores(loop: st.For, realize: st.BlockRealize) -> bool:
    """Whether a block reads of what it stores only elements of the same iteration of the loop."""
    axes = {a.var for a, v in zip(realize.block.iter_vars, realize.iter_values) if _mentions(v, {loop.loop_var})}
    for read in realize.block.reads:
        for write in realize.block.writes:
            if read.buffer is not write.buffer:
                continue
            pairs = [(r, w) for r, w in zip(read.region, write.region) if _mentions(w.min, axes)]
            if not pairs or any(not structural_equal(r, w) for r, w in pairs):
                return False
    return True


class _Access(NamedTuple):
    """What a block accesses of a buffer."""

    block: st.Block
    buffer: Buffer
    is_store: bool
    is_own: bool
    """Whether the elements depend on the iteration."""


def _require_elements_apart(loop: st.For) -> None:
    """Refuse a loop where one block stores elements of its iteration, and all iterations access the same ones, too."""
    found = list(_accesses(loop))
    storing = {a.buffer: a.block for a in found if a.is_store and a.is_own}
    for access in found:
        if access.buffer in storing and not access.is_own:
            owner, name = storing[access.buffer].name_hint, loop.loop_var.name
            raise refuse(
                f"block {owner} stores elements of {access.buffer.name} of its iteration over {name},"
                f" and block {access.block.name_hint} accesses those of all iterations",
                help="choose a loop around which the buffer is complete",
            )


def _accesses(loop: st.For) -> Iterator[_Access]:
    """What the blocks in a loop say that they read and write."""
    own: set[Any] = {loop.loop_var}
    """Variables that are another value in each iteration."""
    pending: list[st.Stmt] = [loop.body]
    while pending:
        stmt = pending.pop()
        match stmt:
            case st.BlockRealize(iter_values=values, block=block):
                own |= {axis.var for axis, value in zip(block.iter_vars, values) if _mentions(value, own)}
                for regions, is_store in ((block.reads, False), (block.writes, True)):
                    for region in regions:
                        is_own = any(_mentions(part, own) for r in region.region for part in (r.min, r.extent))
                        yield _Access(block, region.buffer, is_store, is_own)
            case st.For(loop_var=var, min=first) if _mentions(first, own):
                own.add(var)
            case st.LetStmt(var=var, value=value) if _mentions(value, own):
                own.add(var)
            case _:
                pass
        pending += [part for part in reversed(children(stmt)) if isinstance(part, st.Stmt)]


def _mentions(expr: Any, wanted: set[Any]) -> bool:
    return any(n in wanted for n in post_order(expr))
