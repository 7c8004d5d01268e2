"""FuseOps: kernel calls of a dataflow block that are worth fusing become one Primitive function.

    with R.dataflow():                                   with R.dataflow():
        lv = R.call_tir(cls.add, (x, y), ...)                gv = cls.fused_add_exp(x, y)
        gv = R.call_tir(cls.exp, (lv,), ...)       ->        R.output(gv)
        R.output(gv)                                     @R.function(private=True)
                                                         def fused_add_exp(x, y):  R.func_attr({"Primitive": 1}) ...

Groups come from `passes.shared.fusion_groups`; an edge is elementwise where a broadcasting operator reads an operand of
its result's shape. Projections of a kernel's results join groups, too. Equal functions are shared, which is why
constants become arguments (`InlineScalarArguments` moves scalars back). A shape variable that no tensor of the group
determines is passed as a shape. Calls of opaque kernels, and everything but call_tir, are left alone; a reader of a
tensor that is later changed in place stays before the change.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from baton._src.analysis.bindings import used_vars
from baton._src.analysis.exposure import overwritten_later
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import Fusion
from baton._src.passes.relax.fusion.group_outliner import Group, GroupOutliner, group_name
from baton._src.passes.shared.fusion_groups import FusionNode, fusion_groups
from baton._src.passes.shared.interpolation import interpolates
from baton._src.relax.known_functions import KnownFunctions
from baton._src.relax.nodes import (
    Binding,
    Call,
    Constant,
    DataflowVar,
    Function,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class FuseOps(Pass):
    """See the module. `fuse_opt_level` 0 fuses nothing; -1 takes the PassContext's opt level. A group has at most
    `max_depth` operators, and at most as many as the setting `relax.FuseOps.max_depth` allows."""

    fuse_opt_level: int = -1
    max_depth: int | None = None

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        level = ctx.opt_level if self.fuse_opt_level == -1 else self.fuse_opt_level
        if level < 1:
            return module
        allowed = ctx.setting("relax.FuseOps.max_depth")
        depth = allowed if self.max_depth is None else min(allowed, self.max_depth)
        return _Fuser(module, depth).rewritten(lambda _, f: not f.attrs.get("Primitive"))


class _Fuser(GroupOutliner):
    def __init__(self, module: IRModule, max_depth: int) -> None:
        super().__init__(module)
        self.max_depth = max_depth
        self.call_tir = special_op("call_tir")
        self.made = KnownFunctions()
        self.interpolating = cache(interpolates)

    def groups(self, bindings: list[Binding]) -> Sequence[Group]:
        members: dict[int, list[Binding]] = {}
        for binding, group in zip(bindings, fusion_groups(self._nodes(bindings), self.max_depth)):
            members.setdefault(group, []).append(binding)
        several = (found for found in members.values() if len(found) > 1)
        return [Group(found, {"Primitive": 1}) for found in several if any(map(self._kernel, found))]

    def lifts(self, constant: Constant) -> bool:
        return True

    def define(self, function: Function, group: Group) -> GlobalVar:
        return self.made.var_of(function, lambda: self.add(self.unique_var(group_name(group)), function))

    def _nodes(self, bindings: list[Binding]) -> list[FusionNode]:
        """The data-flow graph of the block."""
        number_of = {b.var: number for number, b in enumerate(bindings)}
        patterns = [self._pattern(b) for b in bindings]
        nodes = [
            FusionNode(self._whole(b, pattern), escapes=not isinstance(b.var, DataflowVar))
            for b, pattern in zip(bindings, patterns)
        ]
        for number, (binding, pattern) in enumerate(zip(bindings, patterns)):
            for used in used_vars(binding):
                producer = number_of.get(used)
                if producer is None or producer == number:
                    continue
                edge = pattern
                if pattern is Fusion.BROADCAST and _same_shape(used, binding.var):
                    edge = Fusion.ELEMWISE
                nodes[producer].users.append((number, edge))
        for reader, writer in overwritten_later(bindings):
            nodes[reader].users.append((writer, Fusion.OPAQUE))  # it stays before the change of what it reads
        return nodes

    def _pattern(self, binding: Binding) -> Fusion:
        if isinstance(binding, VarBinding) and isinstance(binding.value, TupleGetItem):
            return Fusion.INJECTIVE
        kernel = self._kernel(binding)
        return Fusion.OPAQUE if kernel is None else Fusion(int(kernel.attrs.get("op_pattern", Fusion.OPAQUE)))

    def _whole(self, binding: Binding, pattern: Fusion) -> Fusion:
        """The class of a node: what interpolates joins what it reads as others of its class do, but is not inlined."""
        kernel = self._kernel(binding) if pattern is Fusion.INJECTIVE else None
        return Fusion.OUT_EWISE_FUSABLE if kernel is not None and self.interpolating(kernel) else pattern

    def _kernel(self, binding: Binding) -> PrimFunc | None:
        """The PrimFunc that a binding calls, if it does nothing else."""
        value = binding.value if isinstance(binding, VarBinding) else None
        if not isinstance(value, Call) or value.op is not self.call_tir or not isinstance(value.args[1], Tuple):
            return None
        function = self.context.functions.get(value.args[0])
        return function if isinstance(function, PrimFunc) else None


def _same_shape(a: Any, b: Any) -> bool:
    """Whether two variables are known to have the same dims, by identity of symbolic ones."""
    one, other = a.struct_info_, b.struct_info_
    if not isinstance(one, TensorStructInfo) or not isinstance(other, TensorStructInfo):
        return False
    if not isinstance(one.shape, ShapeExpr) or not isinstance(other.shape, ShapeExpr):
        return False
    dims, others = one.shape.values, other.shape.values
    return len(dims) == len(others) and all(_same_dim(d, o) for d, o in zip(dims, others))


def _same_dim(a: Any, b: Any) -> bool:
    return a is b or (hasattr(a, "value") and hasattr(b, "value") and a.value == b.value)
