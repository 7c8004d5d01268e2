"""Which functions of a module call each other in circles (`detect_recursion`, seed 001 Well-Formedness 7 and 8)."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.relax.nodes import Function


def called_globals(function: Any) -> list[GlobalVar]:
    """The functions of the module that a function mentions, each once."""
    return [n for n in post_order(function) if isinstance(n, GlobalVar)]


def call_graph(module: IRModule) -> dict[GlobalVar, list[GlobalVar]]:
    """Each Relax function with the functions of the module it mentions, by their defining variables."""
    by_name = {v.name_hint: v for v in module.functions}
    graph: dict[GlobalVar, list[GlobalVar]] = {}
    for var, function in module.functions.items():
        found = called_globals(function) if isinstance(function, Function) else []
        graph[var] = [by_name[g.name_hint] for g in found if g.name_hint in by_name]
    return graph


def detect_recursion(module: IRModule) -> list[list[GlobalVar]]:
    """The groups of mutually recursive functions, and single ones that call themselves, in the module's order."""
    graph = call_graph(module)
    groups = strongly_connected(graph)
    found = [g for g in groups if len(g) > 1 or g[0] in graph[g[0]]]
    position = {v: i for i, v in enumerate(module.functions)}
    return sorted((sorted(g, key=position.__getitem__) for g in found), key=lambda g: position[g[0]])


def strongly_connected(graph: dict[GlobalVar, list[GlobalVar]]) -> list[list[GlobalVar]]:
    """Tarjan's components, callees first, without recursion."""
    index: dict[GlobalVar, int] = {}
    low: dict[GlobalVar, int] = {}
    open_: dict[GlobalVar, None] = {}
    found: list[list[GlobalVar]] = []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        open_[root] = None
        while work:
            node, rest = work[-1]
            step = next(rest, None)
            if step is None:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    found.append(_close(open_, node))
            elif step not in index:
                index[step] = low[step] = len(index)
                open_[step] = None
                work.append((step, iter(graph[step])))
            elif step in open_:
                low[node] = min(low[node], index[step])
    return found


def _close(open_: dict[GlobalVar, None], root: GlobalVar) -> list[GlobalVar]:
    group: list[GlobalVar] = []
    while True:
        member, _ = open_.popitem()
        group.append(member)
        if member is root:
            return group
