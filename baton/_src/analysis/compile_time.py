"""What can be computed before the program runs: the bindings that depend on weights alone."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from baton._src.analysis.bindings import body_bindings, used_vars
from baton._src.analysis.exposure import Exposure
from baton._src.analysis.purity import find_impure_call
from baton._src.analysis.variables import free_symbolic_vars
from baton._src.ir.expr import GraphExpr
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info
from baton._src.relax.nodes import Binding, DataflowBlock, ExternFunc, Function, SeqExpr, Var, VarBinding, is_call
from baton._src.relax.struct_info import TupleStructInfo
from baton._src.tir.expr import Var as TirVar


def computable_at_compile_time(function: Function) -> list[Var]:
    """The weights (the parameters from `num_input` on), and the variables of dataflow blocks that follow from them.

    Without the attribute `num_input` nothing is known to be a weight, and the list is empty.
    """
    count = function.attrs.get("num_input")
    if count is None:
        return []
    weights = function.params[int(count) :]
    return [*weights, *_following(function, weights, {v for w in weights for v in free_symbolic_vars(w.struct_info)})]


def liftable_bindings(function: Function) -> list[VarBinding]:
    """The bindings that a function of the weights can compute instead, what depends on nothing included.

    `R.builtin.stop_lift_params` ends them, packed functions are looked up where they are called, and what a call may
    write is computed anew in each run.
    """
    weights = function.params[int(function.attrs["num_input"]) :]
    dims = definable_tir_vars_in_struct_info(TupleStructInfo([w.struct_info for w in weights]))
    exposure = Exposure(function)
    written: Container[Var] = exposure if exposure.has_effects else ()

    def stays(binding: VarBinding) -> bool:
        return isinstance(binding.value, ExternFunc) or stops_lifting(binding.value) or binding.var in written

    following = set(_following(function, [w for w in weights if w not in written], dims, stays))
    return [b for b in _dataflow_bindings(function) if isinstance(b, VarBinding) and b.var in following]


def stops_lifting(value: GraphExpr) -> bool:
    """Whether this is a call of `R.builtin.stop_lift_params`."""
    return is_call(value, "relax.builtin.stop_lift_params")


def _following(
    function: Function,
    weights: Sequence[Var],
    dims: Container[TirVar],
    stays: Callable[[VarBinding], bool] = lambda _: False,
) -> list[Var]:
    """The variables of dataflow blocks that depend on `weights` and sizes among `dims` only."""
    known: set[Var] = set(weights)
    found: list[Var] = []
    for binding in _dataflow_bindings(function):
        if not isinstance(binding, VarBinding) or find_impure_call(binding) is not None or stays(binding):
            continue
        if all(v in known for v in used_vars(binding)) and all(v in dims for v in free_symbolic_vars(binding)):
            known.add(binding.var)
            found.append(binding.var)
    return found


def _dataflow_bindings(function: Function) -> list[Binding]:
    body = function.body
    if not isinstance(body, SeqExpr):
        return body_bindings(function)
    return [b for block in body.blocks if isinstance(block, DataflowBlock) for b in block.bindings]
