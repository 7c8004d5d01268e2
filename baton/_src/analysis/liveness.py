"""Where values are used last, within one sequence of bindings."""

from __future__ import annotations

from typing import Any

from baton._src.analysis.bindings import used_vars
from baton._src.ir.traverse import post_order
from baton._src.relax.nodes import Binding, SeqExpr, Tuple, TupleGetItem, Var, VarBinding


def last_uses(seq: SeqExpr) -> dict[Var, int]:
    """For each variable bound in `seq`: the number of the last binding that uses it or anything that shares its memory.

    A variable that is never used has its own binding's number; one that is returned has the number of bindings.
    """
    bindings = [b for block in seq.blocks for b in block.bindings]
    owners = alias_sets(bindings)
    found: dict[Var, int] = {}
    for number, binding in enumerate(bindings):
        found[binding.var] = number
        for used in (*used_vars(binding), binding.var):
            for owner in owners.get(used, {used}):
                if owner in found:
                    found[owner] = number
    for node in post_order(seq.body):
        for owner in owners.get(node, {node}) if isinstance(node, Var) else ():
            if owner in found:
                found[owner] = len(bindings)
    return found


def alias_sets(bindings: list[Binding]) -> dict[Any, set[Var]]:
    """For each variable the variables whose memory it may share, itself included: copies, tuples, projections, views.

    Calls give new memory, except reshapes and views, and calls of functions, which may return an argument.
    """
    found: dict[Any, set[Var]] = {}
    for binding in bindings:
        shared = {binding.var}
        if not isinstance(binding, VarBinding) or may_alias(binding.value):
            for used in used_vars(binding):
                shared |= found.get(used, {used})
        found[binding.var] = shared
    return found


def may_alias(value: Any) -> bool:
    """Whether the value may share memory with what it mentions."""
    if isinstance(value, (Var, Tuple, TupleGetItem)):
        return True
    op = getattr(value, "op", None)
    name = getattr(op, "name", None)
    if name is None:
        return True  # a function, a closure, an If: it may return what it was given
    return (
        name
        in (
            "relax.memory.view",
            "relax.memory.ensure_zero_offset",
            "relax.vm.alloc_tensor",
            "relax.memory.alloc_tensor",
        )
        or name == "relax.reshape"
    )
