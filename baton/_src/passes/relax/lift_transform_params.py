"""LiftTransformParams: what only depends on weights moves into a function of its own, to be run once.

    main(x, w)  num_input=1                            main_transform_params(params: (w,)) -> (lv,)
        lv = R.permute_dims(w)            ->               lv = R.permute_dims(w)
        gv = R.matmul(x, lv)                           main(x, lv)
                                                           gv = R.matmul(x, lv)

The parameters from `num_input` on are weights. `<name>_transform_params` takes them as a tuple and gives a tuple of
what the function needs instead: weights it still uses, and values computed from weights (`analysis.compile_time`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from baton._src.analysis.bindings import body_bindings, used_vars
from baton._src.analysis.compile_time import computable_at_compile_time
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order, substitute
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import (
    Binding,
    DataflowBlock,
    DataflowVar,
    Function,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import TupleStructInfo
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class LiftTransformParams(Pass):
    """See the module. Public functions with the attribute `num_input` are treated."""

    opt_level = 1

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        builder = BlockBuilder(module)
        changed: dict[GlobalVar, Any] = {}
        for var, function in module.functions.items():
            if not isinstance(function, Function) or "num_input" not in function.attrs:
                continue
            lifted = computable_at_compile_time(function)
            if not lifted:
                continue
            transform, rest = _split(builder, function, lifted)
            name = f"{var.name_hint}_transform_params"
            changed[GlobalVar(builder.get_unique_name(name))] = transform.with_attr("global_symbol", name)
            changed[var] = rest
        return module.with_functions({**module.functions, **changed}) if changed else module


def _split(builder: BlockBuilder, function: Function, lifted: list[Var]) -> tuple[Function, Function]:
    """The function of the weights, and the function of inputs and prepared weights."""
    count = int(function.attrs["num_input"])
    moved = set(lifted)
    weights = function.params[count:]
    needed = _needed_outside(function, moved)
    kept_weights = [w for w in weights if w in needed]
    values = [v for v in lifted if v in needed]
    transform = _transform_function(builder, function, list(weights), moved, [*kept_weights, *values])
    renamed = {v: Var(v.name_hint, v.struct_info) for v in values}
    dropped = _Dropper(moved, renamed).function(function)
    params = (*function.params[:count], *kept_weights, *(renamed[v] for v in values))
    rest: Function = builder.normalize(dropped.with_fields(params=params, struct_info_=None))
    return transform, rest


def _needed_outside(function: Function, moved: set[Var]) -> set[Any]:
    """The variables that what stays behind mentions."""
    found: set[Any] = set()
    for binding in body_bindings(function):
        if binding.var not in moved:
            found.update(used_vars(binding))
    found.update(n for n in post_order(function.body.body) if isinstance(n, Var))
    return found


def _transform_function(
    builder: BlockBuilder, function: Function, weights: list[Var], moved: set[Var], results: list[Var]
) -> Function:
    packed = Var("params", TupleStructInfo([w.struct_info for w in weights]))
    made: list[Binding] = []
    replaced: dict[Any, Any] = {}
    for number, weight in enumerate(weights):
        replaced[weight] = own = DataflowVar(weight.name_hint, weight.struct_info)
        made.append(VarBinding(own, TupleGetItem(packed, number)))
    for binding in body_bindings(function):
        if isinstance(binding, VarBinding) and binding.var in moved:
            replaced[binding.var] = own = DataflowVar(binding.var.name_hint, binding.var.struct_info)
            made.append(VarBinding(own, substitute(binding.value, replaced, notes=False), binding.span))
    output = Var("gv", TupleStructInfo([r.struct_info for r in results]))
    made.append(VarBinding(output, Tuple([replaced[r] for r in results])))
    body = SeqExpr([DataflowBlock(made)], output)
    found = Function([packed], body)
    symbols = {n for n in post_order(found, notes=True) if isinstance(n, TirVar)}
    normal: Function = builder.normalize(substitute(found, {v: v.copy() for v in symbols}))
    return normal


class _Dropper(BindingRewriter):
    """Removes the bindings that moved; their values come in as parameters."""

    def __init__(self, moved: set[Var], renamed: dict[Var, Var]) -> None:
        super().__init__()
        self.moved = moved
        for old, new in renamed.items():
            self.replace(old, new)

    def visit_binding(self, binding: Binding) -> None:
        if binding.var not in self.moved:
            self.keep(binding)
