"""What can be computed before the program runs: the bindings that depend on weights alone."""

from __future__ import annotations

from collections.abc import Container, Sequence

from baton._src.analysis.bindings import body_bindings, used_vars
from baton._src.analysis.purity import find_impure_call
from baton._src.analysis.variables import free_symbolic_vars
from baton._src.relax.nodes import Binding, DataflowBlock, Function, MatchCast, SeqExpr, Var
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


def liftable_variables(function: Function) -> list[Var]:
    """Those of them that are bound in the function, to values that mention no shape variable."""
    count = function.attrs.get("num_input")
    return [] if count is None else _following(function, function.params[int(count) :], set())


def _following(function: Function, weights: Sequence[Var], dims: Container[TirVar]) -> list[Var]:
    """The variables of dataflow blocks that depend on `weights` and sizes among `dims` only."""
    known: set[Var] = set(weights)
    found: list[Var] = []
    for binding in _dataflow_bindings(function):
        if isinstance(binding, MatchCast) or find_impure_call(binding) is not None:
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
