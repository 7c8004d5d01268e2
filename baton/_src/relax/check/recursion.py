"""Find the mutually recursive functions of a module (`detect_recursion`, seed 001 Well-Formedness 7 and 8)."""

from __future__ import annotations

from baton._src.ir.expr import GlobalVar
from baton._src.ir.mentioned import mentioned
from baton._src.ir.module import IRModule
from baton._src.relax.nodes import Function
from baton._src.support.graphs import circles


def call_graph(module: IRModule) -> dict[GlobalVar, list[GlobalVar]]:
    """Each Relax function with the functions of the module it mentions, by their defining variables."""
    by_name = {v.name_hint: v for v in module.functions}
    graph: dict[GlobalVar, list[GlobalVar]] = {}
    for var, function in module.functions.items():
        found = mentioned(function) if isinstance(function, Function) else ()
        graph[var] = [by_name[g.name_hint] for g in found if g.name_hint in by_name]
    return graph


def detect_recursion(module: IRModule) -> list[list[GlobalVar]]:
    """The groups of mutually recursive functions, and single ones that call themselves, in the module's order."""
    return circles(call_graph(module))
