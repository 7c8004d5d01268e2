"""DataflowUseInplaceCalls: kernels write their result over an operand that is no longer needed.

    lv1 = R.add(lv, y)                        # or R.call_tir(cls.add, (lv, y), out_sinfo=R.Tensor((n,), "float32"))
    ->
    lv1 = R.call_tir_inplace(cls.add_inplace, (lv, y), inplace_indices=[0], out_sinfo=R.Tensor((n,), "float32"))

Works in dataflow blocks, for the operators listed below and for kernels with elementwise stages (each element of the
result depends on the same place of the operand). The operand has the shape and dtype of the result, was computed in
this block by an operator or a kernel, is used here for the last time, and shares its memory with no value that is still
live and with no other operand. Parameters, constants and outputs of the block are never overwritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from baton._src.analysis.liveness import last_uses_among, may_alias, shared_memory, shared_operands
from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import Fusion, OpDef
from baton._src.ir.traverse import post_order, substitute
from baton._src.passes.relax.module_rewriter import ModuleRewriter
from baton._src.passes.relax.operators.kernel_of_call import make_kernel
from baton._src.passes.shared.kernel_stages import kernel_stages
from baton._src.relax.check.assumed_sizes import is_known
from baton._src.relax.check.same_info import same_info
from baton._src.relax.info import to_info
from baton._src.relax.known_functions import KnownFunctions
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Tuple,
    VarBinding,
    definition_of,
)
from baton._src.relax.special.calls import CallTIRInplaceAttrs
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import BufferLoad
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class DataflowUseInplaceCalls(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return _Rewriter(module).rewritten()


_OPERATORS = frozenset(f"relax.{name}" for name in ("add", "subtract", "multiply", "divide", "nn.relu", "nn.silu"))
"""Operators that become kernels here; others must have been legalised before."""


@dataclass(frozen=True)
class _Work:
    """The computation of a binding: a kernel of these operands."""

    name: str
    function: PrimFunc
    operands: Sequence[Any]
    info: TensorStructInfo


class _Rewriter(ModuleRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.call_tir = special_op("call_tir")
        self.made = KnownFunctions()

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Any:
        if not isinstance(block, DataflowBlock):
            return super().leave_block(block, bindings)
        return super().leave_block(block, self._overwriting(bindings))

    def _overwriting(self, bindings: Sequence[Binding]) -> list[Binding]:
        """The bindings with calls in place where that may be done."""
        operands = shared_operands(bindings)
        last = last_uses_among(bindings)
        outputs = shared_memory((b.var for b in bindings if not isinstance(b.var, DataflowVar)), operands)
        fresh = {b.var for b in bindings if isinstance(b, VarBinding) and self._gives_memory(b.value)} - outputs
        made: list[Binding] = []
        for number, binding in enumerate(bindings):
            call: Any = binding.value if isinstance(binding, VarBinding) else None
            arguments = self._arguments(call)
            dead = [
                n
                for n, arg in enumerate(arguments)
                if arg in fresh and last.get(arg) == number and same_info(arg.struct_info_, call.struct_info_)
                if arg not in shared_memory((other for other in arguments if other is not arg), operands)
            ]
            new = self._in_place(call, dead) if dead else None
            made.append(binding if new is None else VarBinding(binding.var, new, binding.span))
        return made

    def _gives_memory(self, value: GraphExpr) -> bool:
        """Whether the result of a call has its own memory; a reshaped tensor may become a view."""
        definition = definition_of(value)
        if isinstance(definition, OpDef):
            return definition.fusion is not Fusion.INJECTIVE and not may_alias(value)
        return bool(self._arguments(value))

    def _arguments(self, value: GraphExpr) -> Sequence[Any]:
        """The tensors that a call reads, if it may be done in place."""
        if not isinstance(value, Call) or not isinstance(value.op, Op):
            return ()
        if value.op.name in _OPERATORS:
            return value.args
        kernel = value.op is self.call_tir and len(value.args) == 2 and isinstance(value.args[1], Tuple)
        return value.args[1].fields if kernel and isinstance(value.sinfo_args[0], TensorStructInfo) else ()

    def _in_place(self, call: Call, places: Sequence[int]) -> Call | None:
        """The call with its result written to the first of these operands that its kernel can overwrite."""
        work = self._work(call)
        if work is None:
            return None
        for place in places:
            operand = work.operands[place]
            shared = sum(other is operand for other in work.operands) > 1
            function = inplace_kernel(work.function, place, shared=shared)
            if function is not None:
                args = (self._named(f"{work.name}_inplace", function), Tuple(work.operands))
                attrs = CallTIRInplaceAttrs((place,))
                made = Call(special_op("call_tir_inplace"), args, attrs, (work.info,), call.span)
                return cast(Call, self.normalized(made))
        return None

    def _work(self, call: Call) -> _Work | None:
        if call.op is self.call_tir:
            function = self.context.functions.get(call.args[0])
            if not isinstance(function, PrimFunc):
                return None
            return _Work(call.args[0].name_hint, function, call.args[1].fields, call.sinfo_args[0])
        infos, out = [to_info(a.struct_info) for a in call.args], to_info(call.struct_info)
        if not (is_known(out) and all(map(is_known, infos))):
            return None
        kernel = make_kernel(call.op.definition, infos, call.attrs, out)
        name = call.op.definition.name.rsplit(".", 1)[-1]
        return None if kernel.tir_vars else _Work(name, kernel.function, call.args, call.struct_info)

    def _named(self, name: str, function: PrimFunc) -> GlobalVar:
        """The variable of a kernel in the module; equal ones are made once."""
        return self.made.var_of(function, lambda: self.add(self.unique_var(name), function))


def inplace_kernel(function: PrimFunc, place: int, shared: bool = False) -> PrimFunc | None:
    """`function` without its result buffer, writing into that of parameter `place`; None if elements would be
    overwritten before they are read. `shared`: the overwritten tensor is passed for another parameter, too.
    """
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
    gone = ("tir.noalias", "global_symbol") if shared else ("global_symbol",)
    attrs = {k: v for k, v in function.attrs.items() if k not in gone}
    return PrimFunc(function.params[:-1], body, function.ret_type, mapping, attrs)
