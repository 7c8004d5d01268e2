"""`te.create_schedule`: TVM's schedules of tensor expressions, as they are written down.

    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=64)
    s[C].parallel(outer)
    tvm.build(s, [A, B, C], "llvm")

A schedule never changes what is computed, only how. Here every primitive is checked against the axes of its stage and
kept in `Stage.history`; `tvm.lower` and `tvm.build` apply them (`apply_schedule`). A schedule without primitives
leaves the kernel to the rules baton has for the target. What a CPU cannot do (binding to GPU threads) is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from baton._src.ir.expr import PrimExpr, Range
from baton._src.support.dataclass import dataclass
from baton._src.support.spans import Span
from baton._src.te.group import Group, grouped
from baton._src.te.stage import Stage, domain, refuse
from baton._src.te.stage_facts import Step
from baton._src.te.tensor import ComputeOp, Operation, ScanOp, Tensor
from baton._src.tir.expr import IterVar, Var


@dataclass
class Schedule:
    """The stages of a graph of tensors, inputs first. `s[tensor]` or `s[op]` is a stage."""

    outputs: list[Operation]
    stages: list[Stage] = field(default_factory=list)
    structure: list[Step] = field(default_factory=list)
    """Stages that were added, in order: (primitive, of which stage or tensor, the new stage, arguments...), with the
    axes that the blocks have from then on: later steps may give them others."""
    groups: list[Group] = field(default_factory=list)
    answers: Mapping[str, int] | None = None
    """Answers to what the rule leaves open that schedules the tensors if nothing is said here; tuning gives them."""

    def __post_init__(self) -> None:
        self.stages = [Stage(op) for op in _operations(self.outputs)]
        for stage in list(self.stages):
            stage.is_output = stage.op in self.outputs
            for op, place in stage.op.steps.items() if isinstance(stage.op, ScanOp) else ():
                self[op].leave_out(op.axis[place])

    def __repr__(self) -> str:
        return f"schedule({', '.join(map(str, self.stages))})"

    def __getitem__(self, key: Tensor | Operation) -> Stage:
        """The stage that computes an operation or a tensor; an error if it is not part of this schedule."""
        op = key.op if isinstance(key, Tensor) else key
        for stage in self.stages:
            if op is stage.op or op is stage.origin:
                return stage
        raise refuse(f"{getattr(op, 'name', op)!r} is not a stage of this schedule")

    stage_of = __getitem__

    def __iter__(self) -> Iterator[Stage]:
        return iter(self.stages)

    def cache_read(
        self, tensor: Tensor, scope: str, readers: Tensor | Operation | Sequence[Tensor | Operation]
    ) -> Tensor:
        """A stage that copies a tensor for its readers."""
        stage = self[tensor]
        given = list(readers) if isinstance(readers, Sequence) else [readers]
        if not given:
            raise refuse(f"cache_read of {tensor.name} is for stages that read it: name one or more")
        axes = [IterVar(domain(extent), Var(f"ax{i}", extent.dtype)) for i, extent in enumerate(tensor.shape)]
        copied = tensor(*(axis.var for axis in axes))
        made = Stage(ComputeOp(f"{tensor.name}.{scope}", tuple(axes), (), (copied,)), copies=stage)
        made.copied_to = scope
        self.stages.insert(self.stages.index(stage) + 1, made)
        self.structure.append(("cache_read", tensor, made, scope, [self[r].op for r in given], axes))
        stage.history.append(("cache_read", scope))
        return _result(made, tensor)

    def cache_write(self, tensor: Tensor | Sequence[Tensor], scope: str) -> Tensor | list[Tensor]:
        """A stage that computes a tensor (or several), which is then copied; it has the computation's axes."""
        if not isinstance(tensor, Tensor):
            if len({t.op for t in tensor}) < len(tensor):
                raise refuse("cache_write of several results of one computation is not supported", "cache one of them")
            return [self._written(t, scope) for t in tensor]
        return self._written(tensor, scope)

    def _written(self, tensor: Tensor, scope: str) -> Tensor:
        stage = self[tensor]
        if not isinstance(stage.op, ComputeOp):
            raise refuse(f"{tensor.name} is not computed here")
        self._require_untouched(stage, "cache_write")
        spatial, reduced = (tuple(map(_again, axes)) for axes in (stage.op.axis, stage.op.reduce_axis))
        op = replace(stage.op, name=f"{tensor.name}.{scope}", axis=spatial, reduce_axis=reduced)
        made = Stage(op, copies=stage)
        made.copied_to = scope
        stage.leaf_iter_vars = list(stage.op.axis)
        stage.root_axes = list(stage.op.axis)
        self.stages.insert(self.stages.index(stage), made)
        self.structure.append(("cache_write", stage, made, scope, list(made.root_axes), list(stage.root_axes)))
        stage.history.append(("cache_write", scope))
        return _result(made, tensor)

    def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Tensor | tuple[Tensor, ...]:
        """A stage that reduces each iteration of `axis` by itself; the tensor's stage then reduces its results. Its
        tensor comes back, or a tuple of them if the reduction has several results."""
        stage = self[tensor]
        stage.place(axis)
        if axis.iter_type != "reduce" or not isinstance(stage.op, ComputeOp):
            raise refuse(f"{axis.var.name} is not reduced over")
        moved = any(step[0] == "transform_layout" for step in stage.history)
        touched = [a for step in stage.history for a in step if isinstance(a, IterVar) and a.iter_type != "reduce"]
        if moved or touched or stage.attached is not None:
            raise refuse(f"rfactor of {tensor.name} comes before its other axes are changed and it is placed")
        made = self._partial(stage, axis, factor_axis)
        remaining = _again(axis)
        before = list(stage.history)
        stage.op = replace(stage.op, reduce_axis=(remaining,))
        stage.leaf_iter_vars = [*stage.op.axis, remaining]
        stage.root_axes = list(stage.leaf_iter_vars)
        self.structure.append(("rfactor", stage, made, axis, before, factor_axis, list(stage.root_axes)))
        stage.history = [("rfactor", axis)]
        assert isinstance(made.op, ComputeOp)
        extents = tuple(a.extent for a in made.op.axis)
        partial = tuple(Tensor(extents, e.dtype, made.op, place) for place, e in enumerate(stage.op.body))
        return partial[0] if len(partial) == 1 else partial

    def create_group(
        self, outputs: Tensor | Sequence[Tensor], inputs: Tensor | Sequence[Tensor], include_inputs: bool = False
    ) -> Group:
        """The stages between tensors (one or several), to be placed together."""
        ends, starts = ([t] if isinstance(t, Tensor) else list(t) for t in (outputs, inputs))
        found = grouped(self.stages, ends, starts, include_inputs)
        for stage in found.stages:
            stage.group = found
        self.groups.append(found)
        return found

    @property
    def stage_map(self) -> dict[Operation, Stage]:
        """The stages by what they compute, and by what they computed at first."""
        return {op: stage for stage in self.stages for op in (stage.origin, stage.op)}

    def _partial(self, stage: Stage, axis: IterVar, factor_axis: int) -> Stage:
        """The stage of the partial results, before `stage`."""
        assert isinstance(stage.op, ComputeOp)
        renamed = [(leaf, _again(leaf)) for leaf in stage.leaf_iter_vars]
        kept = [new for old, new in renamed if old.iter_type != "reduce"]
        reduced = [new for old, new in renamed if old.iter_type == "reduce" and old is not axis]
        factored = next(_data_parallel(new) for old, new in renamed if old is axis)
        renamed = [(old, factored if old is axis else new) for old, new in renamed]
        place = factor_axis if factor_axis >= 0 else factor_axis + len(kept) + 1
        shown = (*kept[:place], factored, *kept[place:])
        made = Stage(ComputeOp(f"{stage.op.name}.rf", shown, tuple(reduced), stage.op.body), copies=stage)
        made.renamed = renamed
        made.leaf_iter_vars = [new for _, new in renamed]
        self.stages.insert(self.stages.index(stage), made)
        return made

    def _require_untouched(self, stage: Stage, what: str) -> None:
        if any(step[1] is stage for step in self.structure if step[0] == "cache_write"):
            raise refuse(f"{stage.op.name} has a copy by cache_write already")
        changed = [step[0] for step in stage.history if step[0] not in ("cache_write", "cache_read")]
        if changed:
            raise refuse(f"{what} of {stage.op.name} comes before its loops are changed ({', '.join(changed)})")

    def normalize(self) -> Schedule:
        """Returns the schedule unchanged: extents begin at 0 already."""
        return self


def create_schedule(ops: Tensor | Operation | Sequence[Tensor | Operation]) -> Schedule:
    """A schedule for the operations (or tensors) that a kernel is to compute."""
    given = list(ops) if isinstance(ops, Sequence) else [ops]
    outputs = [item.op if isinstance(item, Tensor) else item for item in given]
    if not outputs or not all(isinstance(item, Operation) for item in outputs):
        raise refuse(f"a schedule is made for operations or tensors, such as C.op, not for {ops!r}")
    return Schedule(outputs)


def thread_axis(
    dom: Range | PrimExpr | int | str | None = None, tag: str = "", name: str = "", span: Span | None = None
) -> IterVar:
    """A GPU thread's axis, so that scripts load; binding to it is refused."""
    tag, dom = (dom, None) if isinstance(dom, str) else (tag, dom)
    return IterVar(
        domain(dom) if isinstance(dom, int) else dom, name or tag or "thread", IterVar.ThreadIndex, tag, span
    )


def _operations(outputs: Sequence[Operation]) -> list[Operation]:
    """Everything the outputs are computed from, inputs first."""
    found: dict[int, Operation] = {}
    pending: list[tuple[Operation, bool]] = [(op, False) for op in reversed(outputs)]
    while pending:
        op, ready = pending.pop()
        if id(op) in found:
            continue
        if ready:
            found[id(op)] = op
            continue
        pending.append((op, True))
        pending += [(tensor.op, False) for tensor in _inputs(op) if id(tensor.op) not in found]
    return list(found.values())


def _inputs(op: Operation) -> list[Tensor]:
    match op:
        case ScanOp():
            return [*op.input_tensors, *op.update]
        case _:
            return list(op.input_tensors)


def _result(stage: Stage, like: Tensor) -> Tensor:
    return Tensor(like.shape, like.dtype, stage.op)


def _data_parallel(axis: IterVar) -> IterVar:
    """A reduced axis as a data-parallel one."""
    return IterVar(axis.dom, axis.var)


def _again(axis: IterVar) -> IterVar:
    return IterVar(axis.dom, Var(f"{axis.var.name}.c", axis.var.dtype), axis.iter_type)
