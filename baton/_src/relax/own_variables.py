"""Copy functions with new variables, since no variable or shape variable may belong to two functions."""

from __future__ import annotations

from typing import Any

from baton._src.ir.traverse import bound_variables, post_order, substitute
from baton._src.relax.check.variables import defined_symbolic_vars
from baton._src.relax.nodes import Function
from baton._src.tir.expr import Var as TirVar


def copy_with_new_vars(func: Function) -> Function:
    """A copy of the function with new variables, shape variables included; free variables stay."""
    # Shape variables first: annotations of variables mention them, and copies keep their annotations.
    found: Function = substitute(func, {v: v.copy() for v in defined_symbolic_vars(func)})
    renamed: Function = substitute(found, {v: v.copy() for v in bound_variables(found)})
    return renamed


def mentioned_symbols(part: Any) -> list[TirVar]:
    """The shape variables in nodes and in their annotations, each once."""
    return [n for n in post_order(part, notes=True) if isinstance(n, TirVar)]


def with_own_symbols(func: Function) -> Function:
    """A copy with new shape variables for all that occur in it, those included that it does not define."""
    found: Function = substitute(func, {v: v.copy() for v in mentioned_symbols(func)})
    return found
