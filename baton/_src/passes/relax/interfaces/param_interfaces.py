"""BundleModelParams and UpdateParamStructInfo: how weights come into a function.

BundleModelParams()            main(x, w0, w1)  num_input=1      ->   main(x, model_params: (w0, w1))
UpdateParamStructInfo(f)       every parameter gets the StructInfo f(parameter) says, None keeps it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from baton._src.analysis.call_graph import call_graph
from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order, rewrite
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.leaves_of_values import with_leaves
from baton._src.passes.relax.module_rewriter import ModuleRewriter
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.same_info import same_info
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.own_variables import copy_with_new_vars
from baton._src.relax.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass


@dataclass(frozen=True)
class BundleModelParams(FunctionPass):
    """The parameters from `num_input` on become one tuple named `param_tuple_name` (default `model_params`).

    Each use projects its parameter out of the tuple right before it; calls of the function within the module make one.
    Where the function is a value (passed on, stored), a private one that takes parameters one by one stands for it.
    """

    opt_level = 1
    function_class = Function
    param_tuple_name: str | None = None

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        made = super().run(module, ctx)
        before = {v: f for v, f in module.functions.items() if made.functions[v] is not f}
        return _Mentions(made, before).rewritten() if before else module

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        count = function.attrs.get("num_input")
        if count is None:
            return function
        inputs, weights = function.params[: int(count)], function.params[int(count) :]
        bundle = Var(self.param_tuple_name or "model_params", TupleStructInfo([w.struct_info for w in weights]))
        bundler = _Bundler(module, bundle, weights)
        unbound = _used_by_no_binding(function)
        first = [w for w in weights if w in unbound]
        made = [VarBinding(Var(w.name_hint, w.struct_info, w.span), bundler.item(w)) for w in first]
        for weight, binding in zip(first, made):
            bundler.replace(weight, binding.var)
        found = bundler.function(function)
        return _normal(module, found.with_fields(params=(*inputs, bundle), body=_after(made, found.body)))


def _used_by_no_binding(function: Function) -> set[Any]:
    """The variables in results of sequences, and those that hold the shapes of others."""
    nodes = post_order(function.body, notes=True)
    results = {leaf for n in nodes if isinstance(n, SeqExpr) for leaf in post_order(n.body)}
    return results | {n.shape for n in nodes if isinstance(n, TensorStructInfo)}


class _Bundler(BindingRewriter):
    """Takes weights out of their tuple where they are used."""

    def __init__(self, module: IRModule, bundle: Var, weights: Sequence[Var]) -> None:
        super().__init__(module)
        self.bundle = bundle
        self.number = {weight: number for number, weight in enumerate(weights)}

    def item(self, weight: Var) -> Any:
        return TupleGetItem(self.bundle, self.number[weight]).with_fields(struct_info_=weight.struct_info)

    def visit_binding(self, binding: Binding) -> None:
        assert isinstance(binding, (VarBinding, MatchCast))
        value = with_leaves(binding.value, self._leaf)
        super().visit_binding(binding if value is binding.value else binding.with_fields(value=value))

    def _leaf(self, var: Var) -> Any:
        return self.emit(self.item(var), var.name_hint) if var in self.number else var


class _Mentions(ModuleRewriter):
    """Calls of bundled functions hand weights on as a tuple; other mentions are of functions with the old signature."""

    def __init__(self, module: IRModule, before: dict[GlobalVar, Any]) -> None:
        super().__init__(module)
        self.bundled = {self.unique_var(f"{var.name_hint}_unbundled"): var for var in before}
        for unbundled, var in self.bundled.items():
            self.replace(var, self.add(unbundled, self._unbundled(var, before[var])))

    def _unbundled(self, var: GlobalVar, before: Function) -> Function:
        own = copy_with_new_vars(before)
        body = self._call(Call(var, own.params))
        return _normal(self.module, Function(own.params, body, own.ret_struct_info, own.is_pure))

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        if isinstance(value, Call) and value.op in self.bundled:
            return self.normalized(self._call(value.with_fields(op=self.bundled[value.op], struct_info_=None)))
        return value

    def _call(self, call: Call) -> Call:
        """The call of a bundled function, given its parameters one by one."""
        count = len(self.context.functions[call.op].params) - 1
        return call.with_fields(args=(*call.args[:count], Tuple(call.args[count:])))

    def rewritten(self, *args: Any) -> IRModule:
        found = super().rewritten(*args)
        mentioned = {callee for callees in call_graph(found).values() for callee in callees}
        unused = self.bundled.keys() - mentioned
        return found.with_functions({v: f for v, f in found.functions.items() if v not in unused})


@dataclass(frozen=True)
class UpdateParamStructInfo(FunctionPass):
    """Parameters get the StructInfo that `sinfo_func(param)` says; the function is checked again."""

    opt_level = 1
    function_class = Function
    sinfo_func: Callable[[Var], StructInfo | None]

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        said = {p: self.sinfo_func(p) for p in function.params}
        for param, info in said.items():
            if info is not None and not isinstance(info, StructInfo):
                raise fail("api", f"the StructInfo of {param.name_hint} cannot be {info!r}")
        changed = {p: Var(p.name_hint, i, p.span) for p, i in said.items() if i is not None and i is not p.struct_info_}
        if not changed:
            return function
        found = _Deduction(module, changed).function(rewrite(function, _undeduced))
        params = tuple(changed.get(p, p) for p in function.params)
        return _normal(module, found.with_fields(params=params, ret_struct_info=None))


def _undeduced(node: Any) -> Any:
    """A tuple without StructInfo: those within other expressions say what their fields were, too."""
    return node.with_fields(struct_info_=None) if isinstance(node, Tuple) else None


class _Deduction(BindingRewriter):
    """Deduces every value again; variables without a match_cast take the deduced StructInfo."""

    def __init__(self, module: IRModule, params: dict[Var, Var]) -> None:
        super().__init__(module)
        for old, new in params.items():
            self.replace(old, new)

    def visit_binding(self, binding: Binding) -> None:
        if not isinstance(binding, VarBinding):
            self.keep(binding)
            return
        made = binding.value
        if isinstance(made, (Call, Function, If, Tuple, TupleGetItem)):
            made = self.normalized(made.with_fields(struct_info_=None))
        same = same_info(made.struct_info_, binding.var.struct_info_)
        var = binding.var if same else self.with_info(binding.var, made.struct_info)
        self.keep(VarBinding(var, made, binding.span))


def _after(made: list[VarBinding], body: Any) -> SeqExpr:
    blocks, result = (body.blocks, body.body) if isinstance(body, SeqExpr) else ((), body)
    return SeqExpr([BindingBlock(made), *blocks], result).with_fields(struct_info_=body.struct_info_)


def _normal(module: IRModule, function: Function) -> Function:
    found: Function = BlockBuilder(module).normalize(function.with_fields(struct_info_=None))
    return found
