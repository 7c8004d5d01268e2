"""The rule that always applies: stages fused row by row, inner loops vectorised, outer loops parallel.

    softmax: max, exp, sum, divide over (n, k)   ->   for n in parallel: all four over k (`row_blocks`)

Stages are fused while each reads the others' results only at its own leading indices (the row). Elementwise stages
merge their trailing axes into one long vector loop; reductions go to `vector_reduce`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.shared.affine import merge_trailing, same
from baton._src.lower.kernel_schedules.shared.arg_extrema import in_two_sweeps
from baton._src.lower.kernel_schedules.shared.chains import vector_loop
from baton._src.lower.kernel_schedules.shared.flat_index_digits import with_plain_indices
from baton._src.lower.kernel_schedules.shared.flushed_powers import flush_powers
from baton._src.lower.kernel_schedules.shared.inline import expression_cost, inline_elementwise
from baton._src.lower.kernel_schedules.shared.interleaved import interleaved
from baton._src.lower.kernel_schedules.shared.loops import (
    PARALLEL,
    WORTH_A_THREAD,
    i64,
    index_var,
    loop,
    nest,
    parallel_rows,
    product,
    sequence,
    thread_work,
)
from baton._src.lower.kernel_schedules.shared.opaque_loops import shared_out
from baton._src.lower.kernel_schedules.shared.open_pieces import before_rows, in_open_pieces
from baton._src.lower.kernel_schedules.shared.pieces import cut_in_pieces
from baton._src.lower.kernel_schedules.shared.repeated_rows import MANY_ROWS, rows_apart
from baton._src.lower.kernel_schedules.shared.row_blocks import (
    ROW_BYTES,
    blocks_of_rows,
    row_bytes,
    row_view,
    stage_work,
)
from baton._src.lower.kernel_schedules.shared.separate_windows import separate_windows
from baton._src.lower.kernel_schedules.shared.shared_sums import in_shared_parts
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined, Kernel, Opaque, Stage, read_kernel
from baton._src.lower.kernel_schedules.shared.vector_reduce import along_reduction, reduction
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc

CHUNK = 4096
"""Elements of a flat loop that a thread takes at a time."""


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """Apply the schedule rule; it declines only bodies that are not a list of stages (they keep their own loops)."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    kernel = separate_windows(flush_powers(inline_elementwise(in_two_sweeps(kernel))))
    kernel = in_shared_parts(kernel, target)
    return kernel.rebuilt(emit_stages(kernel, kernel.stages, target))


def emit_stages(kernel: Kernel, stages: Sequence[Stage | Opaque], target: Target) -> st.Stmt:
    """Statements for a list of stages."""
    parts = [_emit(group, kernel, target) for group in _groups(stages, target)]
    if not parts:
        return st.Evaluate(tir.IntImm("int32", 0))
    return parts[0] if len(parts) == 1 else st.SeqStmt(tuple(parts))


# ------------------------------------------------------------------------------------------------- grouping


@dataclass
class Group:
    """Stages computed in one loop over their `depth` leading axes."""

    depth: int
    stages: list[Stage] = field(default_factory=list)
    opaque: Opaque | None = None


def _groups(stages: Sequence[Stage | Opaque], target: Target) -> list[Group]:
    groups: list[Group] = []
    for stage in stages:
        if isinstance(stage, Opaque):
            groups.append(Group(0, opaque=stage))
            continue
        if groups and groups[-1].opaque is None:
            depth = _joint_depth(groups[-1], stage, target)
            if depth > 0:
                groups[-1].depth = depth
                groups[-1].stages.append(stage)
                continue
        groups.append(Group(_own_depth(stage, target), [stage]))
    return groups


def _own_depth(stage: Stage, target: Target) -> int:
    """How many leading axes may form the row index: all, unless the last spatial axis is to be vectorised."""
    if stage.reduce and not along_reduction(merge_trailing(stage), target):
        return max(0, len(stage.spatial) - 1)
    return len(stage.spatial)


def _joint_depth(group: Group, stage: Stage, target: Target) -> int:
    """The number of leading axes that `stage` can share with the group; 0 keeps it separate."""
    written = {s.buffer for s in group.stages}
    if not (written & stage.reads) or any(stage.buffer in s.reads | {s.buffer} for s in group.stages):
        return 0
    if not any(s.reduce for s in (*group.stages, stage)):
        return 0
    depth = min(group.depth, _own_depth(stage, target))
    first = group.stages[0]
    while depth > 0 and not all(same(a.extent, b.extent) for a, b in zip(first.spatial[:depth], stage.spatial[:depth])):
        depth -= 1
    for load in stage.loads:
        if load.buffer in written:
            while depth > 0 and not all(i is a.var for i, a in zip(load.indices[:depth], stage.spatial)):
                depth -= 1
    near = [load.buffer for load in stage.loads if load.buffer in written and not _is_in_step(load)]
    if depth == len(stage.spatial) - 1 > 1 and near and all(row_bytes(b, depth - 1) <= ROW_BYTES for b in near):
        return depth - 1
    return depth


def _is_in_step(load: tir.BufferLoad) -> bool:
    """Whether vectors are loaded as they were stored. One that overlaps several stores waits until all have left the
    store buffer: an iteration should store more, before it loads, than one line of a window's extrema.
    """
    return all(isinstance(index, tir.Var) for index in load.indices)


# ------------------------------------------------------------------------------------------------- emission


def _emit(group: Group, kernel: Kernel, target: Target) -> st.Stmt:
    if group.opaque is not None:
        return shared_out(group.opaque, _only_of(group.opaque, kernel), target)
    if len(group.stages) == 1:
        stage = group.stages[0]
        return _single_reduction(stage, target) if stage.reduce else elementwise(stage, target)
    return blocks_of_rows(group.stages, group.depth, kernel, target)


def _only_of(opaque: Opaque, kernel: Kernel) -> set[Buffer]:
    """The kernel's buffers that no other stage uses."""
    others = [s for s in kernel.stages if s is not opaque]
    return set(kernel.local).difference(*(s.reads | s.writes for s in others))


def elementwise(stage: Stage, target: Target) -> st.Stmt:
    """The loops of an elementwise stage on its own."""
    stage = with_plain_indices(stage)
    beside = interleaved(stage, target)
    if beside is not None:
        return beside
    apart = rows_apart(stage)
    is_apart, stage = apart is not stage, merge_trailing(apart)
    work = expression_cost(stage.value) + len(stage.loads) + 1
    store = st.BufferStore(stage.buffer, stage.value, stage.indices)
    if not stage.spatial:
        return store
    last = stage.spatial[-1]
    if len(stage.spatial) == 1:
        return _flat(last, store, work, target)
    inside = int(is_apart and (stage.spatial[-2].size or MANY_ROWS) < MANY_ROWS)
    rows, again = stage.spatial[: -1 - inside], stage.spatial[-1 - inside : -1]
    inner = nest(again, _in_pieces(last, store, target))
    row_work = ops.multiply(product([a.extent for a in (*again, last)]), i64(max(1, work // 4)))
    return parallel_rows(rows, row_work, inner, target.num_cores)


def _in_pieces(axis: Axis, store: st.BufferStore, target: Target) -> st.Stmt:
    """Vector loops over an axis, or over pieces of it."""

    def emit(axis: Axis, part: st.BufferStore) -> st.Stmt:
        return vector_loop(axis.var, axis.extent, part, target)

    pieces = cut_in_pieces(axis, store, target.lanes(store.buffer.dtype.bits))
    if len(pieces) > 1:
        return sequence(*(emit(*piece) for piece in pieces))
    ((axis, store),) = pieces

    def cut(store: st.BufferStore) -> st.Stmt:
        return in_open_pieces(axis, store, emit) or emit(axis, store)

    return before_rows(store, axis.var, cut)


def _flat(axis: Axis, store: st.BufferStore, work: int, target: Target) -> st.Stmt:
    """One long loop, in chunks for the threads."""
    size = axis.size
    cost = max(1, work // 4)
    if target.num_cores <= 1 or (size is not None and size * cost < 2 * WORTH_A_THREAD):
        return _in_pieces(axis, store, target)
    wide = tuned("chunk", CHUNK, (1 << n for n in range(9, 17)))
    chunk, lane = index_var("chunk"), index_var("i")
    start = ops.multiply(chunk, i64(wide))
    count = ops.floordiv(ops.add(as_int64(axis.extent), i64(wide - 1)), i64(wide))
    body: st.BufferStore = substitute_and_fold(store, {axis.var: ops.cast(axis.var.dtype, ops.add(start, lane))})
    if size is not None and size % wide == 0:
        here: PrimExpr = i64(wide)
    else:
        here = ops.min(i64(wide), ops.subtract(as_int64(axis.extent), start))
    grain = max(1, thread_work() // (wide * cost))
    return loop(chunk, count, _in_pieces(Axis(lane, here), body, target), PARALLEL, grain=grain)


def _single_reduction(stage: Stage, target: Target) -> st.Stmt:
    depth = _own_depth(stage, target)
    body = reduction(_below(stage, depth), target)
    return parallel_rows(stage.spatial[:depth], stage_work(stage, depth), body, target.num_cores)


def _below(stage: Stage, depth: int) -> Stage:
    """The stage with its first `depth` axes fixed: its buffer becomes a view of one row."""
    if depth == 0:
        return stage
    row = tuple(a.var for a in stage.spatial[:depth])
    return replace(stage, spatial=stage.spatial[depth:], buffer=row_view(stage.buffer, row))
