"""Copy functions with new variables, since no variable or shape variable may belong to two functions."""

from __future__ import annotations

from baton._src.ir.traverse import bound_variables, substitute
from baton._src.relax.check.variables import defined_symbolic_vars
from baton._src.relax.nodes import Function


def copy_with_new_vars(func: Function) -> Function:
    """A copy of the function with new variables, shape variables included; free variables stay."""
    # Shape variables first: annotations of variables mention them, and copies keep their annotations.
    found: Function = substitute(func, {v: v.copy() for v in defined_symbolic_vars(func)})
    renamed: Function = substitute(found, {v: v.copy() for v in bound_variables(found)})
    return renamed
