"""Which functions of a module mention which, who can be reached, and who is recursive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from baton._src.ir.expr import GlobalVar
from baton._src.ir.mentioned import mentioned
from baton._src.ir.module import IRModule
from baton._src.support.graphs import circles


def call_graph(module: IRModule) -> dict[GlobalVar, list[GlobalVar]]:
    """For each function the functions of the module it mentions (calls, passes on, or makes closures of)."""
    by_name = {var.name_hint: var for var in module.functions}
    graph = {}
    for var, function in module.functions.items():
        names = dict.fromkeys(n.name_hint for n in mentioned(function))
        graph[var] = [by_name[name] for name in names if name in by_name]
    return graph


def reachable(graph: Mapping[GlobalVar, Iterable[GlobalVar]], roots: Iterable[GlobalVar]) -> set[GlobalVar]:
    """The functions that `roots` reach, themselves included."""
    found = set(roots)
    stack = list(found)
    while stack:
        for callee in graph.get(stack.pop(), ()):
            if callee not in found:
                found.add(callee)
                stack.append(callee)
    return found


def detect_recursion(module: IRModule) -> list[list[GlobalVar]]:
    """Groups of functions that call one another (or themselves), each group and the list in module order."""
    return circles(call_graph(module))
