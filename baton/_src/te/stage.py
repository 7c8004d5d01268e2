"""`te.Stage`: one computation of a schedule, its axes, and the primitives that change them.

Every primitive is checked against the axes as they stand and kept in `Stage.history`; `apply_schedule` carries it out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Literal

from baton._src.ir.expr import PrimExpr, Range
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.te.stage_facts import AttachType, StageFacts, Step
from baton._src.te.tensor import ComputeOp, ExternOp, Operation, Tensor
from baton._src.te.tensor_intrin import TensorIntrin
from baton._src.tir import operators
from baton._src.tir.expr import IntImm, IterVar, Var
from baton._src.tir.index_map import IndexMap

AXIS_SEPARATOR = IndexMap.AXIS_SEPARATOR
"""Marks, in a map of `Stage.transform_layout`, a separation between groups of axes."""


@dataclass(eq=False)
class Stage(StageFacts):
    """One computation: its current axes (`leaf_iter_vars`) and the primitives applied to it."""

    op: Operation
    leaf_iter_vars: list[IterVar] = field(default_factory=list)
    history: list[Step] = field(default_factory=list)
    """(primitive, arguments..., axes made) in order."""
    attached: tuple[Literal["inline"]] | tuple[Literal["at"], Stage, IterVar] | None = None
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
        elif isinstance(self.op, ExternOp):
            self.leaf_iter_vars = list(self.op.own_loops)
        self.root_axes = list(self.leaf_iter_vars)

    def __repr__(self) -> str:
        return f"stage({self.origin.name}, {self.op})"

    @property
    def attach_type(self) -> AttachType:
        """How the stage is placed."""
        if self.attached is None:
            return AttachType.GROUP_ROOT
        return AttachType.SCOPE if self.attached[0] == "at" else AttachType.INLINE

    @property
    def attach_stage(self) -> Stage | None:
        """The stage in whose loops it is computed, or None."""
        return self.attached[1] if self.attached is not None and self.attached[0] == "at" else None

    @property
    def attach_ivar(self) -> IterVar | None:
        """The axis inside of whose iterations it is computed, or None."""
        return self.attached[2] if self.attached is not None and self.attached[0] == "at" else None

    def leave_out(self, step: IterVar) -> None:
        """The axis of a scan's steps: one loop around all that a step computes, which no stage has for itself."""
        self.leaf_iter_vars = [axis for axis in self.leaf_iter_vars if axis is not step]
        self.root_axes = list(self.leaf_iter_vars)

    def split(
        self,
        parent: IterVar,
        factor: PrimExpr | int | None = None,
        nparts: PrimExpr | int | None = None,
        disable_predication: bool = False,
    ) -> tuple[IterVar, IterVar]:
        """An axis as two, the inner of extent `factor` or the outer of extent `nparts`.

        Where they do not divide the extent the rest is guarded, also if `disable_predication` promises that they do.
        """
        del disable_predication
        if (factor is None) == (nparts is None):
            raise fail("schedule", "split takes either factor or nparts", kind=ValueError)
        place = self.place(parent)
        given = operators.convert(factor if factor is not None else nparts)
        if not given.dtype.is_int or (isinstance(given, IntImm) and given.value < 1):
            raise refuse(f"{parent.var.name} is split by an integer of 1 or more, not by {given}")
        rest = operators.ceildiv(parent.extent, given)
        extents = (rest, given) if factor is not None else (given, rest)
        names = (f"{parent.var.name}.outer", f"{parent.var.name}.inner")
        outer, inner = (_axis(n, e, parent) for n, e in zip(names, extents, strict=True))
        self.leaf_iter_vars[place : place + 1] = [outer, inner]
        self.history.append(("split", parent, factor, nparts, outer, inner))
        return outer, inner

    def fuse(self, *args: IterVar) -> IterVar:
        """Neighbouring axes as one."""
        places = [self.place(a) for a in args]
        if not args or places != list(range(places[0], places[0] + len(places))):
            raise refuse("fuse takes neighbouring axes, outermost first")
        if len({a.iter_type for a in args}) > 1:
            raise refuse("fuse takes axes of one kind: all reduced over, or none")
        extent: PrimExpr | int = 1
        for axis in args:
            extent = operators.multiply(axis.extent, extent)
        fused = _axis(".".join(a.var.name for a in args) + ".fused", extent, args[0])
        self.leaf_iter_vars[places[0] : places[-1] + 1] = [fused]
        self.history.append(("fuse", args, fused))
        return fused

    def reorder(self, *args: IterVar) -> None:
        """These axes in this order, in the places they have together."""
        places = sorted(self.place(a) for a in args)
        if len(set(places)) != len(args):
            raise refuse("reorder names an axis twice")
        for place, axis in zip(places, args, strict=True):
            self.leaf_iter_vars[place] = axis
        self.history.append(("reorder", *args))

    def tile(
        self, x_parent: IterVar, y_parent: IterVar, x_factor: PrimExpr | int, y_factor: PrimExpr | int
    ) -> tuple[IterVar, ...]:
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
            raise refuse(f"{var.var.name} is reduced over: its iterations cannot run side by side", "rfactor")
        self._note("parallel", var)

    def pragma(self, var: IterVar, pragma_type: str, pragma_value: object = None) -> None:
        """A hint for an axis."""
        self._note("pragma", var, pragma_type, pragma_value)

    def prefetch(self, tensor: Tensor, var: IterVar, offset: PrimExpr | int) -> None:
        """Prefetch a tensor's data ahead of an axis."""
        self._note("prefetch", var, tensor, offset)

    def storage_align(self, axis: IterVar, factor: int, offset: int) -> None:
        """How rows of the stage's result are aligned."""
        of_result = [own for own in self.root_axes if own.iter_type != "reduce"]
        if isinstance(self.op, ExternOp) or not any(axis is own for own in of_result):
            raise refuse(f"{axis.var.name} is not an axis of the result of {self.op.name}")
        self.history.append(("storage_align", axis, factor, offset))

    def transform_layout(self, mapping_function: Callable[..., object]) -> list[IterVar]:
        """Lay the result out by a map of its indices, and loop over the new ones, which are given.

        Tensors that a kernel is given change their shape. Separators between axes say nothing: memory of CPUs is flat.
        """
        if not isinstance(self.op, ComputeOp) or self.history or self.copies is not None:
            raise refuse(f"transform_layout of {self.op.name} comes before its other primitives, and takes no copies")
        old = self.op.axis
        dtype = str(old[0].var.dtype) if old else "int32"
        found, _ = IndexMap.from_func_with_separators(mapping_function, len(old), index_dtype=dtype)
        shape = found.map_shape([axis.extent for axis in old])
        axes = [IterVar(domain(extent), Var(f"axis{n}", extent.dtype)) for n, extent in enumerate(shape)]
        self.leaf_iter_vars = [*axes, *self.op.reduce_axis]
        self.root_axes = list(self.leaf_iter_vars)
        self.history.append(("transform_layout", found))
        return axes

    def set_scope(self, scope: str) -> None:
        """Where the stage's result is kept."""
        self.history.append(("set_scope", scope))

    def double_buffer(self) -> None:
        """Keep two copies of the buffer, so that one is filled while the other is read."""
        self.history.append(("double_buffer",))

    def rolling_buffer(self) -> None:
        """Keep what windows share between iterations; a hint, results are the same."""
        self.history.append(("rolling_buffer",))

    def compute_inline(self) -> None:
        """Compute the stage where it is read; not for reductions."""
        if isinstance(self.op, ComputeOp) and self.op.reduce_axis:
            raise refuse(f"{self.op.name} is a reduction and cannot be computed inline")
        self.attached = ("inline",)
        self.history.append(("compute_inline",))

    def compute_root(self) -> None:
        """Compute the stage by itself, before its readers."""
        self.attached = None
        self.history.append(("compute_root",))

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute what an iteration of `scope` needs, inside it."""
        parent.place(scope)
        self.attached = ("at", parent, scope)
        self.history.append(("compute_at", parent, scope))

    def bind(self, ivar: IterVar, thread_ivar: object) -> None:
        """GPU threads: CPUs have none."""
        raise refuse(f"{ivar.var.name} cannot be bound to GPU threads: baton compiles for CPUs", "use parallel")

    def env_threads(self, threads: object) -> None:
        """GPU threads: CPUs have none."""
        raise refuse(f"{self.op.name} cannot be launched over GPU threads: baton compiles for CPUs", "use parallel")

    def set_store_predicate(self, predicate: object) -> None:
        """Which GPU threads store: CPUs have none."""
        raise refuse(
            f"store predicates of {self.op.name} select GPU threads: baton compiles for CPUs",
            "leave it out: every element is stored",
        )

    def tensorize(self, var: IterVar, tensor_intrin: object) -> None:
        """What is below an axis, this one included, computed by an intrinsic (`te.decl_tensor_intrin`)."""
        if not isinstance(tensor_intrin, TensorIntrin):
            raise refuse(f"{tensor_intrin!r} is not an intrinsic", "te.decl_tensor_intrin makes one")
        self._note("tensorize", var, tensor_intrin)

    def _note(self, what: str, axis: IterVar, *more: object) -> None:
        self.place(axis)
        self.history.append((what, axis, *more))

    def place(self, axis: object) -> int:
        """The position of an axis among the leaves; an error if it is not one of them."""
        for place, leaf in enumerate(self.leaf_iter_vars):
            if leaf is axis:
                return place
        known = ", ".join(a.var.name for a in self.leaf_iter_vars) or "none"
        name = axis.var.name if isinstance(axis, IterVar) else repr(axis)
        raise refuse(f"{name} is not an axis of stage {self.op.name} (any more)", f"it has: {known}")


def domain(extent: PrimExpr | int) -> Range:
    """The range of this extent that begins at 0."""
    found = operators.const(extent, "int32") if isinstance(extent, int) else extent
    return Range(operators.const(0, found.dtype), found)


def _axis(name: str, extent: PrimExpr | int, parent: IterVar) -> IterVar:
    return IterVar(domain(extent), Var(name, parent.var.dtype), parent.iter_type)


def refuse(message: str, help: str | None = None) -> DiagnosticError:
    """The error of a primitive that cannot be applied."""
    return fail("schedule", message, help=help)
