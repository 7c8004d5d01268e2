"""LiftTransformParams: computations that depend on weights alone move into a function of their own, to be run once.

    main(x, w)  num_input=1                            main_transform_params(params: (w,)) -> (lv,)
        lv = R.permute_dims(w)            ->               lv = R.permute_dims(w)
        gv = R.matmul(x, lv)                           main(x, lv)
                                                           gv = R.matmul(x, lv)

The parameters from `num_input` on are weights. `<name>_transform_params` takes them as a tuple and gives a tuple of
what the function needs instead: weights it still uses, and values computed from weights (`analysis.compile_time`).

With `shared_transform` the functions (all, or those named) share one `transform_params`, whose results each of them
takes; they must take the same weights. What several of them compute is computed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton._src.analysis.bindings import body_bindings, used_vars
from baton._src.analysis.compile_time import liftable_variables
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.structural import structural_equal
from baton._src.ir.structural_hash import structural_hash
from baton._src.ir.traverse import post_order, substitute
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.leaves_of_values import with_leaves
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.variables import tir_vars_in_struct_info
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
from baton._src.relax.struct_info import StructInfo, TupleStructInfo
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class LiftTransformParams(Pass):
    """See the module. Public functions with the attribute `num_input` are treated."""

    opt_level = 1
    shared_transform: bool | Sequence[str] = False

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        builder = BlockBuilder(module)
        changed: dict[GlobalVar, Any] = {}
        targets = {v: f for v, f in module.functions.items() if isinstance(f, Function) and "num_input" in f.attrs}
        if self.shared_transform:
            names = None if self.shared_transform is True else set(self.shared_transform)
            shared = {v: f for v, f in targets.items() if names is None or v.name_hint in names}
            targets = {v: f for v, f in targets.items() if v not in shared}
            if shared:
                changed.update(share_transform(builder, shared))
        for var, function in targets.items():
            lifted = liftable_variables(function)
            if not lifted:
                continue
            transform, rest = _split(builder, function, lifted)
            name = f"{var.name_hint}_transform_params"
            changed[GlobalVar(builder.get_unique_name(name))] = _published(transform, name)
            changed[var] = rest
        return module.with_functions({**module.functions, **changed}) if changed else module


def _published(transform: Function, name: str) -> Function:
    """The function of the weights, made public; all its parameters are weights."""
    return transform.with_attr("num_input", 0).with_attr("global_symbol", name)


def share_transform(builder: BlockBuilder, targets: Mapping[GlobalVar, Function]) -> dict[GlobalVar, Function]:
    """One `transform_params` for all `targets`, and the targets as functions of its results."""
    weights = {v: f.params[int(f.attrs["num_input"]) :] for v, f in targets.items()}
    infos = _common_infos(targets, weights)
    packed = Var("params", TupleStructInfo(infos))
    own = [Var(f"param_{n}", info) for n, info in enumerate(infos)]
    made: list[Binding] = []
    known: dict[int, list[tuple[Any, Var]]] = {}
    moved = {v: liftable_variables(f) for v, f in targets.items()}
    given: dict[GlobalVar, dict[Any, Any]] = {}
    results: dict[Any, None] = {}
    for var, function in targets.items():
        here = given[var] = dict(zip(weights[var], own))
        needed = _needed_outside(function, set(moved[var]))
        for binding in body_bindings(function):
            if isinstance(binding, VarBinding) and binding.var in moved[var]:
                here[binding.var] = _computed(binding, substitute(binding.value, here, notes=False), known, made)
        results.update((shared, None) for mine, shared in here.items() if mine in needed)
    output = Var("gv", TupleStructInfo([r.struct_info for r in results]))
    made.append(VarBinding(output, Tuple(results)))
    taken = _taken_out(packed, own, made)
    transform: Function = builder.normalize(Function([packed], SeqExpr([DataflowBlock(taken)], output)))
    name = builder.get_unique_name("transform_params")
    found = {GlobalVar(name): _published(transform, name)}
    for var, function in targets.items():
        params = {r: Var(r.name_hint, r.struct_info) for r in results}
        renamed = {mine: params[shared] for mine, shared in given[var].items() if shared in params}
        rest = _Dropper(set(moved[var]), renamed).function(function)
        inputs = function.params[: int(function.attrs["num_input"])]
        found[var] = builder.normalize(rest.with_fields(params=(*inputs, *params.values()), struct_info_=None))
    return found


def _computed(binding: VarBinding, value: Any, known: dict[int, list[tuple[Any, Var]]], made: list[Binding]) -> Var:
    """The variable that holds `value`: one that an earlier function bound, or a new one."""
    alike = known.setdefault(structural_hash(value), [])
    for before, var in alike:
        if structural_equal(before, value):
            return var
    now = DataflowVar(binding.var.name_hint, binding.var.struct_info)
    alike.append((value, now))
    made.append(VarBinding(now, value, binding.span))
    return now


def _common_infos(
    targets: Mapping[GlobalVar, Function], weights: Mapping[GlobalVar, Sequence[Var]]
) -> list[StructInfo]:
    """The StructInfo of the weights of all functions. Error `pass-lift`: it differs, or depends on shape variables."""
    first, *others = targets
    infos = [w.struct_info for w in weights[first]]
    for other in others:
        if [w.struct_info for w in weights[other]] != infos:
            message = f"{first.name_hint} and {other.name_hint} do not take the same weights"
            raise fail("pass-lift", f"LiftTransformParams: {message}", help="name those that do in shared_transform")
    if any(tir_vars_in_struct_info(i) for i in infos):
        raise fail("pass-lift", "LiftTransformParams: shapes of shared weights must be numbers")
    return infos


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
    """The variables that the remaining bindings mention."""
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
    renamed: dict[Any, Any] = {}
    for binding in body_bindings(function):
        if isinstance(binding, VarBinding) and binding.var in moved:
            renamed[binding.var] = own = DataflowVar(binding.var.name_hint, binding.var.struct_info)
            made.append(VarBinding(own, substitute(binding.value, renamed, notes=False), binding.span))
    output = Var("gv", TupleStructInfo([r.struct_info for r in results]))
    made.append(VarBinding(output, Tuple([renamed.get(r, r) for r in results])))
    body = SeqExpr([DataflowBlock(_taken_out(packed, weights, made))], output)
    found = Function([packed], body)
    symbols = {n for n in post_order(found, notes=True) if isinstance(n, TirVar)}
    normal: Function = builder.normalize(substitute(found, {v: v.copy() for v in symbols}))
    return normal


def _taken_out(packed: Var, weights: Sequence[Var], bindings: Sequence[Binding]) -> list[Binding]:
    """The bindings with each mention of a weight taken out of the tuple `packed` right before."""
    number_of = {weight: number for number, weight in enumerate(weights)}
    made: list[Binding] = []

    def leaf(var: Var) -> Any:
        if var not in number_of:
            return var
        own = DataflowVar(var.name_hint, var.struct_info)
        made.append(VarBinding(own, TupleGetItem(packed, number_of[var])))
        return own

    for binding in bindings:
        assert isinstance(binding, VarBinding)
        value = with_leaves(binding.value, leaf)
        inside = {n: leaf(n) for n in used_vars(binding) if n in number_of and n in post_order(value)}  # of functions
        made.append(binding.with_fields(value=substitute(value, inside, notes=False)))
    return made


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
