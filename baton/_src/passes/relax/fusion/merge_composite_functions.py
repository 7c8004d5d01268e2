"""MergeCompositeFunctions: neighbouring composite functions of one external compiler become one function for it.

    lv = cls.fused_matmul(x, w)      # Composite "tensorrt.matmul"
    gv = cls.fused_relu(lv)          # Composite "tensorrt.relu"
    ->
    gv = cls.fused_matmul_relu_tensorrt(x, w)     # Codegen "tensorrt", with both functions and their calls inside

Calls of composite functions whose names agree up to the first dot are merged along uses in a dataflow block, with all
the groups they use at once, as long as no other binding depends on one and is needed by another; a value that others
use too is an output (the function then returns a tuple). Constants are passed to the function. Functions without
remaining calls are removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.analysis.bindings import used_vars
from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.module import IRModule
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.bindings.dataflow_blocks import ToNonDataflow
from baton._src.passes.relax.bindings.dead_code_elimination import remove_unreachable
from baton._src.passes.relax.fusion.fuse_ops_by_pattern import codegen_of
from baton._src.passes.relax.fusion.group_outliner import Group, GroupOutliner, group_name
from baton._src.relax.check.signatures import function_info
from baton._src.relax.known_functions import KnownFunctions
from baton._src.relax.nodes import Binding, Call, Constant, Function, Var, VarBinding
from baton._src.relax.own_variables import copy_with_new_vars
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class MergeCompositeFunctions(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        made = _Merger(module, ctx).rewritten(lambda _, f: not _is_external(f))
        return made if made is module else remove_unreachable(made, ("main",))


def _is_external(function: Function) -> bool:
    """Whether a function is for an external compiler already."""
    return bool(_codegen_of(function) or function.attrs.get("Codegen"))


def _codegen_of(function: Any) -> str | None:
    """The external compiler a composite function is for."""
    name = function.attrs.get("Composite") if isinstance(function, Function) else None
    return None if not name else codegen_of(str(name))


class _Merger(GroupOutliner):
    def __init__(self, module: IRModule, ctx: PassContext) -> None:
        super().__init__(module)
        self.ctx = ctx
        self.made = KnownFunctions()

    def lifts(self, constant: Constant) -> bool:
        return True

    def groups(self, bindings: list[Binding]) -> Sequence[Group]:
        found = _Regions()
        for binding in bindings:
            found.add(binding, self._codegen(binding))
        return [Group(members, {"Codegen": codegen}) for codegen, members in found.merged() if codegen is not None]

    def define(self, function: Function, group: Group) -> GlobalVar:
        """The function with the composite ones inside it; the compiler's name is appended to its own."""
        inlined = _Inliner(self.module).function(ToNonDataflow().run_function(function, self.module, self.ctx))

        def new() -> GlobalVar:
            name = self.builder.get_unique_name(group_name(group))
            var = self.unique_var(f"{name}_{group.attrs['Codegen']}")
            return self.add(var, inlined.with_fields(attrs={**inlined.attrs, "global_symbol": var.name_hint}))

        return self.made.var_of(function, new)

    def _codegen(self, binding: Binding) -> str | None:
        value = binding.value if isinstance(binding, VarBinding) else None
        callee = value.op if isinstance(value, Call) else None
        return _codegen_of(self.module.functions.get(callee)) if isinstance(callee, GlobalVar) else None


class _Regions:
    """Groups of bindings without circular dependences; a binding without a compiler is a group of its own."""

    def __init__(self) -> None:
        self._members: dict[int, tuple[str | None, list[Binding]]] = {}
        self._needs: dict[int, int] = {}
        """By group all those it is computed from, directly or not: the set bits (sets take seconds in long blocks)."""
        self._home: dict[Var, int] = {}

    def add(self, binding: Binding, codegen: str | None) -> None:
        """Merge a binding with the groups of its compiler that it uses, or start a group with it."""
        used = {self._home[v]: None for v in used_vars(binding) if v in self._home}
        behind = 0
        for group in used:
            behind |= self._needs[group]
        fitting = [g for g in used if codegen is not None and self._members[g][0] == codegen and not behind >> g & 1]
        own = fitting[0] if fitting else len(self._home)
        if not fitting:
            self._members[own], self._needs[own] = (codegen, []), 0
        self._members[own][1].append(binding)
        self._home[binding.var] = own
        for other in fitting[1:]:
            self._merge(other, own)
        for group in used:
            behind |= 1 << group
        for group in (own, *fitting):
            behind &= ~(1 << group)
        self._extend(own, behind)

    def _merge(self, group: int, into: int) -> None:
        members = self._members.pop(group)[1]
        self._members[into][1].extend(members)
        self._home.update((b.var, into) for b in members)
        gone = self._needs.pop(group)
        for other, needed in self._needs.items():
            if needed >> group & 1:
                self._needs[other] = needed & ~(1 << group) | 1 << into | self._needs[into]
        self._extend(into, gone)

    def _extend(self, group: int, needed: int) -> None:
        """Record that a group, and every group that depends on it, depends on more groups."""
        if not needed & ~self._needs[group]:
            return
        self._needs[group] |= needed
        if len(self._members[group][1]) > 1:  # nothing can need one that has just been made
            for other, known in self._needs.items():
                if known >> group & 1:
                    self._needs[other] |= needed

    def merged(self) -> list[tuple[str | None, list[Binding]]]:
        """The groups, the bindings of each in order."""
        place = {var: number for number, var in enumerate(self._home)}
        return [(codegen, sorted(m, key=lambda b: place[b.var])) for codegen, m in self._members.values()]


class _Inliner(BindingRewriter):
    """Calls of composite functions become calls of local ones, each of which stands before its first call."""

    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.local: dict[GlobalVar, Var] = {}

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        if not isinstance(value, Call) or not isinstance(value.op, GlobalVar):
            return value
        if value.op not in self.local:
            inner = copy_with_new_vars(self.context.functions[value.op])
            inner = inner.without_attr("Primitive").with_fields(struct_info_=function_info(inner))
            self.local[value.op] = self.emit(inner, "local_func")
        return value.with_fields(op=self.local[value.op])
