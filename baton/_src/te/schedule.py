"""`te.create_schedule`: TVM's schedules of tensor expressions, as they are written down.

    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=64)
    s[C].parallel(outer)
    tvm.build(s, [A, B, C], "llvm")

A schedule never changes what is computed, only how. Here every primitive is checked against the axes of its stage and
kept in `Stage.history`; `tvm.lower` and `tvm.build` apply them (`apply_schedule`). A schedule that asks for nothing
leaves the kernel to the rules baton has for the target. What a CPU cannot do (binding to GPU threads) is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from baton._src.ir.expr import Range
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.support.spans import Span
from baton._src.te.tensor import ComputeOp, ExternOp, PlaceholderOp, ScanOp, Tensor
from baton._src.te.tensor_intrin import TensorIntrin
from baton._src.tir import operators
from baton._src.tir.expr import IterVar, Var

Operation = PlaceholderOp | ComputeOp | ExternOp | ScanOp


@dataclass
class Stage:
    """One computation: its axes as they stand (`leaf_iter_vars`) and what was asked for."""

    op: Operation
    leaf_iter_vars: list[IterVar] = field(default_factory=list)
    history: list[tuple[Any, ...]] = field(default_factory=list)
    """(primitive, arguments..., axes made) in order."""
    attached: tuple[Any, ...] | None = None
    """Where it is computed: None by itself, ("inline",), or ("at", stage, axis)."""
    copies: Stage | None = None
    """For a stage that `cache_read`, `cache_write` or `rfactor` made: the stage it was made of."""
    block_order: list[IterVar] = field(default_factory=list)
    """The axes in the order of the block's, where that is not `root_axes`."""
    renamed: list[tuple[IterVar, IterVar]] = field(default_factory=list)
    """Of partial results: (axis of the reduction they are of, axis here)."""

    def __post_init__(self) -> None:
        self.origin = self.op
        if isinstance(self.op, ComputeOp):
            self.leaf_iter_vars = [*self.op.axis, *self.op.reduce_axis]
        self.root_axes = list(self.leaf_iter_vars)

    def __repr__(self) -> str:
        return f"stage({self.origin.name}, {self.op})"

    def leave_out(self, step: IterVar) -> None:
        """The axis of a scan's steps: one loop around all that a step computes, which no stage has for itself."""
        self.leaf_iter_vars = [axis for axis in self.leaf_iter_vars if axis is not step]
        self.root_axes = list(self.leaf_iter_vars)

    def split(self, parent: IterVar, factor: Any = None, nparts: Any = None) -> tuple[IterVar, IterVar]:
        """An axis as two, the inner of extent `factor` or the outer of extent `nparts`."""
        if (factor is None) == (nparts is None):
            raise _refuse("split takes either factor or nparts")
        place = self._place(parent)
        given = factor if factor is not None else nparts
        rest = operators.ceildiv(parent.extent, given)
        extents = (rest, given) if factor is not None else (given, rest)
        names = (f"{parent.var.name}.outer", f"{parent.var.name}.inner")
        outer, inner = (_axis(n, e, parent) for n, e in zip(names, extents, strict=True))
        self.leaf_iter_vars[place : place + 1] = [outer, inner]
        self.history.append(("split", parent, factor, nparts, outer, inner))
        return outer, inner

    def fuse(self, *args: IterVar) -> IterVar:
        """Neighbouring axes as one."""
        places = [self._place(a) for a in args]
        if not args or places != list(range(places[0], places[0] + len(places))):
            raise _refuse("fuse takes neighbouring axes, outermost first")
        if len({a.iter_type for a in args}) > 1:
            raise _refuse("fuse takes axes of one kind: all reduced over, or none")
        extent: Any = 1
        for axis in args:
            extent = operators.multiply(axis.extent, extent)
        fused = _axis(".".join(a.var.name for a in args) + ".fused", extent, args[0])
        self.leaf_iter_vars[places[0] : places[-1] + 1] = [fused]
        self.history.append(("fuse", args, fused))
        return fused

    def reorder(self, *args: IterVar) -> None:
        """These axes in this order, in the places they have together."""
        places = sorted(self._place(a) for a in args)
        if len(set(places)) != len(args):
            raise _refuse("reorder names an axis twice")
        for place, axis in zip(places, args, strict=True):
            self.leaf_iter_vars[place] = axis
        self.history.append(("reorder", *args))

    def tile(self, x_parent: IterVar, y_parent: IterVar, x_factor: Any, y_factor: Any) -> tuple[IterVar, ...]:
        """Two axes split and reordered: (x outer, y outer, x inner, y inner)."""
        x_outer, x_inner = self.split(x_parent, x_factor)
        y_outer, y_inner = self.split(y_parent, y_factor)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    def vectorize(self, var: IterVar) -> None:
        """Compute the iterations of an axis in vector registers."""
        self._note("vectorize", var)

    def unroll(self, var: IterVar) -> None:
        """Write the iterations of an axis out."""
        self._note("unroll", var)

    def parallel(self, var: IterVar) -> None:
        """Share the iterations of a data-parallel axis between threads."""
        if var.iter_type == "reduce":
            raise _refuse(f"{var.var.name} is reduced over: its iterations cannot run side by side", "rfactor")
        self._note("parallel", var)

    def pragma(self, var: IterVar, pragma_type: str, pragma_value: Any = None) -> None:
        """A hint for an axis."""
        self._note("pragma", var, pragma_type, pragma_value)

    def prefetch(self, tensor: Tensor, var: IterVar, offset: Any) -> None:
        """Ask for a tensor's data ahead of an axis."""
        self._note("prefetch", var, tensor, offset)

    def storage_align(self, axis: IterVar, factor: int, offset: int) -> None:
        """How rows of the stage's result are aligned."""
        if not any(axis is own for own in self.root_axes):
            raise _refuse(f"{axis.var.name} is no axis of the result of {self.op.name}")
        self.history.append(("storage_align", axis, factor, offset))

    def set_scope(self, scope: str) -> None:
        """Where the stage's result is kept."""
        self.history.append(("set_scope", scope))

    def double_buffer(self) -> None:
        """Keep two copies of the buffer, so that one is filled while the other is read."""
        self.history.append(("double_buffer",))

    def compute_inline(self) -> None:
        """Compute the stage where it is read; not for reductions."""
        if isinstance(self.op, ComputeOp) and self.op.reduce_axis:
            raise _refuse(f"{self.op.name} is a reduction and cannot be computed inline")
        self.attached = ("inline",)
        self.history.append(("compute_inline",))

    def compute_root(self) -> None:
        """Compute the stage by itself, before its readers."""
        self.attached = None
        self.history.append(("compute_root",))

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute what an iteration of `scope` needs, inside it."""
        parent._place(scope)
        self.attached = ("at", parent, scope)
        self.history.append(("compute_at", parent, scope))

    def bind(self, ivar: IterVar, thread_ivar: Any) -> None:
        """GPU threads: CPUs have none."""
        raise _refuse(f"{ivar.var.name} cannot be bound to GPU threads: baton compiles for CPUs", "use parallel")

    def tensorize(self, var: IterVar, tensor_intrin: Any) -> None:
        """What is below an axis, this one included, computed by an intrinsic (`te.decl_tensor_intrin`)."""
        if not isinstance(tensor_intrin, TensorIntrin):
            raise _refuse(f"{tensor_intrin!r} is no intrinsic", "te.decl_tensor_intrin makes one")
        self._note("tensorize", var, tensor_intrin)

    def _note(self, what: str, axis: IterVar, *more: Any) -> None:
        self._place(axis)
        self.history.append((what, axis, *more))

    def _place(self, axis: Any) -> int:
        for place, leaf in enumerate(self.leaf_iter_vars):
            if leaf is axis:
                return place
        known = ", ".join(a.var.name for a in self.leaf_iter_vars) or "none"
        name = axis.var.name if isinstance(axis, IterVar) else repr(axis)
        raise _refuse(f"{name} is no axis of stage {self.op.name} (any more)", f"it has: {known}")


@dataclass
class Schedule:
    """The stages of a graph of tensors, inputs first. `s[tensor]` or `s[op]` is a stage."""

    outputs: list[Operation]
    stages: list[Stage] = field(default_factory=list)
    structure: list[tuple[Any, ...]] = field(default_factory=list)
    """Stages that were added, in order: (primitive, of which stage or tensor, the new stage, arguments...)."""
    answers: Mapping[str, int] | None = None
    """Answers to what the rule leaves open that schedules the tensors if nothing is said here; tuning gives them."""

    def __post_init__(self) -> None:
        self.stages = [Stage(op) for op in _operations(self.outputs)]
        for stage in list(self.stages):
            for op, place in stage.op.steps.items() if isinstance(stage.op, ScanOp) else ():
                self[op].leave_out(op.axis[place])

    def __repr__(self) -> str:
        return f"schedule({', '.join(map(str, self.stages))})"

    def __getitem__(self, key: Any) -> Stage:
        """The stage that computes an operation or a tensor. Error: it is none of this schedule."""
        op = key.op if isinstance(key, Tensor) else key
        for stage in self.stages:
            if op is stage.op or op is stage.origin:
                return stage
        raise _refuse(f"{getattr(op, 'name', op)!r} is no stage of this schedule")

    stage_of = __getitem__

    def __iter__(self) -> Iterator[Stage]:
        return iter(self.stages)

    def cache_read(self, tensor: Tensor, scope: str, readers: Any) -> Tensor:
        """A stage that copies a tensor for its readers."""
        stage = self[tensor]
        given = list(readers) if isinstance(readers, (list, tuple)) else [readers]
        axes = (IterVar(_range(extent), Var(f"ax{i}", extent.dtype)) for i, extent in enumerate(tensor.shape))
        made = Stage(ComputeOp(f"{tensor.name}.{scope}", tuple(axes), (), ()), copies=stage)
        self.stages.insert(self.stages.index(stage) + 1, made)
        self.structure.append(("cache_read", tensor, made, scope, [self[r].op for r in given]))
        stage.history.append(("cache_read", scope))
        return _result(made, tensor)

    def cache_write(self, tensor: Any, scope: str) -> Any:
        """A stage that computes a tensor (or several), which is then copied; it has the computation's axes."""
        if isinstance(tensor, (list, tuple)):
            if len({t.op for t in tensor}) < len(tensor):
                raise _refuse("results of one computation are not written through copies together", "copy one of them")
            return [self.cache_write(t, scope) for t in tensor]
        stage = self[tensor]
        if not isinstance(stage.op, ComputeOp):
            raise _refuse(f"{tensor.name} is not computed here")
        self._require_untouched(stage, "cache_write")
        spatial, reduced = (tuple(map(_again, axes)) for axes in (stage.op.axis, stage.op.reduce_axis))
        op = replace(stage.op, name=f"{tensor.name}.{scope}", axis=spatial, reduce_axis=reduced)
        made = Stage(op, copies=stage)
        stage.leaf_iter_vars = list(stage.op.axis)
        stage.root_axes = list(stage.op.axis)
        self.stages.insert(self.stages.index(stage), made)
        self.structure.append(("cache_write", stage, made, scope))
        stage.history.append(("cache_write", scope))
        return _result(made, tensor)

    def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Tensor:
        """A stage that reduces each iteration of `axis` by itself; the tensor's stage then reduces its results."""
        stage = self[tensor]
        stage._place(axis)
        if axis.iter_type != "reduce" or not isinstance(stage.op, ComputeOp):
            raise _refuse(f"{axis.var.name} is not reduced over")
        touched = [a for step in stage.history for a in step if isinstance(a, IterVar) and a.iter_type != "reduce"]
        if touched or stage.attached is not None:
            raise _refuse(f"rfactor of {tensor.name} comes before its other axes are changed and it is placed")
        made = self._partial(stage, axis, factor_axis)
        remaining = _again(axis)
        self.structure.append(("rfactor", stage, made, axis, list(stage.history), factor_axis))
        stage.op = replace(stage.op, reduce_axis=(remaining,))
        stage.leaf_iter_vars = [*stage.op.axis, remaining]
        stage.root_axes = list(stage.leaf_iter_vars)
        stage.history = [("rfactor", axis)]
        extents = [a.extent for a in made.op.axis] if isinstance(made.op, ComputeOp) else []
        return Tensor(tuple(extents), tensor.dtype, made.op)

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
        made = Stage(ComputeOp(f"{stage.op.name}.rf", shown, tuple(reduced), ()), copies=stage)
        made.renamed = renamed
        made.block_order = [new for _, new in renamed]
        made.leaf_iter_vars = list(made.block_order)
        self.stages.insert(self.stages.index(stage), made)
        return made

    def _require_untouched(self, stage: Stage, what: str) -> None:
        changed = [step[0] for step in stage.history if step[0] not in ("cache_write", "cache_read")]
        if changed or any(step[1] is stage for step in self.structure if step[0] == "cache_write"):
            raise _refuse(f"{what} of {stage.op.name} comes before its loops are changed ({', '.join(changed)})")

    def normalize(self) -> Schedule:
        """The schedule itself: its extents begin at 0 already."""
        return self


def create_schedule(ops: Any) -> Schedule:
    """A schedule for the operations (or tensors) that a kernel is to compute."""
    given = list(ops) if isinstance(ops, Sequence) else [ops]
    return Schedule([item.op if isinstance(item, Tensor) else item for item in given])


def thread_axis(dom: Any = None, tag: str = "", name: str = "", span: Span | None = None) -> IterVar:
    """A GPU thread's axis, so that scripts load; binding to it is refused."""
    tag, dom = (dom, None) if isinstance(dom, str) else (tag, dom)
    return IterVar(_range(dom) if isinstance(dom, int) else dom, name or tag or "thread", "opaque", tag, span)


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


def _range(extent: Any) -> Range:
    found = operators.const(extent, "int32") if isinstance(extent, int) else extent
    return Range(operators.const(0, found.dtype), found)


def _axis(name: str, extent: Any, parent: IterVar) -> IterVar:
    return IterVar(_range(extent), Var(name, parent.var.dtype), parent.iter_type)


def _result(stage: Stage, like: Tensor) -> Tensor:
    return Tensor(like.shape, like.dtype, stage.op)


def _data_parallel(axis: IterVar) -> IterVar:
    """A reduced axis as a data-parallel one."""
    return IterVar(axis.dom, axis.var)


def _again(axis: IterVar) -> IterVar:
    return IterVar(axis.dom, Var(f"{axis.var.name}.c", axis.var.dtype), axis.iter_type)


def _refuse(message: str, help: str | None = None) -> DiagnosticError:
    return fail("schedule", message, help=help)
