"""Split, fuse, reorder and annotate loops."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import children, post_order, rewrite, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.schedule.conditions.independence import require_independent, require_order_kept
from baton._src.tir.schedule.tree import find_loop, path_to, refuse, replace, simplify, with_condition
from baton._src.values.dtype import DataType


def split(
    root: st.Stmt, var: tir.Var, factors: Sequence[Any], preserve_unit_iters: bool = True, predicated: bool = True
) -> tuple[st.Stmt, list[tir.Var]]:
    """Split one loop into several nested ones; a None among the factors is inferred (rounded up, and `predicated`).

    Loops of one iteration stay in the bindings of axes if `preserve_unit_iters`.
    """
    loop = without_thread(find_loop(root, var))
    if loop.annotations:
        raise refuse(f"the loop over {var.name} is annotated", help="annotate the loops that it is split into instead")
    dtype = var.dtype
    sizes = loop_sizes(factors, dtype)
    if sum(s is None for s in sizes) > 1:
        raise refuse("split takes at most one None")
    if any(isinstance(s, tir.IntImm) and s.value < 1 for s in sizes):
        raise refuse(f"factors are 1 or more, not {list(factors)}")
    known: PrimExpr = tir.IntImm(dtype, 1)
    for size in sizes:
        known = known if size is None else ops.multiply(known, size)
    extents = [simplify(ops.ceildiv(loop.extent, known)) if s is None else s for s in sizes]
    total = simplify(_product(extents, dtype))
    inner = [tir.Var(f"{var.name}_{i}", dtype) for i in range(len(extents))]
    place: PrimExpr = tir.IntImm(dtype, 0)
    for part, extent in zip(inner, extents):
        place = ops.add(ops.multiply(place, extent), part)
    body = substitute(loop.body, {var: ops.add(loop.min, place)})
    gap = simplify(ops.subtract(total, loop.extent))
    if None not in sizes and not is_nonnegative(gap, domains_around(root, loop)):
        raise refuse(
            f"the factors {list(factors)} may cover fewer iterations than the loop over {var.name} has, {loop.extent}",
            help="leave one factor None: it is inferred",
        )
    if predicated and not ops.is_const(gap, 0):
        body = under_condition(body, ops.build("less", place, loop.extent))
    ranges = {v: Range(tir.IntImm(dtype, 0), e) for v, e in zip(inner, extents)}
    body = with_simple_bindings(root, body, ranges, preserve_unit_iters)
    for part, extent in zip(reversed(inner), reversed(extents)):
        body = st.For(part, 0, extent, st.ForKind.SERIAL, body)
    return replace(root, {loop: body}), inner


def loop_sizes(factors: Sequence[Any], dtype: DataType) -> list[PrimExpr | None]:
    """Extents of new loops as a script gives them; None are to be inferred. Refuses what is no whole number."""
    found: list[PrimExpr | None] = []
    for factor in factors:
        size = None if factor is None else ops.convert(factor)
        if size is not None and not size.dtype.is_int:
            raise refuse(f"extents of loops are whole numbers or None, not {factor!r}")
        found.append(None if size is None else ops.cast(dtype, size))
    return found


def is_nonnegative(number: PrimExpr, domains: Mapping[tir.Var, Range]) -> bool:
    """Whether a number is provably not negative, for variables in their ranges."""
    return Analyzer.over(domains).is_nonnegative(number)


def without_thread(loop: st.For) -> st.For:
    """The loop, refused if it is bound to threads: the script must say which of the new loops is."""
    if loop.kind is st.ForKind.THREAD_BINDING:
        raise refuse(f"the loop over {loop.loop_var.name} is bound to threads", help="bind the new loops instead")
    return loop


def with_simple_bindings(root: st.Stmt, body: st.Stmt, made: dict[tir.Var, Range], keep_units: bool) -> st.Stmt:
    """The blocks of `body` with their axes bound to simple sums of the loops around; `made` are the new ones.

    Loops of one iteration stay in the sums if `keep_units`: other primitives look for them there.
    """
    ranges = {n.loop_var: Range(n.min, n.extent) for n in st.statements(root) if isinstance(n, st.For)} | made

    def rule(node: Any) -> Node | None:
        if not isinstance(node, st.BlockRealize) or not node.iter_values:
            return None
        used = dict.fromkeys(n for value in node.iter_values for n in post_order(value) if n in ranges)
        if not used.keys() & made.keys():
            return None
        analyzer = Analyzer()
        for var in used:
            known = ranges[var]
            if keep_units and ops.is_const(known.extent, 1):
                known = Range(known.min, tir.literal(2, var.dtype))
            analyzer.bind(var, known)
        return node.with_fields(iter_values=tuple(analyzer.simplify(value) for value in node.iter_values))

    found: st.Stmt = rewrite(body, rule, below=st.inner_statements)
    return found


def _product(extents: Sequence[PrimExpr], dtype: Any) -> PrimExpr:
    total: PrimExpr = tir.IntImm(dtype, 1)
    for extent in extents:
        total = ops.multiply(total, extent)
    return total


def under_condition(body: st.Stmt, condition: PrimExpr) -> st.Stmt:
    """The outermost blocks of `body` under one more condition; so is what reads memory to get there."""
    if isinstance(body, st.BlockRealize):
        return with_condition(body, condition)
    match body:
        case st.For() | st.LetStmt() | st.AttrStmt() if not _reads_memory(body):
            return body.with_fields(body=under_condition(body.body, condition))
        case st.SeqStmt(seq=seq):
            return st.SeqStmt(tuple(under_condition(s, condition) for s in seq))
        case _:
            return st.IfThenElse(condition, body)


def _reads_memory(stmt: st.For | st.LetStmt | st.AttrStmt) -> bool:
    """Whether a statement itself, its bounds or its value, depends on memory."""
    own = [part for part in children(stmt) if isinstance(part, PrimExpr)]
    return any(isinstance(n, tir.BufferLoad | tir.Call) for n in post_order(own))


def fuse(root: st.Stmt, variables: Sequence[tir.Var], preserve_unit_iters: bool = True) -> tuple[st.Stmt, tir.Var]:
    """Perfectly nested loops as one, outermost first; for `preserve_unit_iters` see `split`."""
    loops = [without_thread(find_loop(root, v)) for v in variables]
    if not loops:
        raise refuse("fuse takes one loop or more")
    annotated = next((loop for loop in loops if loop.annotations), None)
    if annotated is not None:
        raise refuse(f"the loop over {annotated.loop_var.name} is annotated", help="annotate the fused loop instead")
    for outer, inner in itertools.pairwise(loops):
        if outer.body is not inner:
            raise refuse(f"{inner.loop_var.name} is not the only thing inside {outer.loop_var.name}")
    if any(not ops.is_const(loop.min, 0) for loop in loops):
        raise refuse("fuse takes loops that start at 0")
    for loop in loops:
        if not set(variables).isdisjoint(post_order(loop.extent)):
            raise refuse(f"the extent of the loop over {loop.loop_var.name} depends on a loop that it is fused with")
    dtype = loops[0].loop_var.dtype
    fused = tir.Var("_".join(v.name for v in variables) + "_fused", dtype)
    rest: PrimExpr = fused
    values: dict[tir.Var, PrimExpr] = {}
    for loop in reversed(loops[1:]):
        extent = ops.cast(dtype, loop.extent)
        values[loop.loop_var] = ops.cast(loop.loop_var.dtype, ops.floormod(rest, extent))
        rest = ops.floordiv(rest, extent)
    values[loops[0].loop_var] = rest
    extent = simplify(_product([ops.cast(dtype, loop.extent) for loop in loops], dtype))
    body = substitute(loops[-1].body, values)
    body = with_simple_bindings(root, body, {fused: Range(tir.IntImm(dtype, 0), extent)}, preserve_unit_iters)
    made = replace(root, {loops[0]: st.For(fused, 0, extent, st.ForKind.SERIAL, body)})
    return set_kind(made, fused, loops[0].kind), fused


def reorder(root: st.Stmt, variables: Sequence[tir.Var]) -> st.Stmt:
    """Reorder the given loops; they must form one chain with nothing else between them."""
    loops = [find_loop(root, v) for v in variables]
    if len(set(loops)) < len(loops):
        raise refuse(f"reorder takes each loop once, not {', '.join(v.name for v in variables)}")
    if len(loops) < 2:
        return root
    depths = {loop: len(path_to(root, loop)) for loop in loops}
    ordered = sorted(loops, key=lambda loop: depths[loop])
    top, bottom = ordered[0], ordered[-1]
    chain: list[st.For] = []
    item: st.Stmt = top
    while isinstance(item, st.For):
        chain.append(item)
        if item is bottom:
            break
        item = item.body
    if chain[-1] is not bottom or any(loop not in chain for loop in loops):
        raise refuse("reorder takes loops of one chain with nothing else between them")
    moved = iter(loops)
    arranged = [next(moved) if loop in depths else loop for loop in chain]
    for place, loop in enumerate(arranged):
        bound_later = {later.loop_var for later in arranged[place + 1 :]}
        if any(n in bound_later for e in (loop.min, loop.extent) for n in post_order(e)):
            raise refuse(f"the bounds of {loop.loop_var.name} depend on a loop that would be inside it")
    require_order_kept(root, chain, arranged)
    body = bottom.body
    for loop in reversed(arranged):
        body = loop.with_fields(body=body)
    return replace(root, {top: body})


def set_kind(root: st.Stmt, var: tir.Var, kind: st.ForKind) -> st.Stmt:
    """Set how the iterations run. Parallel and vectorised iterations must be independent: of data-parallel axes
    only.
    """
    loop = find_loop(root, var)
    made = loop.with_fields(kind=kind, thread_binding=None)
    found = replace(root, {loop: made})
    require_independent(made, found)
    return found


def bind(root: st.Stmt, var: tir.Var, thread: str) -> st.Stmt:
    """Bind a loop to threads: over data-parallel axes, or for one group of threads also over reductions."""
    loop = find_loop(root, var)
    axis = tir.IterVar(None, tir.Var(thread, var.dtype), tir.IterVar.ThreadIndex, thread)
    made = loop.with_fields(kind=st.ForKind.THREAD_BINDING, thread_binding=axis)
    require_independent(made, root)
    return replace(root, {loop: made})


def annotation_value(value: Any) -> Any:
    """The value of an annotation: texts and numbers, lists and dicts of them; numbers that were sampled are plain."""
    match value:
        case str() | bool() | float() | PrimExpr():
            return value
        case int():
            return int(value)
        case list() | tuple():
            return [annotation_value(part) for part in value]
        case Mapping() if all(isinstance(key, str) for key in value):
            return {key: annotation_value(part) for key, part in value.items()}
        case _:
            raise refuse(f"annotations are texts, numbers, or lists and dicts of them, not {value!r}")


def annotate(root: st.Stmt, target: st.For | st.Block, key: str, value: Any) -> st.Stmt:
    """Set (or with None remove) an annotation of a loop or block."""
    found = {k: v for k, v in target.annotations.items() if k != key}
    if value is not None:
        found[key] = value
    return replace(root, {target: target.with_fields(annotations=found)})


def domains_around(root: st.Stmt, target: st.Stmt) -> dict[tir.Var, Range]:
    """The ranges of loops around a statement."""
    return {
        item.loop_var: Range(item.min, item.extent) for item in path_to(root, target)[:-1] if isinstance(item, st.For)
    }
