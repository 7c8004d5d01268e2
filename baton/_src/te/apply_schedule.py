"""A schedule of tensor expressions, applied: each of its primitives becomes one of `tir.Schedule`.

`s[C].tile(...)`, `s[B].compute_at(s[C], xo)`     ->     sch.split, sch.reorder on block C; sch.compute_at(B, xo)

Stages with copies (`cache_read`, `cache_write`, `rfactor`) are made first, in the order of the primitives; then
stages are inlined; then, from results back to inputs, each stage is put where it is to be computed and gets its loops.
So a stage's own splits apply to the part of it that is computed at one place, as in TVM.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import fail
from baton._src.te.prim_func import prim_func_with_blocks
from baton._src.te.schedule import Schedule
from baton._src.te.stage import Stage
from baton._src.te.stage_facts import Step
from baton._src.te.tensor import ComputeOp, ExternOp, ScanOp, Tensor
from baton._src.te.tensorized import tensorized
from baton._src.tir.expr import IntImm, IterVar, Var
from baton._src.tir.index_map import IndexMap
from baton._src.tir.prim_func import CHOICES, PrimFunc
from baton._src.tir.schedule.handles import BlockRV, LoopRV
from baton._src.tir.schedule.schedule import Schedule as TIRSchedule


def scheduled_prim_func(schedule: Schedule, args: Sequence[Tensor | Var], name: str = "main") -> PrimFunc:
    """The kernel with these parameters, with the schedule applied. An empty one leaves it to the schedule rules."""
    if not schedule.structure and all(not stage.history for stage in schedule.stages):
        func = prim_func_with_blocks(args, name)[0]
        return func if schedule.answers is None else func.with_attr(CHOICES, dict(schedule.answers))
    joined = [stage.origin for stage in schedule.stages if stage.attached != ("inline",)]
    func, blocks = prim_func_with_blocks(args, name, joined=joined)
    work = _Application(func, schedule)
    for stage in schedule.stages:
        if stage.copies is None and isinstance(stage.origin, ComputeOp | ExternOp):
            work.declare(stage, blocks.get(stage.origin, []))
    for stage in schedule.stages:
        work.lay_out(stage)
    for step in schedule.structure:
        work.structure(step)
    work.inline()
    for stage in reversed(schedule.stages):
        work.place(stage)
        work.transform(stage)
    work.separate_initialisations()
    return work.schedule.func.with_fields(loops_chosen=True)


class _Application:
    """The schedule so far: the block of each stage, the loop of each axis."""

    def __init__(self, func: PrimFunc, stages: Schedule) -> None:
        self.schedule = TIRSchedule(func)
        self.stages = stages
        self.block: dict[int, str] = {}
        self.several: dict[int, list[str]] = {}
        """The blocks of inlined stages of several results: one for each of these."""
        self.loops: dict[Var, LoopRV] = {}
        scans = [stage.op for stage in stages.stages if isinstance(stage.op, ScanOp)]
        self.scanned = {op.axis[place] for scan in scans for op, place in scan.steps.items()}
        """Axes that are a scan's step: loops of the scan."""

    def declare(self, stage: Stage, names: list[str]) -> None:
        """The block a stage became, and the loops of its axes."""
        if not names:
            return
        self.block[id(stage)] = names[0]
        if len(names) > 1:
            self.several[id(stage)] = names
        op = stage.origin
        if isinstance(op, ExternOp):
            self.loops.update({axis.var: LoopRV(axis.var) for axis in op.own_loops})
            return
        assert isinstance(op, ComputeOp)
        self._name_loops(stage, [a for a in (*op.axis, *op.reduce_axis) if a not in self.scanned])

    def _name_loops(self, stage: Stage, axes: Sequence[IterVar]) -> None:
        found = self.schedule.get_loops(self.block[id(stage)])
        own = found[len(found) - len(axes) :]
        self.loops.update({axis.var: loop for axis, loop in zip(axes, own)})

    def name_of(self, stage: Stage) -> str:
        """The block of a stage; refuses stages that have none."""
        found = self.block.get(id(stage))
        if found is None:
            raise fail("schedule", f"stage {stage.op.name} has no loops of its own here: it cannot be scheduled")
        return found

    # -------------------------------------------------------------------------------------------- structure

    def lay_out(self, stage: Stage) -> None:
        """The result of a stage, and its loops, in the order of memory that was asked for."""
        if not stage.history or stage.history[0][0] != "transform_layout":
            return
        name, index_map = self.name_of(stage), stage.history[0][1]
        self.schedule.transform_layout(name, ("write", 0), index_map, assume_injective_transform=True)
        assert isinstance(stage.op, ComputeOp)
        kept = tuple(axis.var for axis in stage.op.reduce_axis)
        whole = IndexMap((*index_map.initial_indices, *kept), (*index_map.final_indices, *kept))
        self.schedule.transform_block_layout(name, whole)
        self._name_loops(stage, stage.root_axes)

    def structure(self, step: Step) -> None:
        """A stage that copies another, or computes partial results of it."""
        match step:
            case ("cache_write", stage, made, scope, axes, copied):
                block = self.name_of(stage)
                copy = self.schedule.cache_write(block, 0, scope)
                self.block[id(made)], self.block[id(stage)] = block, copy.name
                self._name_loops(made, axes)
                self._name_loops(stage, copied)
            case ("cache_read", tensor, made, scope, readers, axes):
                names = [self.name_of(self.stages[r]) for r in readers]
                source = self._buffer_read(tensor, names[0])
                copy = self.schedule.cache_read(names[0], source, scope, names)
                self.block[id(made)] = copy.name
                self._name_loops(made, axes)
            case ("rfactor", stage, made, axis, history, factor_axis, axes):
                self._replay(stage, history)
                block = self.name_of(stage)
                before = self.schedule.get_loops(block)
                partial = self.schedule.rfactor_over_axes(self.loops[axis.var], factor_axis)
                self.block[id(made)] = partial.name
                again = dict(zip((loop.var for loop in before), self.schedule.get_loops(partial)))
                self.loops.update({new.var: again[self.loops[old.var].var] for old, new in made.renamed})
                made.block_order = self._in_order_of_values(partial, [new for _, new in made.renamed])
                self._name_loops(stage, axes)
                assert block == self.block[id(stage)]
            case _:
                raise AssertionError(step)

    def _in_order_of_values(self, block: BlockRV, axes: Sequence[IterVar]) -> list[IterVar]:
        """The axes in the order in which the block's own axes stand for their loops."""
        places = {value: n for n, value in enumerate(self.schedule.realize(block).iter_values)}
        return sorted(axes, key=lambda axis: places.get(self.loops[axis.var].var, len(places)))

    def _buffer_read(self, tensor: Tensor, reader: str) -> int:
        """Which of the buffers that a block reads is the tensor's."""
        stage = self.stages.stage_of(tensor)
        made = self.schedule.get(self.block[id(stage)]).writes if id(stage) in self.block else ()
        written = made[tensor.value_index if len(made) > 1 else 0].buffer if made else None
        reads = self.schedule.get(reader).reads
        for index, region in enumerate(reads):
            if region.buffer is written or (written is None and region.buffer.name == tensor.name):
                return index
        raise fail("schedule", f"block {reader} does not read {tensor.name}")

    # -------------------------------------------------------------------------------------------- placement

    def inline(self) -> None:
        """Stages that are computed where they are read. One that is also a parameter stays: it is read."""
        given = set(self.schedule.func.buffer_map.values())
        for stage in self.stages.stages:
            if stage.attached != ("inline",):
                continue
            for name in self.several.get(id(stage), [self.name_of(stage)]):
                asked_for = any(region.buffer in given for region in self.schedule.get(name).writes)
                if not asked_for or stage.origin in self.stages.outputs:
                    self.schedule.compute_inline(name)

    def place(self, stage: Stage) -> None:
        """Move a stage under an axis of its reader."""
        if stage.attached is None or stage.attached[0] != "at":
            return
        _, parent, axis = stage.attached
        self.name_of(parent)
        parent.place(axis)  # it may have been split or fused since
        if axis.var not in self.loops:
            raise fail("schedule", f"stage {parent.op.name} comes before {stage.op.name}, which it does not read")
        self.schedule.compute_at(self.name_of(stage), self.loops[axis.var], preserve_unit_loops=True)
        axes = self._in_block_order(stage)
        self._name_loops(stage, axes)

    def _in_block_order(self, stage: Stage) -> list[IterVar]:
        """The axes of a stage in the order of its block's axes: partial results have theirs in the loops' order."""
        return stage.block_order or stage.root_axes

    def transform(self, stage: Stage) -> None:
        """Apply the loop primitives."""
        steps = [step for step in stage.history if step[0] not in ("cache_read", "cache_write", "rfactor")]
        if stage.attached != ("inline",) and steps:
            self.name_of(stage)
            self._replay(stage, steps)
        for step in steps:
            if step[0] == "tensorize":
                _, axis, intrin = step
                self.block[id(stage)] = tensorized(self.schedule, self.name_of(stage), self.loops[axis.var], intrin)

    def _replay(self, stage: Stage, history: Sequence[Step]) -> None:
        loops, schedule = self.loops, self.schedule
        for step in history:
            match step:
                case ("split", parent, factor, nparts, outer, inner):
                    factors = [None, factor] if factor is not None else [nparts, None]
                    loops[outer.var], loops[inner.var] = schedule.split(loops[parent.var], factors)
                case ("fuse", axes, fused):
                    loops[fused.var] = schedule.fuse(*(loops[a.var] for a in axes))
                case ("reorder", *axes):
                    schedule.reorder(*(loops[a.var] for a in axes))
                case ("vectorize" | "unroll" | "parallel" as kind, axis):
                    getattr(schedule, kind)(loops[axis.var])
                case ("pragma", axis, kind, value):
                    schedule.annotate(loops[axis.var], f"pragma_{kind}", _plain(value))
                case ("prefetch", axis, tensor, offset):
                    schedule.annotate(loops[axis.var], "prefetch", f"{tensor.name}, {offset}")
                case ("set_scope", scope):
                    schedule.set_scope(self.name_of(stage), 0, scope)
                case ("storage_align", axis, factor, offset):
                    name, place = self.name_of(stage), [a.var for a in stage.root_axes].index(axis.var)
                    if schedule.get(name).writes[0].buffer not in schedule.func.buffer_map.values():
                        schedule.storage_align(name, 0, place, factor, offset)  # the caller aligns its own memory
                case ("double_buffer" | "rolling_buffer" as hint,):
                    schedule.annotate(self.name_of(stage), f"{hint}_scope", 0)
                case _:
                    pass  # placement, structure and intrinsics, done elsewhere

    def separate_initialisations(self) -> None:
        """The start of each reduction in front of its outermost loop over reduced values, as TVM has it.

        Of stages without primitives too: that loop may have no iterations.
        """
        for stage in self.stages.stages:
            name = self.block.get(id(stage))
            if name is None or stage.attached == ("inline",):
                continue
            realize = self.schedule.realize(name)
            if realize.block.init is None:
                continue
            reduced = {
                n
                for axis, value in zip(realize.block.iter_vars, realize.iter_values)
                if axis.iter_type == "reduce"
                for n in post_order(value)
            }
            around = [loop for loop in self.schedule.get_loops(name) if loop.var in reduced]
            if around:
                self.schedule.decompose_reduction(name, around[0])


def _plain(value: object) -> object:
    """An annotation's value as a number or text; a pragma without a value is on."""
    if value is None:
        return 1
    return value.value if isinstance(value, IntImm) else value
