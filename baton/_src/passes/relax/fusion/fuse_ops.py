"""FuseOps: kernel calls of a dataflow block that run well together become one Primitive function.

    with R.dataflow():                                   with R.dataflow():
        lv = R.call_tir(cls.add, (x, y), ...)                gv = cls.fused_add_exp(x, y)
        gv = R.call_tir(cls.exp, (lv,), ...)       ->        R.output(gv)
        R.output(gv)                                     @R.function(private=True)
                                                         def fused_add_exp(x, y):  R.func_attr({"Primitive": 1}) ...

Groups come from `passes.shared.fusion_groups`; an edge is elementwise where a broadcasting operator reads an operand of
its result's shape. Equal functions are made once: constants become arguments; without `lift_scalars` scalars move into
the group, which makes better kernels. A shape variable that no tensor of the group shows is passed as a shape. Calls of
opaque kernels, and anything that is no call_tir, are left alone; what reads a tensor that is changed in place later
stays before the change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from baton._src.analysis.bindings import used_vars
from baton._src.analysis.exposure import overwritten_later
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import Fusion
from baton._src.ir.traverse import post_order, substitute
from baton._src.passes.relax.binding_rewriter import BindingRewriter, rewrite_functions
from baton._src.passes.relax.fusion.unshown_shape_vars import unshown_shape_vars
from baton._src.passes.shared.fusion_groups import FusionNode, fusion_groups
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.known_functions import KnownFunctions
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    Function,
    SeqExpr,
    ShapeExpr,
    Tuple,
    Var,
    VarBinding,
)
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import ShapeStructInfo, TensorStructInfo
from baton._src.support.spans import places_together
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

_LONGEST_NAME = 60


@dataclass(frozen=True)
class FuseOps(Pass):
    """See the module. `fuse_opt_level` 0 fuses nothing; -1 takes the PassContext's opt level. A group has at most
    `max_depth` operators, and at most as many as the setting `relax.FuseOps.max_depth` allows."""

    fuse_opt_level: int = -1
    max_depth: int | None = None
    lift_scalars: bool = True

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        level = ctx.opt_level if self.fuse_opt_level == -1 else self.fuse_opt_level
        if level < 1:
            return module
        allowed = ctx.setting("relax.FuseOps.max_depth")
        depth = allowed if self.max_depth is None else min(allowed, self.max_depth)
        rewriter = _Fuser(module, depth, self.lift_scalars)
        return rewrite_functions(module, rewriter.function, rewriter.builder, lambda _, f: not f.attrs.get("Primitive"))


class _Fuser(BindingRewriter):
    def __init__(self, module: IRModule, max_depth: int, lift_scalars: bool) -> None:
        super().__init__(module)
        self.builder = BlockBuilder(module)
        self.max_depth = max_depth
        self.lift_scalars = lift_scalars
        self.call_tir = special_op("call_tir")
        self.made = KnownFunctions()

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Any:
        if isinstance(block, DataflowBlock):
            fused = self._fuse(bindings)
            if fused is not bindings:
                return (DataflowBlock(fused, block.span),)
        return super().leave_block(block, bindings)

    def _fuse(self, bindings: list[Binding]) -> list[Binding]:
        """The bindings with groups replaced by calls; the same list if there is nothing to fuse."""
        groups = fusion_groups(self._nodes(bindings), self.max_depth)
        members: dict[int, list[Binding]] = {}
        for number, group in enumerate(groups):
            members.setdefault(group, []).append(bindings[number])
        if all(len(found) == 1 for found in members.values()):
            return bindings
        made: list[Binding] = []
        for number, binding in enumerate(bindings):
            found = members.get(number)
            if found is not None:
                made.append(binding if len(found) == 1 else self._call_of_group(found))
        return made

    def _nodes(self, bindings: list[Binding]) -> list[FusionNode]:
        """The data-flow graph of the block."""
        number_of = {b.var: number for number, b in enumerate(bindings)}
        nodes = [FusionNode(self._pattern(b), escapes=not isinstance(b.var, DataflowVar)) for b in bindings]
        for number, binding in enumerate(bindings):
            pattern = nodes[number].pattern
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
        kernel = self._kernel(binding)
        return Fusion.OPAQUE if kernel is None else Fusion(int(kernel.attrs.get("op_pattern", Fusion.OPAQUE)))

    def _kernel(self, binding: Binding) -> PrimFunc | None:
        """The PrimFunc that a binding calls, if it does nothing else and gives one tensor."""
        value = binding.value if isinstance(binding, VarBinding) else None
        if not isinstance(value, Call) or value.op is not self.call_tir or not isinstance(value.args[1], Tuple):
            return None
        function = self.builder.context.functions.get(value.args[0])
        single = isinstance(value.sinfo_args[0], TensorStructInfo)
        return function if isinstance(function, PrimFunc) and single else None

    def _call_of_group(self, group: list[Binding]) -> VarBinding:
        """The binding of the group's result to a call of its function."""
        result = group[-1].var
        outside = _inputs(group, self.lift_scalars)
        shape_vars = unshown_shape_vars(group, outside)
        arguments: list[Any] = [*outside, *((ShapeExpr(shape_vars),) if shape_vars else ())]
        var = self._named(_group_function(group, outside, shape_vars), _group_name(group))
        span = places_together(b.span for b in group)
        call: Any = self.normalized(Call(var, arguments, span=span))
        if call.struct_info_ is not result.struct_info_:
            call = call.with_fields(struct_info_=result.struct_info)
        return VarBinding(result, call, span)

    def _named(self, function: Function, name: str) -> GlobalVar:
        """The name of the group's function; equal groups have one."""
        return self.made.var_of(function, lambda: self._define(GlobalVar(self.builder.get_unique_name(name)), function))

    def _define(self, var: GlobalVar, function: Function) -> GlobalVar:
        self.builder.update_func(var, function)
        self.context.functions[var] = function
        return var


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


def _inputs(group: list[Binding], scalars: bool) -> list[Any]:
    """What the group reads from outside: variables and constants (scalars if asked for), in order of first use."""
    own = {b.var for b in group}
    leaves = [n for b in group for n in post_order(b) if isinstance(n, (Var, Constant)) and n not in own]
    return list(dict.fromkeys(n for n in leaves if scalars or isinstance(n, Var) or n.data.ndim > 0))


def _group_function(group: list[Binding], outside: list[Any], shape_vars: list[TirVar]) -> Function:
    """The group as a function of its inputs, in variables of its own."""
    names: dict[str, int] = {}
    params: list[Var] = [Var(_fresh(getattr(v, "name_hint", "w"), names), v.struct_info) for v in outside]
    renamed: dict[Any, Any] = dict(zip(outside, params))
    if shape_vars:
        params.append(Var(_fresh("s", names), ShapeStructInfo(shape_vars)))
    bindings: list[Binding] = []
    for binding in group:
        last = binding is group[-1]
        own = (Var if last else DataflowVar)(_fresh("gv" if last else "lv", names), binding.var.struct_info)
        value = substitute(binding.value, renamed, notes=False)
        bindings.append(VarBinding(own, value, binding.span))
        renamed[binding.var] = own
    result = bindings[-1].var
    body = SeqExpr([DataflowBlock(bindings)], result)
    body = body.with_fields(struct_info_=result.struct_info)
    function = Function(params, body, result.struct_info, True, {"Primitive": 1})
    symbols = {n for n in post_order(function, notes=True) if isinstance(n, TirVar)}
    fresh: Function = substitute(function, {v: v.copy() for v in symbols})
    return fresh


def _fresh(hint: str, names: dict[str, int]) -> str:
    count = names.get(hint, 0)
    names[hint] = count + 1
    return hint if count == 0 else f"{hint}_{count}"


def _group_name(group: list[Binding]) -> str:
    """`fused_conv2d_add_relu`, cut where it gets long."""
    kernels = [b.value.args[0].name_hint for b in group if isinstance(b, VarBinding) and isinstance(b.value, Call)]
    name = "_".join(["fused", *kernels])
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME].rstrip('_')}_{len(kernels)}"
