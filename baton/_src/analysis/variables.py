"""Variables of Relax expressions: bound, free, all; and the shape variables among them."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.traverse import bound_variables, children, post_order
from baton._src.relax.check.variables import defined_symbolic_vars, free_tir_vars
from baton._src.relax.nodes import Var
from baton._src.relax.struct_info import FuncStructInfo
from baton._src.tir.expr import Var as TirVar


def all_vars(expr: GraphExpr) -> list[Var]:
    """Every Relax variable that occurs, definitions included, in order of first occurrence."""
    return [n for n in post_order(expr) if isinstance(n, Var)]


def bound_vars(expr: GraphExpr) -> list[Var]:
    """The variables `expr` defines: parameters and bindings, in order."""
    return [v for v in bound_variables(expr) if isinstance(v, Var)]


def free_vars(expr: GraphExpr) -> list[Var]:
    """The variables `expr` uses and does not define, in order of first use. (Variables are unique: defined once.)"""
    bound = set(bound_variables(expr))
    return [v for v in all_vars(expr) if v not in bound]


def all_global_vars(expr: GraphExpr) -> list[GlobalVar]:
    """The global variables that occur."""
    return [n for n in post_order(expr) if isinstance(n, GlobalVar)]


def free_symbolic_vars(function: Any) -> list[TirVar]:
    """The shape variables that `function` mentions, in expressions or annotations, and does not bind.

    Those of a function type's parameters are that type's own.
    """
    bound = set(defined_symbolic_vars(function))
    found: dict[TirVar, None] = {}
    for item in post_order(function, below=lambda node: () if isinstance(node, FuncStructInfo) else children(node)):
        if isinstance(item, TirVar):
            found[item] = None
        elif isinstance(item, FuncStructInfo):
            found.update((v, None) for v in free_tir_vars(item))
        elif isinstance(item, Var) and item.struct_info_ is not None:
            found.update((v, None) for v in free_tir_vars(item.struct_info))
    return [v for v in found if v not in bound]
