"""What can be computed before the program runs: the bindings that depend on weights alone."""

from __future__ import annotations

from baton._src.analysis.bindings import body_bindings, used_vars
from baton._src.analysis.purity import find_impure_call
from baton._src.analysis.variables import free_symbolic_vars
from baton._src.relax.nodes import Binding, DataflowBlock, Function, MatchCast, SeqExpr, Var


def computable_at_compile_time(function: Function) -> list[Var]:
    """The variables of dataflow blocks whose values follow from the weights: the parameters from `num_input` on.

    Without the attribute `num_input` nothing is known to be a weight, and the list is empty.
    """
    count = function.attrs.get("num_input")
    if count is None:
        return []
    known: set[Var] = set(function.params[int(count) :])
    pure = [b for b in _dataflow_bindings(function) if not isinstance(b, MatchCast) and find_impure_call(b) is None]
    found: list[Var] = []
    for binding in pure:
        if all(v in known for v in used_vars(binding)) and not free_symbolic_vars(binding):
            known.add(binding.var)
            found.append(binding.var)
    return found


def _dataflow_bindings(function: Function) -> list[Binding]:
    body = function.body
    if not isinstance(body, SeqExpr):
        return body_bindings(function)
    return [b for block in body.blocks if isinstance(block, DataflowBlock) for b in block.bindings]
