"""Partition one loop into several, and merge several into one.

loop_partition: for i in 10: A  ->  for i in [0, 4): A; for i in [4, 10): A
merge: for i: A; for j: B       ->  for i: A; B
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import children, post_order, rewrite, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.loop_accesses import loop_accesses
from baton._src.tir.analysis.regions import region_over
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer
from baton._src.tir.schedule.transformations.loops import (
    domains_around,
    is_nonnegative,
    loop_sizes,
    with_simple_bindings,
    without_thread,
)
from baton._src.tir.schedule.tree import (
    find_loop,
    fresh_loop_variables,
    is_equal,
    outermost_blocks,
    path_to,
    refuse,
    replace,
    simplify,
)


def loop_partition(
    root: st.Stmt, var: tir.Var, factors: Sequence[Any], preserve_unit_iters: bool = True
) -> tuple[st.Stmt, list[tir.Var]]:
    """Partition the loop into consecutive ones of these extents; one may be None (inferred). What they leave becomes
    one more.

    Loops of one iteration stay in the bindings of axes if `preserve_unit_iters`.
    """
    loop = without_thread(find_loop(root, var))
    if sum(f is None for f in factors) > 1 or not factors:
        raise refuse("loop_partition takes one extent or more, of which one may be None")
    sizes = loop_sizes(factors, var.dtype)
    known: PrimExpr = tir.IntImm(var.dtype, 0)
    for size in sizes:
        known = known if size is None else ops.add(known, size)
    rest = simplify(ops.subtract(loop.extent, known))
    if None not in sizes and not ops.is_const(rest, 0):
        sizes.append(None)
    extents = [rest if s is None else s for s in sizes]
    if not isinstance(rest, tir.IntImm) and not is_nonnegative(rest, domains_around(root, loop)):
        raise refuse(f"the loop over {var.name} may have fewer iterations than its partitions: {loop.extent!r}")
    if any(isinstance(e, tir.IntImm) and e.value <= 0 for e in extents):
        raise refuse(f"a partition of the {loop.extent!r} iterations over {var.name} would be empty: {list(factors)}")
    made: list[st.Stmt] = []
    variables: list[tir.Var] = []
    start: PrimExpr = loop.min
    for number, extent in enumerate(extents):
        own = tir.Var(f"{var.name}{number}", var.dtype)
        part = Range(start, extent)
        body = substitute(loop.body, {var: own})
        if number:
            body = _with_own_variables(_without_starts(body, own, {**domains_around(root, loop), own: part}), root)
        body = with_simple_bindings(root, _restricted(body, own, part), {own: part}, preserve_unit_iters)
        nest = loop.with_fields(loop_var=own, min=start, extent=extent, body=body)
        made.append(_container(f"{_first_block(body)}_partition", nest))
        variables.append(own)
        start = simplify(ops.add(start, extent))
    whole = _container(f"{_first_block(loop.body)}_{var.name}_common", st.stmt_seq(*made))
    return replace(root, {loop: whole}), variables


def _first_block(body: st.Stmt) -> str:
    blocks = outermost_blocks(body)
    if not blocks:
        raise refuse("loop_partition takes a loop around blocks")
    return blocks[0].block.name_hint


def _container(name: str, body: st.Stmt) -> st.BlockRealize:
    """A block that only holds others: as in TVM it states no accesses."""
    return st.BlockRealize((), tir.IntImm("bool", 1), st.Block((), (), (), name, body))


def _restricted(body: st.Stmt, own: tir.Var, part: Range) -> st.Stmt:
    """The blocks of one part, named after it: axes bound to its loop take its values only, and regions are stated for
    the part, as in TVM.
    """
    changed: dict[st.Stmt, st.Stmt] = {}
    for realize in outermost_blocks(body):
        block = realize.block
        axes = tuple(
            axis.with_fields(dom=part) if value is own else axis
            for axis, value in zip(block.iter_vars, realize.iter_values)
        )
        domains = {axis.var: axis.dom for axis in axes if axis.dom is not None}
        renamed = block.with_fields(
            iter_vars=axes,
            name_hint=f"{block.name_hint}_{own.name}",
            reads=tuple(region_over(region, domains) for region in block.reads),
            writes=tuple(region_over(region, domains) for region in block.writes),
        )
        changed[realize] = realize.with_fields(block=renamed)
    return replace(body, changed)


def _without_starts(body: st.Stmt, own: tir.Var, around: dict[tir.Var, Range]) -> st.Stmt:
    """Reductions over the loop are initialised in its first partition: later ones continue without initialisation."""
    analyzer = Analyzer.over(around)
    for node in post_order(body):
        if isinstance(node, st.For):
            analyzer.bind(node.loop_var, Range(node.min, node.extent))

    def rule(node: Node) -> Node | None:
        if not isinstance(node, st.BlockRealize) or node.block.init is None:
            return None
        over = [
            (value, axis)
            for axis, value in zip(node.block.iter_vars, node.iter_values)
            if axis.iter_type == "reduce" and any(n is own for n in post_order(value))
        ]
        if not over:
            return None
        for value, axis in over:
            if axis.dom is not None and analyzer.prove(ops.build("greater", value, axis.dom.min)):
                return node.with_fields(block=node.block.with_fields(init=None))
        raise refuse(
            f"where block {node.block.name_hint} starts its reduction does not follow from {own.name}",
            help="decompose_reduction first",
        )

    found: st.Stmt = rewrite(body, rule)
    return found


def _with_own_variables(body: st.Stmt, root: st.Stmt) -> st.Stmt:
    """A copy of a part of `root` with fresh variables and buffers in place of those that it defines."""
    renamed = fresh_loop_variables(body)
    for node in post_order(body):
        match node:
            case st.LetStmt(var=var) | tir.Let(var=var):
                renamed[var] = var.copy()
            case st.Allocate(buffer_var=var) | st.AllocateConst(buffer_var=var):
                renamed[var] = var.copy()
            case st.Block():
                renamed |= {axis.var: axis.var.copy() for axis in node.iter_vars}
                renamed |= {var: var.copy() for var in _defined_by_views(node, root)}
                for buffer in (*node.alloc_buffers, *(view.buffer for view in node.match_buffers)):
                    renamed[buffer] = substitute(buffer, {**renamed, buffer.data: buffer.data.copy()})
            case _:
                pass
    found: st.Stmt = substitute(body, renamed)
    return found


def _defined_by_views(block: st.Block, root: st.Stmt) -> list[tir.Var]:
    """The variables for sizes, strides and offsets of a block's views which stand nowhere else."""
    buffers = _views(block)
    open_parts = [part for b in buffers for part in (*b.shape, *b.strides, b.elem_offset)]
    found = [part for part in open_parts if isinstance(part, tir.Var)]
    if not found:
        return []
    is_original = {n for n in st.statements(root) if isinstance(n, st.Block) and buffers == _views(n)}
    elsewhere = set(post_order(root, below=lambda n: () if n in is_original else children(n)))
    return [var for var in found if var not in elsewhere]


def _views(block: st.Block) -> list[Buffer]:
    return [view.buffer for view in block.match_buffers]


def merge(root: st.Stmt, variables: Sequence[tir.Var]) -> tuple[st.Stmt, tir.Var]:
    """Merge consecutive loop nests into one loop: each nest is a chain of loops down to the given one."""
    if len(variables) < 2:
        raise refuse("merge takes two loops or more")
    loops = [without_thread(find_loop(root, v)) for v in variables]
    annotated = next((loop for loop in loops if loop.annotations), None)
    if annotated is not None:
        raise refuse(f"the loop over {annotated.loop_var.name} is annotated", help="annotate the merged loop instead")
    parent, nests = _nests(root, loops)
    first = nests[0]
    bodies = [first[-1].body]
    for nest in nests[1:]:
        if len(nest) != len(first) or not all(_alike(a, b) for a, b in zip(first, nest)):
            raise refuse(f"the loops around {nest[-1].loop_var.name} have other extents or kinds")
        renamed: dict[Any, Any] = {b.loop_var: ops.cast(b.loop_var.dtype, a.loop_var) for a, b in zip(first, nest)}
        bodies.append(substitute(nest[-1].body, renamed))
    start = parent.seq.index(first[0])
    if parent.seq[start : start + len(nests)] != tuple(nest[0] for nest in nests):
        raise refuse("merge takes nests that follow each other, in their order")
    _check_independent(bodies, [loop.loop_var for loop in first])
    made: st.Stmt = st.SeqStmt(tuple(part for b in bodies for part in (b.seq if isinstance(b, st.SeqStmt) else (b,))))
    for loop in reversed(first):
        made = loop.with_fields(body=made)
    seq = (*parent.seq[:start], made, *parent.seq[start + len(nests) :])
    return replace(root, {parent: made if len(seq) == 1 else st.SeqStmt(seq)}), first[-1].loop_var


def _nests(root: st.Stmt, loops: Sequence[st.For]) -> tuple[st.SeqStmt, list[list[st.For]]]:
    """The sequence that loops are in, and for each the nest down to it: nothing but loops, from the sequence on."""
    paths = [path_to(root, loop) for loop in loops]
    depth = 0
    while all(len(p) > depth + 1 for p in paths) and len({id(p[depth]) for p in paths}) == 1:
        depth += 1
    parent = paths[0][depth - 1]
    nests = [[item for item in path[depth:] if isinstance(item, st.For)] for path in paths]
    if not isinstance(parent, st.SeqStmt) or any(len(n) != len(p) - depth for n, p in zip(nests, paths)):
        raise refuse("merge takes loops of nests in a row, with nothing but loops above them")
    return parent, nests


def _alike(one: st.For, other: st.For) -> bool:
    gaps = [
        simplify(ops.subtract(a, ops.cast(a.dtype, b))) for a, b in ((one.min, other.min), (one.extent, other.extent))
    ]
    return one.kind == other.kind and all(ops.is_const(g, 0) for g in gaps)


def _check_independent(bodies: Sequence[st.Stmt], variables: Sequence[tir.Var]) -> None:
    """Require that iteration i of a later nest depends only on iteration i of earlier ones."""
    for (reads, writes), (later_reads, later_writes) in combinations([_accesses(b) for b in bodies], 2):
        for buffer in writes.keys() & (later_reads.keys() | later_writes.keys()) | reads.keys() & later_writes.keys():
            indices = [p for t in (reads, writes, later_reads, later_writes) for p in t.get(buffer, ())]
            for var in variables:
                if not any(all(is_equal(p[d], var) for p in indices) for d in range(buffer.ndim)):
                    raise refuse(f"the nests meet in {buffer.name}, and not at the same {var.name} each")


Places = dict[Buffer, list[tuple[PrimExpr, ...]]]


def _accesses(body: st.Stmt) -> tuple[Places, Places]:
    reads: Places = {}
    writes: Places = {}
    for access in loop_accesses(st.For(tir.Var("all", "int32"), 0, 1, st.ForKind.SERIAL, body)):
        (writes if access.is_store else reads).setdefault(access.buffer, []).append(access.indices)
    return reads, writes
