"""KillAfterLastUse: allocated tensors, storages and other objects are released after their last use.

    alloc = R.builtin.alloc_tensor(...)          alloc = R.builtin.alloc_tensor(...)
    _ = cls.k(x, alloc)                          _ = cls.k(x, alloc)
    gv = cls.f(alloc)                   ->       gv = cls.f(alloc)
    return gv                                    _ = R.memory.kill_tensor(alloc)
                                                 return gv

A value that shares memory with a later one (a copy, a tuple, a view) lives as long as that one; what is returned, and
what came in as a parameter, is not killed. Dataflow blocks are left alone. Tensors of `memory.alloc_tensor` end before
their storage does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from baton._src.analysis.liveness import last_uses
from baton._src.ir.module import IRModule
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.info import UNIT_INFO
from baton._src.relax.nodes import Binding, BindingBlock, Call, DataflowBlock, Function, SeqExpr, Var, VarBinding
from baton._src.relax.special_ops import special_op
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

_KILLERS = {
    "relax.builtin.alloc_tensor": "memory.kill_tensor",
    "relax.memory.alloc_tensor": "memory.kill_tensor",
    "relax.memory.alloc_storage": "memory.kill_storage",
    "relax.vm.alloc_tensor": "vm.kill_object",
    "relax.vm.alloc_storage": "vm.kill_object",
}
"""By allocating operator the one that ends what it allocates."""


@dataclass(frozen=True)
class KillAfterLastUse(FunctionPass):
    """See the module."""

    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Killer(module).function(function)


class _Killer(BindingRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.plans: list[dict[Var, list[Var]]] = []

    def enter_sequence(self, seq: SeqExpr) -> None:
        """Plan which variables end after which binding's variable."""
        bindings = [b for block in seq.blocks for b in block.bindings]
        killers = {b.var: _killer(b) for b in bindings}
        plan: dict[Var, list[Var]] = {}
        for var, number in last_uses(seq).items():
            if killers.get(var) is not None and number < len(bindings):
                plan.setdefault(bindings[number].var, []).append(var)
        for ended in plan.values():
            ended.reverse()  # a tensor before the storage it lies in
        self.plans.append(plan)

    def leave_sequence(self, seq: SeqExpr) -> None:
        self.plans.pop()

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Sequence[BindingBlock]:
        if isinstance(block, DataflowBlock):
            return super().leave_block(block, bindings)
        plan = self.plans[-1]
        made: list[Binding] = []
        for binding in bindings:
            made.append(binding)
            for var in plan.get(binding.var, ()):
                made.append(self._kill(var))
        return super().leave_block(block, made)

    def _kill(self, var: Var) -> VarBinding:
        value = self.values[var]
        call: Any = Call(special_op(_KILLERS[value.op.name]), [var])
        return VarBinding(Var("_", UNIT_INFO), call.with_fields(struct_info_=UNIT_INFO))


def _killer(binding: Binding) -> str | None:
    value = binding.value if isinstance(binding, VarBinding) else None
    return _KILLERS.get(getattr(value.op, "name", "")) if isinstance(value, Call) else None
