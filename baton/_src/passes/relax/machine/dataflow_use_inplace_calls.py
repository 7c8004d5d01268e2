"""DataflowUseInplaceCalls: kernels write their result over an operand that nobody needs any more.

    lv1 = R.call_tir(cls.add, (lv, lv), out_sinfo=R.Tensor((n,), "float32"))
    ->
    lv1 = R.call_tir_inplace(cls.add_inplace, (lv, lv), inplace_indices=[0], out_sinfo=R.Tensor((n,), "float32"))

In dataflow blocks, for kernels that handle one element after the other (their stages are elementwise: each element of
the result is read from the same place of the operand). The operand has the shape and dtype of the result, was made in
this block by a kernel, is used here for the last time, and shares its memory with nothing that lives on. Parameters,
constants and outputs of the block are never written over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from baton._src.analysis.bindings import used_vars
from baton._src.analysis.liveness import alias_sets
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order, substitute
from baton._src.passes.relax.binding_rewriter import BindingRewriter, rewrite_functions
from baton._src.passes.relax.same_info import same_info
from baton._src.passes.shared.kernel_stages import kernel_stages
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Tuple,
    Var,
    VarBinding,
)
from baton._src.relax.special.calls import CallTIRInplaceAttrs
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import BufferLoad
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class DataflowUseInplaceCalls(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        rewriter = _Rewriter(module)
        return rewrite_functions(module, rewriter.function, rewriter.builder)


class _Rewriter(BindingRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.builder = BlockBuilder(module)
        self.call_tir = special_op("call_tir")
        self.made: dict[tuple[GlobalVar, int], GlobalVar | None] = {}

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Any:
        if not isinstance(block, DataflowBlock):
            return super().leave_block(block, bindings)
        chosen = self._chosen(bindings)
        made = [self._inplace(b, chosen[b.var]) if b.var in chosen else b for b in bindings]
        return super().leave_block(block, made)

    def _chosen(self, bindings: Sequence[Binding]) -> dict[Var, int]:
        """By variable of a call, the argument it is to be written over."""
        owners = alias_sets(list(bindings))
        last: dict[Any, int] = {}
        outputs: set[Any] = set()
        for number, binding in enumerate(bindings):
            for used in used_vars(binding):
                for owner in owners.get(used, {used}):
                    last[owner] = number
            if not isinstance(binding.var, DataflowVar):
                outputs |= owners[binding.var]
        fresh = {b.var for b in bindings if isinstance(b, VarBinding) and self._kernel_call(b.value) is not None}
        found: dict[Var, int] = {}
        for number, binding in enumerate(bindings):
            call = self._kernel_call(binding.value) if isinstance(binding, VarBinding) else None
            if call is None:
                continue
            for place, arg in enumerate(call.args[1].fields):
                mine = arg in fresh and arg not in outputs and last.get(arg) == number
                if (
                    mine
                    and same_info(arg.struct_info_, call.sinfo_args[0])
                    and self._kernel(call.args[0], place) is not None
                ):
                    found[binding.var] = place
                    break
        return found

    def _kernel_call(self, value: Any) -> Call | None:
        """A call of a kernel with one result."""
        plain = isinstance(value, Call) and value.op is self.call_tir and isinstance(value.args[1], Tuple)
        return value if plain and isinstance(value.sinfo_args[0], TensorStructInfo) and len(value.args) == 2 else None

    def _inplace(self, binding: Any, place: int) -> VarBinding:
        call = binding.value
        kernel = self._kernel(call.args[0], place)
        attrs = CallTIRInplaceAttrs((place,))
        op = special_op("call_tir_inplace")
        args = (kernel, call.args[1])
        return VarBinding(binding.var, call.with_fields(op=op, args=args, attrs=attrs), binding.span)

    def _kernel(self, var: GlobalVar, place: int) -> GlobalVar | None:
        """The kernel that writes over its argument `place`, made when first asked for; None where that is not safe."""
        if (var, place) not in self.made:
            function = self.context.functions.get(var)
            made = inplace_kernel(function, place) if isinstance(function, PrimFunc) else None
            name = None
            if made is not None:
                name = GlobalVar(self.builder.get_unique_name(f"{var.name_hint}_inplace"))
                self.builder.update_func(name, made)
                self.context.functions[name] = made
            self.made[var, place] = name
        return self.made[var, place]


def inplace_kernel(function: PrimFunc, place: int) -> PrimFunc | None:
    """`function` without its result buffer, writing into that of parameter `place`; None if elements would be lost."""
    buffers = [function.buffer_map.get(p) for p in function.params]
    if len(function.params) < 2 or any(b is None for b in buffers):
        return None
    operand, result = buffers[place], buffers[-1]
    assert isinstance(operand, Buffer)
    assert isinstance(result, Buffer)
    stages = kernel_stages(function)
    if not stages or len(stages) != 1 or stages[0].reduces or stages[0].buffer is not result:
        return None
    stage = stages[0]
    for load in (n for n in post_order(stage.value) if isinstance(n, BufferLoad)):
        if load.buffer is result:
            return None
        same_place = len(load.indices) == len(stage.indices) and all(
            a is b for a, b in zip(load.indices, stage.indices)
        )
        if load.buffer is operand and not same_place:
            return None
    body = substitute(function.body, {result: operand, result.data: operand.data})
    mapping = {p: b for p, b in function.buffer_map.items() if p is not function.params[-1]}
    attrs = {k: v for k, v in function.attrs.items() if k not in ("tir.noalias", "global_symbol")}
    return PrimFunc(function.params[:-1], body, function.ret_type, mapping, attrs)
