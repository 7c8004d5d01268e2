"""InlineScalarArguments: scalars that FuseOps made arguments move back into the groups if all calls pass the same
value.

    cls.fused_divide_add(x, R.const(8.0), R.const(0.1))           cls.fused_divide_add(x, R.const(0.1))
    cls.fused_divide_add(y, R.const(8.0), R.const(0.2))    ->     cls.fused_divide_add(y, R.const(0.2))
                                                                  # with R.divide(.., R.const(8.0)) inside

An inlined scalar becomes a literal of the kernel, which LLVM can optimise. Where calls differ (the scales of quantised
layers), one kernel that reads the scalar serves all of them: a kernel for each would cost compile time. Groups that
differ in more than `MOST_READ` scalars get separate kernels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import children, post_order, substitute
from baton._src.passes.relax.module_rewriter import ModuleRewriter
from baton._src.relax.nodes import Call, Constant, Function, VarBinding
from baton._src.relax.own_variables import copy_with_new_vars
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

MOST_READ = 16
"""Most scalars that a group reads as arguments: each is one more address to pass and to load."""

Scalar = tuple[str, bytes]
"""Dtype and contents of a constant."""


@dataclass(frozen=True)
class InlineScalarArguments(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        rewriter = _Inliner(module)
        if not rewriter.inlined:
            return module
        found = rewriter.rewritten(lambda _, f: not f.attrs.get("Primitive"))
        gone = rewriter.inlined.keys() - rewriter.made.values()
        return found.with_functions({v: f for v, f in found.functions.items() if v not in gone})


class _Inliner(ModuleRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.inlined: dict[GlobalVar, tuple[int, ...]] = {}
        """For each group that changes, the numbers of the arguments that move into it."""
        self.several: set[GlobalVar] = set()
        """The groups that get several versions, each with its own scalars."""
        self.made: dict[tuple[GlobalVar, tuple[Scalar, ...]], GlobalVar] = {}
        for var, calls in _calls_of_groups(module).items():
            scalars = [p for p in range(len(calls[0].args)) if all(_is_scalar(c.args[p]) for c in calls)]
            same = [p for p in scalars if len({_scalar(c.args[p]) for c in calls}) == 1]
            if len(scalars) - len(same) > MOST_READ:
                self.several.add(var)
            if chosen := scalars if var in self.several else same:
                self.inlined[var] = tuple(chosen)

    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        numbers = self.inlined.get(value.op) if isinstance(value, Call) and isinstance(value.op, GlobalVar) else None
        if numbers is None:
            return value
        constants = {number: value.args[number] for number in numbers}
        key = (value.op, tuple(_scalar(c) for c in constants.values()))
        if key not in self.made:
            self.made[key] = self._with_constants(value.op, constants)
        args = [a for number, a in enumerate(value.args) if number not in constants]
        return self.normalized(value.with_fields(op=self.made[key], args=tuple(args)))

    def _with_constants(self, var: GlobalVar, constants: Mapping[int, Constant]) -> GlobalVar:
        """The group with constants for these parameters; it keeps its name if there is only one version."""
        function = self.context.functions[var]
        assert isinstance(function, Function)
        params = [p for number, p in enumerate(function.params) if number not in constants]
        body = substitute(function.body, {function.params[number]: c for number, c in constants.items()})
        found = function.with_fields(params=tuple(params), body=body, struct_info_=None)
        if var in self.several:
            return self.add(self.unique_var(var.name_hint), copy_with_new_vars(found))
        return self.add(var, found)


def _calls_of_groups(module: IRModule) -> dict[GlobalVar, list[Call]]:
    """The calls of each private Primitive function that is only called, and by functions that are not Primitive."""
    functions = {v: f for v, f in module.functions.items() if isinstance(f, Function)}
    groups = {v for v, f in functions.items() if f.attrs.get("Primitive") and "global_symbol" not in f.attrs}
    calls: dict[GlobalVar, list[Call]] = {}
    fixed: set[Any] = set()
    for caller in functions.values():
        for node in post_order(caller):
            used: Any = children(node)
            if isinstance(node, Call) and node.op in groups and not caller.attrs.get("Primitive"):
                calls.setdefault(node.op, []).append(node)
                used = node.args
            fixed.update(u for u in used if isinstance(u, GlobalVar))
    return {var: found for var, found in calls.items() if var not in fixed}


def _is_scalar(arg: Any) -> bool:
    return isinstance(arg, Constant) and arg.data.ndim == 0


def _scalar(constant: Constant) -> Scalar:
    return str(constant.data.dtype), constant.data.data.tobytes()
