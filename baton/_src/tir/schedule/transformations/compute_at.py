"""Moving a block under a loop of its reader or producer: only what that loop's body needs is computed there."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.regions import through_views
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.schedule.conditions.coverage import own_conditions, require_whole
from baton._src.tir.schedule.conditions.independence import require_independent_around
from baton._src.tir.schedule.conditions.needed_ranges import ranges_of
from baton._src.tir.schedule.conditions.overlap import overwritten
from baton._src.tir.schedule.conditions.stored_ranges import require_within, stored, stored_boxes
from baton._src.tir.schedule.conditions.unfinished_sums import not_finished, unfinished_sums
from baton._src.tir.schedule.tree import (
    blocks_passed,
    computes,
    find_block,
    find_loop,
    is_equal,
    is_true,
    path_to,
    realizes,
    refreshed,
    refuse,
    regions_in_loops,
    remove,
    replace,
    simplify,
    with_condition,
)
from baton._src.tir.text.printer import node_text


def compute_at(root: st.Stmt, name: str, var: tir.Var, unit_loops: bool = False, index: int = -1) -> st.Stmt:
    """Move the block into the loop, before its readers there, restricted to the region that the loop body reads.

    With `unit_loops` every axis of the block has a loop, in order; else axes of one iteration have none.
    """
    realize = find_block(root, name)
    _require_complete(realize)
    written = {w.buffer for w in realize.block.writes}
    readers = [r for r in realizes(root) if r is not realize and computes(r.block) and _touches(r.block.reads, written)]
    inside = set(realizes(find_loop(root, var)))
    missing = [r.block.name_hint for r in readers if r not in inside]
    if missing or not readers:
        raise refuse(f"{', '.join(missing) or 'nobody'} reads {name} outside of the loop over {var.name}")
    _require_no_result(root, name, written)
    _require_only_writer(root, realize)
    passed = blocks_passed(root, realize, [*inside])
    changed = [r.block.name_hint for r in passed if overwritten(realize.block.reads, realize.block, r.block)]
    if changed:
        raise refuse(f"what {name} reads is written anew by {changed[0]} before the loop over {var.name} is done")
    return _moved(root, realize, var, 0, True, unit_loops, index)


def _require_no_result(root: st.Stmt, name: str, written: set[Buffer]) -> None:
    """Refuse what others than its readers need: memory that the function does not allocate, under any name."""
    blocks = [n for n in reversed(st.statements(root)) if isinstance(n, st.Block)]
    own = {b for block in blocks for b in block.alloc_buffers}
    for view in (view for block in blocks for view in block.match_buffers):  # those of outer blocks first
        own |= {view.buffer} if view.source.buffer in own else set()
    results = sorted(b.name for b in written - own)
    if results:
        raise refuse(f"block {name} writes {results[0]}, a result of the function: all of it is needed")


def reverse_compute_at(root: st.Stmt, name: str, var: tir.Var, unit_loops: bool = False, index: int = -1) -> st.Stmt:
    """Move the block to the end of the loop, restricted to the region that the loop body writes."""
    realize = find_block(root, name)
    _require_complete(realize)
    read = {r.buffer for r in realize.block.reads}
    inside = set(realizes(find_loop(root, var)))
    writers = [r for r in realizes(root) if r is not realize and computes(r.block) and _touches(r.block.writes, read)]
    if not writers or any(w not in inside for w in writers):
        raise refuse(f"{name} needs results from outside of the loop over {var.name}")
    _require_finished(root, realize, writers, var)
    _require_covered(root, realize, writers)
    _require_only_writer(root, realize)
    made = {b.buffer for b in realize.block.writes}
    passed = [r.block.name_hint for r in blocks_passed(root, realize, [*inside]) if _touches(r.block.reads, made)]
    if passed:
        raise refuse(f"{passed[0]} reads what is there before {name} runs: {name} cannot run earlier")
    return _moved(root, realize, var, 1, False, unit_loops, index, unfinished_sums(root, realize, var))


def _require_finished(root: st.Stmt, realize: st.BlockRealize, writers: list[st.BlockRealize], var: tir.Var) -> None:
    """Require that an iteration of the loop completes everything the block reads for its part: nothing is computed
    later or partially.
    """
    block = realize.block
    reduces = any(axis.iter_type != "spatial" for axis in block.iter_vars)
    partial = unfinished_sums(root, realize, var)
    if reduces and partial:
        raise not_finished(block, partial)
    made = {w.buffer for writer in writers for w in writer.block.writes}
    produced = {r.buffer: r for r in regions_in_loops(find_loop(root, var).body)[1]}
    axes = {axis.var for axis in block.iter_vars}
    for region in block.reads:
        if region.buffer not in made:
            continue
        for part, there, dim in zip(region.region, produced[region.buffer].region, region.buffer.shape):
            one = ops.is_const(part.extent, 1) and part.min in axes
            whole = Analyzer().can_prove_equal(there.extent, ops.cast(there.extent.dtype, dim))
            if not one and not whole:
                raise refuse(f"block {block.name_hint} reads more of {region.buffer.name} than an iteration makes")


def _require_covered(root: st.Stmt, realize: st.BlockRealize, writers: list[st.BlockRealize]) -> None:
    """Require that everything the block covers is computed in some iteration: after the move it runs for nothing
    else.
    """
    block = realize.block
    require_whole(root, realize, block.iter_vars)
    for region in block.reads:
        axes = {n: axis for n, part in enumerate(region.region) for axis in block.iter_vars if part.min is axis.var}
        for writer in [w for w in writers if axes and _touches(w.block.writes, {region.buffer})]:
            if not writer.block.match_buffers and realizes(writer.block.body):
                continue  # a block around others, which are looked at themselves
            require_whole(root, writer, [axis for axis in writer.block.iter_vars if axis.iter_type == "spatial"])
            ranges = _written(writer.block, region.buffer)
            for n, axis in axes.items():
                require_within(axis, block.name_hint, ranges[n], writer.block)


def _written(block: st.Block, buffer: Buffer) -> list[Range]:
    """The range of each index of what a block writes of the buffer over all values of its axes; refused if it may skip
    elements.
    """
    body = through_views(block.body, block.match_buffers)
    if isinstance(body, st.BufferStore):
        return stored(block, body)
    return stored_boxes(block, next(w for w in block.writes if w.buffer is buffer))


def _touches(regions: tuple[BufferRegion, ...], buffers: set[Buffer]) -> bool:
    return any(region.buffer in buffers for region in regions)


def _require_complete(realize: st.BlockRealize) -> None:
    _conditions_on_axes(realize)
    block = realize.block
    written = {w.buffer for w in block.writes}
    loaded = {r.buffer for r in refreshed(block).reads}
    if block.init is None and written & loaded:
        raise refuse(
            f"block {block.name_hint} accumulates into {(written & loaded).pop().name}: it must not run twice",
            help="move it before decompose_reduction",
        )


def _conditions_on_axes(realize: st.BlockRealize) -> list[PrimExpr]:
    """The conditions of a block, but for those that keep its axes in their domains, as conditions on its axes."""
    axes: dict[Any, Any] = {v: a.var for a, v in zip(realize.block.iter_vars, realize.iter_values)}
    found: list[PrimExpr] = []
    for condition in own_conditions(realize):
        if any(n not in axes for n in post_order(condition) if isinstance(n, tir.Var)):
            name = realize.block.name_hint
            raise refuse(
                f"block {name} runs under the condition {node_text(condition)}",
                help="move it before splitting its loops",
            )
        found.append(substitute(condition, axes))
    return found


def _require_only_writer(root: st.Stmt, realize: st.BlockRealize) -> None:
    """Require that no other block writes parts of the same buffers: moved past it, the block could overwrite them."""
    name, written = realize.block.name_hint, {w.buffer for w in realize.block.writes}
    around = path_to(root, realize)
    others = [r for r in realizes(root) if computes(r.block) and r not in around and _touches(r.block.writes, written)]
    if others:
        raise refuse(f"blocks {name} and {others[0].block.name_hint} both write {next(iter(written)).name}")


def _moved(
    root: st.Stmt,
    realize: st.BlockRealize,
    var: tir.Var,
    kind: int,
    before: bool,
    unit_loops: bool,
    index: int,
    partial: Mapping[tir.Var, st.Block] = MappingProxyType({}),
) -> st.Stmt:
    """`partial`: loops in whose last iteration all of it has to run once more, as what it uses is finished then."""
    block = realize.block
    _require_in_scope(root, realize, var)
    root = remove(root, realize)
    loop = find_loop(root, var)
    shared = block.writes if before else block.reads
    wanted = [r for r in regions_in_loops(loop.body)[kind] if any(r.buffer is s.buffer for s in shared)]
    around = [n for n in path_to(root, loop) if isinstance(n, st.For)]
    nest = _nest(realize, wanted, before, unit_loops, {n.loop_var: Range(n.min, n.extent) for n in around})
    if partial and not partial.keys().isdisjoint(post_order(nest)):
        raise not_finished(block, partial)
    parts = st.stmt_list(loop.body)
    place = _place(parts, block, index)
    made = replace(root, {loop: loop.with_fields(body=st.SeqStmt((*parts[:place], nest, *parts[place:])))})
    require_independent_around(nest, made)
    return made


def _require_in_scope(root: st.Stmt, realize: st.BlockRealize, var: tir.Var) -> None:
    """Require that the block stays inside its enclosing block, whose buffers and axes are not visible outside."""
    scopes = [item for item in path_to(root, realize)[:-1] if isinstance(item, st.Block)]
    if scopes and scopes[-1] not in path_to(root, find_loop(root, var)):
        inner, outer = realize.block.name_hint, scopes[-1].name_hint
        raise refuse(f"the loop over {var.name} is outside of block {outer}, which {inner} is part of")


def _place(parts: list[st.Stmt], block: st.Block, index: int) -> int:
    """The positions a block may take among statements: after those that compute what it reads, before those that read
    its results. `index` -1 is the last such place, -2 the first.
    """
    written = {w.buffer for w in block.writes}
    inside = [[r.block for r in realizes(part)] for part in parts]
    makers = [n for n, blocks in enumerate(inside) if any(overwritten(block.reads, block, b) for b in blocks)]
    readers = [n for n, blocks in enumerate(inside) if any(_touches(b.reads, written) for b in blocks)]
    first, last = (makers[-1] + 1 if makers else 0), (readers[0] if readers else len(parts))
    if first > last:
        raise refuse(f"block {block.name_hint} needs what is made only behind where it is read")
    place = {-1: last, -2: first}.get(index, index)
    if not first <= place <= last:
        raise refuse(f"block {block.name_hint} may stand at the places {first} to {last} of the loop, not at {index}")
    return place


def _nest(
    realize: st.BlockRealize,
    wanted: list[BufferRegion],
    before: bool,
    unit_loops: bool,
    around: dict[tir.Var, Range],
) -> st.Stmt:
    """Loops over the part of the block's axes given by `wanted`; axes it does not fix run over their whole range."""
    block = realize.block
    analyzer = Analyzer()
    for outer, over in around.items():
        analyzer.bind(outer, over)
    ranges = ranges_of(block, wanted, before, analyzer)
    loops: list[tuple[tir.Var, PrimExpr]] = []
    values: list[PrimExpr] = []
    predicate: PrimExpr = tir.IntImm("bool", 1)
    for axis in block.iter_vars:
        assert axis.dom is not None
        domain = ranges.get(axis.var, axis.dom)
        extent, value = simplify(domain.extent), simplify(domain.min)
        if unit_loops or not ops.is_const(extent, 1):
            fresh = tir.Var(f"ax{len(loops)}", axis.var.dtype)
            loops.append((fresh, extent))
            analyzer.bind(fresh, Range(tir.literal(0, fresh.dtype), extent))
            value = ops.add(value, fresh)
        values.append(value)
        if domain is not axis.dom:
            predicate = _bounded(analyzer, predicate, value, axis.dom, fits=_certainly_inside(domain, axis.dom))
    placed = realize.with_fields(iter_values=tuple(values), predicate=predicate)
    moved: dict[Any, Any] = {axis.var: value for axis, value in zip(block.iter_vars, values)}
    for condition in _conditions_on_axes(realize):
        placed = with_condition(placed, substitute(condition, moved))
    body: st.Stmt = placed
    for fresh, extent in reversed(loops):
        body = st.For(fresh, 0, extent, st.ForKind.SERIAL, body)
    return body


def _certainly_inside(part: Range, whole: Range) -> bool:
    """Whether no condition is needed: the part is one point or the whole of it (padding reads may run over)."""
    constant = [e.value for e in (part.min, part.extent, whole.min, whole.extent) if isinstance(e, tir.IntImm)]
    if len(constant) == 4:
        low, count, begin, size = constant
        return begin <= low and low + count <= begin + size
    return part.extent is whole.extent and is_equal(part.min, whole.min)


def _bounded(analyzer: Analyzer, predicate: PrimExpr, value: PrimExpr, domain: Range, fits: bool) -> PrimExpr:
    """The predicate, and what is not certain of the value lying in the axis's range."""
    if fits:
        return predicate
    lower = ops.build("greater_equal", value, domain.min)
    upper = ops.build("less", value, ops.add(domain.min, domain.extent))
    for condition in (lower, upper):
        if not analyzer.prove(condition):
            predicate = condition if is_true(predicate) else ops.logical_and(predicate, condition)
    return predicate
