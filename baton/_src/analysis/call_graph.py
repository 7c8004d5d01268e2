"""Which functions of a module mention which, who can be reached, and who is recursive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order


def call_graph(module: IRModule) -> dict[GlobalVar, list[GlobalVar]]:
    """For each function the functions of the module it mentions (calls, passes on, or makes closures of)."""
    by_name = {var.name_hint: var for var in module.functions}
    graph = {}
    for var, function in module.functions.items():
        mentioned = (n.name_hint for n in post_order(function) if isinstance(n, GlobalVar))
        graph[var] = [by_name[name] for name in dict.fromkeys(mentioned) if name in by_name]
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


def components(graph: Mapping[GlobalVar, Iterable[GlobalVar]]) -> list[list[GlobalVar]]:
    """The strongly connected components, callees before callers (Tarjan's algorithm with an explicit stack)."""
    order: dict[GlobalVar, int] = {}
    low: dict[GlobalVar, int] = {}
    path: list[GlobalVar] = []
    on_path: set[GlobalVar] = set()
    found: list[list[GlobalVar]] = []
    for root in graph:
        if root in order:
            continue
        work = [(root, iter(graph[root]))]
        order[root] = low[root] = len(order)
        path.append(root)
        on_path.add(root)
        while work:
            var, callees = work[-1]
            callee = next(callees, None)
            if callee is None:
                work.pop()
                if work:
                    caller = work[-1][0]
                    low[caller] = min(low[caller], low[var])
                if low[var] == order[var]:
                    at = path.index(var)
                    found.append(path[at:])
                    on_path.difference_update(path[at:])
                    del path[at:]
            elif callee not in order:
                order[callee] = low[callee] = len(order)
                path.append(callee)
                on_path.add(callee)
                work.append((callee, iter(graph.get(callee, ()))))
            elif callee in on_path:
                low[var] = min(low[var], order[callee])
    return found


def detect_recursion(module: IRModule) -> list[list[GlobalVar]]:
    """Groups of functions that call one another (or themselves), each group and the list in module order."""
    graph = call_graph(module)
    place = {var: number for number, var in enumerate(module.functions)}
    groups = [sorted(c, key=place.__getitem__) for c in components(graph) if len(c) > 1 or c[0] in graph[c[0]]]
    return sorted(groups, key=lambda group: place[group[0]])
