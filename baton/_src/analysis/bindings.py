"""What is bound to which variable, and who uses it."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.ir.traverse import children, post_order
from baton._src.relax.nodes import Binding, DataflowBlock, Function, MatchCast, SeqExpr, Var, VarBinding


def all_bindings(expr: GraphExpr) -> list[Binding]:
    """Every binding inside, inner functions and branches included, in order of evaluation of each sequence."""
    return [n for n in post_order(expr) if isinstance(n, Binding)]


def get_var2val(function: Function) -> dict[Var, Any]:
    """The value of every variable bound inside (a match_cast's value for its variable)."""
    return {
        b.var: b.value for b in all_bindings(function) if isinstance(b, (VarBinding, MatchCast)) and b.var is not None
    }


def name_to_binding(function: Function) -> dict[str, list[Binding]]:
    """The bindings by the name of their variable, if they have one; several where names repeat."""
    found: dict[str, list[Binding]] = {}
    for binding in all_bindings(function):
        if binding.var is not None:
            found.setdefault(binding.var.name_hint, []).append(binding)
    return found


def udchain(block: DataflowBlock) -> dict[Var, list[Var]]:
    """For each variable defined or used in the block, the variables whose bindings use it, in order."""
    users: dict[Var, dict[Var, None]] = {}
    for binding in block.bindings:
        own = {} if binding.var is None else {binding.var: None}
        for var in (*own, *used_vars(binding)):
            users.setdefault(var, {})
        for used in used_vars(binding):
            users[used].update(own)
    return {var: list(found) for var, found in users.items()}


def used_vars(binding: Binding) -> list[Var]:
    """The Relax variables that the value of a binding mentions, each once."""
    value = binding.value if isinstance(binding, (VarBinding, MatchCast)) else None
    return [n for n in post_order(value) if isinstance(n, Var)]


def count_uses(function: Function) -> dict[Var, int]:
    """How many bindings and results mention each variable; a binding of a branch, which contains others, only by its
    condition."""
    found: dict[Var, int] = {}
    for binding in all_bindings(function):
        value = binding.value if isinstance(binding, (VarBinding, MatchCast)) else None
        for var in post_order(value, below=lambda n: () if isinstance(n, SeqExpr) else children(n)):
            if isinstance(var, Var):
                found[var] = found.get(var, 0) + 1
    for node in post_order(function):
        if isinstance(node, SeqExpr):
            for inner in post_order(node.body):
                if isinstance(inner, Var):
                    found[inner] = found.get(inner, 0) + 1
    return found


def body_bindings(function: Function) -> list[Binding]:
    """The bindings of the function's own sequence, not those of branches and inner functions."""
    body = function.body
    return [b for block in body.blocks for b in block.bindings] if isinstance(body, SeqExpr) else []
