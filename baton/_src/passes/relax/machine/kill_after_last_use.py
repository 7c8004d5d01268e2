"""KillAfterLastUse: release tensors, storages and other objects after their last use.

    alloc = R.builtin.alloc_tensor(...)          alloc = R.builtin.alloc_tensor(...)
    _ = cls.k(x, alloc)                          _ = cls.k(x, alloc)
    gv = cls.f(alloc)                   ->       gv = cls.f(alloc)
    return gv                                    _ = R.memory.kill_tensor(alloc)
                                                 return gv

A kill ends a name, not its memory, which lives as long as any value shares it: copies (removed first by
canonicalisation), tuples and views need no special treatment. Not killed: parameters, results, unused values,
constants, functions, shapes and scalars, and what is killed already. Dataflow blocks are left alone. After one binding
tensors are killed first, then storages, then other objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.analysis.bindings import used_vars
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.bindings.canonicalize_bindings import CanonicalizeBindings
from baton._src.relax.info import UNIT_INFO
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    Function,
    SeqExpr,
    Var,
    VarBinding,
)
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import FuncStructInfo, PrimStructInfo, ShapeStructInfo, TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

_STORAGES = ("relax.memory.alloc_storage", "relax.vm.alloc_storage")
_KILLERS = ("memory.kill_tensor", "memory.kill_storage", "vm.kill_object")
"""The kill operators, in the order they are applied."""


@dataclass(frozen=True)
class KillAfterLastUse(FunctionPass):
    """See the module."""

    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Killer(module).function(CanonicalizeBindings().run_function(function, module, ctx))


class _Killer(BindingRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.plans: list[dict[Var, list[tuple[str, Var]]]] = []
        """For each sequence being visited: the variables to kill after each binding, and how."""

    def enter_sequence(self, seq: SeqExpr) -> None:
        bindings = [b for block in seq.blocks for b in block.bindings]
        killed = {a for b in bindings if _is_kill(b) for a in b.value.args}
        last = {v: b.var for b in bindings if not _is_kill(b) for v in used_vars(b)}
        last = {v: at for v, at in last.items() if at is not None}
        kept = killed.union(n for n in post_order(seq.body) if isinstance(n, Var))
        plan: dict[Var, list[tuple[str, Var]]] = {}
        for binding in bindings:
            killer = None if binding.var in kept or binding.var not in last else _killer(binding)
            if killer is not None:
                plan.setdefault(last[binding.var], []).append((killer, binding.var))
        for ended in plan.values():
            ended.sort(key=lambda kill: _KILLERS.index(kill[0]))
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
            made.extend(_kill(killer, var) for killer, var in plan.get(binding.var, ()))
        return super().leave_block(block, made)


def _is_kill(binding: Binding) -> bool:
    value = binding.value if isinstance(binding, VarBinding) else None
    return isinstance(value, Call) and value.op in [special_op(name) for name in _KILLERS]


def _killer(binding: Binding) -> str | None:
    """The operator that kills the variable of a binding."""
    value, info = getattr(binding, "value", None), binding.var.struct_info_
    if isinstance(value, Call) and getattr(value.op, "name", "") in _STORAGES:
        return "memory.kill_storage"
    if isinstance(value, Constant) or isinstance(info, (FuncStructInfo, ShapeStructInfo, PrimStructInfo)):
        return None
    return "memory.kill_tensor" if isinstance(info, TensorStructInfo) else "vm.kill_object"


def _kill(killer: str, var: Var) -> VarBinding:
    call: Any = Call(special_op(killer), [var])
    return VarBinding(Var("_", UNIT_INFO), call.with_fields(struct_info_=UNIT_INFO))
