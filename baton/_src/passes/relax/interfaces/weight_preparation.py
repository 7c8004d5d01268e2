"""Split functions into the preparation of their weights, and the rest, which takes the prepared weights.

    main(x, w, u)  num_input=1                  prepare(params: (w, u)) -> (u, t)
        t = R.permute_dims(w)                       w = params[0]
        y = R.matmul(x, t)           ->             t = R.permute_dims(w)
        z = R.multiply(y, u)                    main(x, u, t)
                                                    y = R.matmul(x, t)
                                                    z = R.multiply(y, u)

If several functions share a preparation, the steps that all of them have are moved, and each takes all results.
Whatever depends on no weight stays in place. Sizes that only weights determine, and that the rest needs, are passed as
a shape before the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from baton._src.analysis.bindings import body_bindings, used_vars
from baton._src.analysis.compile_time import liftable_bindings, stops_lifting
from baton._src.analysis.variables import free_symbolic_vars
from baton._src.ir.structural import structural_equal
from baton._src.ir.structural_hash import structural_hash
from baton._src.ir.traverse import post_order, substitute
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.leaves_of_values import with_leaves
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.erase import erase_to_well_defined, substitute_info
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info, tir_vars_in_struct_info
from baton._src.relax.nodes import (
    Binding,
    DataflowBlock,
    DataflowVar,
    Function,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.own_variables import copy_with_new_vars
from baton._src.relax.struct_info import ShapeStructInfo, TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import Var as TirVar

_SIZES = "vars_from_compile_time_params"
"""TVM's name of the parameter for sizes that only weights determine."""


@dataclass(eq=False)
class _Step:
    """One binding of the preparation."""

    var: DataflowVar
    value: Any
    by: set[int]
    """The numbers of the functions that contain it."""


@dataclass(eq=False)
class _Part:
    """One of the functions."""

    function: Function
    inputs: tuple[Var, ...]
    weights: tuple[Var, ...]
    dims: list[TirVar]
    """The sizes that weights determine."""
    meaning: dict[Any, Any] = field(default_factory=dict)
    """The counterparts of its weights, sizes and steps in the preparation."""
    moved: set[Var] = field(default_factory=set)
    """The variables of the steps that are moved: they depend on weights, and all functions have them."""


def prepare_weights(functions: Sequence[Function]) -> tuple[Function, list[Function]]:
    """Return the function that prepares the weights of all `functions`, and the rest of each."""
    parts = [_part(function) for function in functions]
    _check_same_weights(parts)
    own = [Var(w.name_hint, erase_to_well_defined(w.struct_info, _itself(parts[0].dims))) for w in parts[0].weights]
    steps = _common_steps(parts, own)
    results = _results(parts, own, steps)
    sizes = _sizes(parts, results)
    return _preparation(own, steps, results, sizes), [_rest(part, parts[0], results, sizes) for part in parts]


def _part(function: Function) -> _Part:
    count = int(function.attrs["num_input"])
    inputs, weights = tuple(function.params[:count]), tuple(function.params[count:])
    dims = definable_tir_vars_in_struct_info(TupleStructInfo([w.struct_info for w in weights]))
    return _Part(function, inputs, weights, dims)


def _itself(dims: Sequence[TirVar]) -> dict[TirVar, Any]:
    return {dim: dim for dim in dims}


def _check_same_weights(parts: Sequence[_Part]) -> None:
    first, *others = (TupleStructInfo([w.struct_info for w in part.weights]) for part in parts)
    if all(structural_equal(first, other, map_free_vars=True) for other in others):
        return
    message = "LiftTransformParams: functions that share a preparation do not take the same weights"
    raise fail("pass-lift", message, help="name those that do in shared_transform")


def _common_steps(parts: Sequence[_Part], own: Sequence[Var]) -> list[_Step]:
    """The steps that all functions have, in order; the variables that each function drops are recorded in its part."""
    steps: list[_Step] = []
    alike: dict[int, list[_Step]] = {}
    for number, part in enumerate(parts):
        part.meaning.update(zip(part.weights, own))
        part.meaning.update(zip(part.dims, parts[0].dims))
        for binding in liftable_bindings(part.function):
            value = substitute(binding.value, part.meaning, notes=False)
            same = alike.setdefault(structural_hash(value), []) if len(parts) > 1 else []
            step = next((s for s in same if structural_equal(s.value, value)), None)
            if step is None:
                step = _Step(DataflowVar(binding.var.name_hint, binding.var.struct_info), value, set())
                steps.append(step)
                same.append(step)
            step.by.add(number)
            part.meaning[binding.var] = step.var
    common = [step for step in steps if len(step.by) == len(parts)]
    weighted = _from_weights(common, own)
    for part in parts:
        part.moved = {v for v, shared in part.meaning.items() if shared in weighted and v not in part.weights}
    return common


def _from_weights(steps: Sequence[_Step], own: Sequence[Var]) -> set[Any]:
    """The weights and the variables of steps that depend on them."""
    found: set[Any] = set(own)
    for step in steps:
        if any(isinstance(n, Var) and n in found for n in post_order(step.value)):
            found.add(step.var)
    return found


def _results(parts: Sequence[_Part], own: Sequence[Var], steps: Sequence[_Step]) -> list[Var]:
    """The weights, then the variables of steps, that the rest uses."""
    needed = {part.meaning[v] for part in parts for v in _mentioned(part) if v in part.moved or v in part.weights}
    return [v for v in (*own, *(step.var for step in steps)) if v in needed]


def _mentioned(part: _Part) -> set[Any]:
    """The variables that the remaining bindings and the result use."""
    body = part.function.body
    found = {n for n in post_order(body.body) if isinstance(n, Var)}
    for binding in body_bindings(part.function):
        if binding.var not in part.moved:
            found.update(used_vars(binding))
    return found


def _sizes(parts: Sequence[_Part], results: Sequence[Var]) -> list[TirVar]:
    """The sizes that the rest of a function uses and nothing it takes determines."""
    infos = TupleStructInfo([r.struct_info for r in results])
    shown = set(definable_tir_vars_in_struct_info(infos))
    needed: set[Any] = set(tir_vars_in_struct_info(infos))
    for part in parts:
        left = [b for b in body_bindings(part.function) if b.var not in part.moved]
        mentioned = {v for node in (*left, part.function.body.body) for v in free_symbolic_vars(node)}
        if part.function.ret_struct_info is not None:
            mentioned.update(tir_vars_in_struct_info(part.function.ret_struct_info))
        by_inputs = definable_tir_vars_in_struct_info(TupleStructInfo([i.struct_info for i in part.inputs]))
        needed.update(part.meaning.get(v) for v in mentioned - set(by_inputs))
    return [dim for dim in parts[0].dims if dim in needed and dim not in shown]


def _preparation(
    own: Sequence[Var], steps: Sequence[_Step], results: Sequence[Var], sizes: Sequence[TirVar]
) -> Function:
    """The function of the weights as a tuple. All its parameters are weights."""
    packed = Var("params", TupleStructInfo([w.struct_info for w in own]))
    fields: list[Any] = [ShapeExpr(sizes), *results] if sizes else list(results)
    output = Var("gv", TupleStructInfo([f.struct_info for f in fields]))
    bindings: list[Binding] = [VarBinding(step.var, step.value) for step in _used(steps, results)]
    taken = _taken_out(packed, own, [*bindings, VarBinding(output, Tuple(fields))])
    found: Function = BlockBuilder().normalize(Function([packed], SeqExpr([DataflowBlock(taken)], output)))
    return copy_with_new_vars(found).with_attr("num_input", 0)


def _used(steps: Sequence[_Step], results: Sequence[Var]) -> list[_Step]:
    """The steps that the results depend on."""
    needed: set[Any] = set(results)
    found = []
    for step in reversed(steps):
        if step.var in needed:
            needed.update(n for n in post_order(step.value) if isinstance(n, Var))
            found.append(step)
    return found[::-1]


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
        made.append(binding.with_fields(value=value))
    return made


def _rest(part: _Part, first: _Part, results: Sequence[Var], sizes: Sequence[TirVar]) -> Function:
    """The rest of a function: it takes its inputs, the sizes, and the prepared weights."""
    here = dict(zip(first.dims, part.dims))
    locals_of: dict[Any, list[Var]] = {}
    for mine, shared in part.meaning.items():
        if mine in part.moved or mine in part.weights:
            locals_of.setdefault(shared, []).append(mine)
    params: list[Var] = []
    renamed: dict[Var, Var] = {}
    for result in results:
        mine = locals_of.get(result, [])
        name, info = (mine[0].name_hint, mine[0].struct_info) if mine else (result.name_hint, result.struct_info)
        params.append(Var(name, info if mine else substitute_info(info, here)))
        renamed.update((v, params[-1]) for v in mine)
    shape = [Var(_SIZES, ShapeStructInfo([here[dim] for dim in sizes]))] if sizes else []
    left = _Left(part.moved, renamed).function(part.function)
    made = left.with_fields(params=(*part.inputs, *shape, *params), struct_info_=None)
    found: Function = BlockBuilder().normalize(made)
    return found


class _Left(BindingRewriter):
    """Drops the bindings that moved, whose values are now parameters, and `stop_lift_params`, which is no longer
    needed.
    """

    def __init__(self, moved: set[Var], renamed: dict[Var, Var]) -> None:
        super().__init__()
        self.moved = moved
        for old, new in renamed.items():
            self.replace(old, new)

    def visit_binding(self, binding: Binding) -> None:
        if binding.var in self.moved:
            return
        if isinstance(binding, VarBinding) and stops_lifting(binding.value):
            value = binding.value.args[0]
            if isinstance(binding.var, DataflowVar):
                self.replace(binding.var, value)
                return
            binding = binding.with_fields(value=value)
        self.keep(binding)
