"""Whether the iterations of a loop may run concurrently: none depends on another one, or stores what it uses."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import children, post_order
from baton._src.tir import stmt as st
from baton._src.tir.analysis.buffer_scopes import accesses
from baton._src.tir.analysis.iteration_conflicts import Conflict, conflicts
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import IntImm, Var
from baton._src.tir.schedule.tree import computes, path_to, realizes, refuse


def require_independent_around(stmt: st.Stmt, root: st.Stmt) -> None:
    """`require_independent` of all loops around a statement that was put there."""
    for item in path_to(root, stmt):
        if isinstance(item, st.For):
            require_independent(item, root)


def require_independent(loop: st.For, root: st.Stmt) -> None:
    """Refuse a parallel or vectorised loop (in `root`) whose iterations depend on each other, and one bound to threads
    whose axes they cannot share.
    """
    if loop.kind in (st.ForKind.PARALLEL, st.ForKind.VECTORIZED):
        _require_axes_shared(loop, ("spatial",))
        if not _runs_once(loop):
            _require_elements_apart(loop, root)
    elif loop.thread_binding is not None:  # those of one group may reduce together
        in_group = loop.thread_binding.thread_tag.startswith("threadIdx")
        _require_axes_shared(loop, ("spatial", "reduce") if in_group else ("spatial",))


def _require_axes_shared(loop: st.For, kinds: Sequence[str]) -> None:
    """Refuse a loop that axes of other kinds go along."""
    for item in realizes(loop.body):
        for axis, value in zip(item.block.iter_vars, item.iter_values):
            if axis.iter_type not in kinds and any(n is loop.loop_var for n in post_order(value)):
                carried = "the reduction" if axis.iter_type == "reduce" else f"the axis {axis.var.name}"
                raise refuse(
                    f"the loop over {loop.loop_var.name} carries {carried} of block {item.block.name_hint}",
                    help="split the reduction off (rfactor) or choose a data-parallel loop",
                )


def require_order_kept(root: st.Stmt, before: Sequence[st.For], after: Sequence[st.For]) -> None:
    """Refuse to reorder loops (in `root`) that carry axes with dependent values: such a loop may only be interchanged
    with one whose iterations are independent. So may loops that are used other than by axes (loops of hybrid kernels),
    and loops around several blocks, one of which uses what another one made in an earlier iteration.
    """
    body = before[-1].body
    for outer, inner in itertools.combinations(before, 2):
        if after.index(outer) < after.index(inner) or _runs_once(outer) or _runs_once(inner):
            continue
        _require_blocks_apart(root, before, (outer, inner))
        if not _used_directly(body).isdisjoint((outer.loop_var, inner.loop_var)):
            _require_one_independent(root, before, (outer, inner))
        carrying = [name for loop in (outer, inner) if (name := _carried_in_order(loop, body)) is not None]
        if len(carrying) == 2:
            raise refuse(
                f"the loops over {outer.loop_var.name} and {inner.loop_var.name} carry an axis of block {carrying[0]}"
                " that goes on from its earlier values: their order is that of the values"
            )
        if carrying:
            other = outer if _carried_in_order(inner, body) is not None else inner
            alone = _outermost(other, before)
            require_independent(alone, alone)


def _outermost(loop: st.For, chain: Sequence[st.For]) -> st.For:
    """A loop of a chain, run in parallel around all others."""
    nest = chain[-1].body
    for other in reversed([other for other in chain if other is not loop]):
        nest = other.with_fields(body=nest)
    return loop.with_fields(kind=st.ForKind.PARALLEL, thread_binding=None, body=nest)


def _require_blocks_apart(root: st.Stmt, chain: Sequence[st.For], pair: Sequence[st.For]) -> None:
    """Refuse to interchange two loops that both separate what blocks in them make from where others use it. Iterations
    that each fill a buffer before they read it could have one of their own.
    """
    if len([r for r in realizes(chain[-1].body) if computes(r.block)]) < 2:
        return
    found = _dependence_of_both(root, chain, pair, between_blocks=True)
    if found is not None:
        store, other = found
        raise refuse(
            f"block {other.block} uses elements of {store.buffer.name} that block {store.block} stores in another"
            f" iteration: the order of the loops over {_names(pair)} is that of the two"
        )


def _require_one_independent(root: st.Stmt, chain: Sequence[st.For], pair: Sequence[st.For]) -> None:
    """Refuse to interchange two loops if iterations of both depend on earlier ones."""
    found = _dependence_of_both(root, chain, pair)
    if found is not None:
        raise refuse(
            f"elements of {found.store.buffer.name} are stored in one iteration and may be accessed in another one: the"
            f" order of the loops over {_names(pair)} is that of the accesses"
        )


def _dependence_of_both(
    root: st.Stmt, chain: Sequence[st.For], pair: Sequence[st.For], between_blocks: bool = False
) -> Conflict | None:
    """What one of two loops separates, if both separate what is stored from where it is accessed."""
    domains = {n.loop_var: Range(n.min, n.extent) for n in path_to(root, chain[0])[:-1] if isinstance(n, st.For)}
    found = []
    for loop in pair:
        alone = _outermost(loop, chain)
        meeting = conflicts(alone, domains, between_blocks=between_blocks)
        found += [c for c in meeting if not _may_be_private(c.store.buffer, alone, chain[0], root)][:1]
    return found[0] if len(found) == len(pair) else None


def _names(loops: Sequence[st.For]) -> str:
    return " and ".join(loop.loop_var.name for loop in loops)


def _used_directly(body: st.Stmt) -> set[Var]:
    """The variables that statements use by themselves; what axes of a block are bound to is not looked at."""

    def below(node: Node) -> Sequence[Any]:
        return (node.block,) if isinstance(node, st.BlockRealize) else children(node)

    return {node for node in post_order(body, below=below) if isinstance(node, Var)}


def _may_be_private(buffer: Buffer, alone: st.For, loop: st.For, root: st.Stmt) -> bool:
    """Whether only `loop` uses a buffer, and each iteration of it as it runs `alone` fills what it reads."""
    return _is_filled_inside(buffer, loop, root) and alone in accesses(alone, {})[buffer.data].may_be_inside()


def _runs_once(loop: st.For) -> bool:
    return isinstance(loop.extent, IntImm) and loop.extent.value <= 1


def _carried_in_order(loop: st.For, body: st.Stmt) -> str | None:
    """The block that has an axis along the loop which is neither data-parallel nor reduced."""
    for item in realizes(body):
        for axis, value in zip(item.block.iter_vars, item.iter_values):
            if axis.iter_type not in ("spatial", "reduce") and loop.loop_var in post_order(value):
                return item.block.name_hint
    return None


def _require_elements_apart(loop: st.For, root: st.Stmt) -> None:
    """Refuse a loop of which one iteration stores elements that another one accesses, unless the buffer has no other
    uses: lowering then privatises it, or makes the loop serial (`passes.tir.private_memory`). Blocks that accumulate
    into what earlier instances stored share one buffer.
    """
    domains = {n.loop_var: Range(n.min, n.extent) for n in path_to(root, loop)[:-1] if isinstance(n, st.For)}
    going_on = {r.block.name_hint for r in realizes(loop) if any(a.iter_type == "opaque" for a in r.block.iter_vars)}
    for store, other in conflicts(loop, domains):
        if not going_on.isdisjoint((store.block, other.block)) or not _is_filled_inside(store.buffer, loop, root):
            name, buffer = loop.loop_var.name, store.buffer.name
            by, also_by = (f"block {a.block}" if a.block else "the body" for a in (store, other))
            raise refuse(
                f"{by} stores elements of {buffer} in one iteration over {name}, and {also_by} may access them in"
                " another one",
                help="choose a loop around which the buffer is complete",
            )


def _is_filled_inside(buffer: Buffer, loop: st.For, root: st.Stmt) -> bool:
    """Whether the function allocates the buffer, and all uses of it are in the loop, a store first."""
    if not any(buffer in n.alloc_buffers for n in st.statements(root) if isinstance(n, st.Block)):
        return False
    uses = accesses(root, {})[buffer.data]
    return loop in uses.scopes and uses.is_stored
