"""The order in which a module's functions are inferred: callees first, functions that call one another together."""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.ir.expr import GlobalVar
from baton._src.relay.nodes import Function


def definition_order(
    functions: Mapping[GlobalVar, Function], mentions: Mapping[GlobalVar, list[GlobalVar]]
) -> list[list[GlobalVar]]:
    """The strongly connected components of the call graph, callees first (Tarjan, with an explicit stack).

    `mentions` has the globals of each function.
    """
    by_name = {var.name_hint: var for var in functions}
    calls: dict[GlobalVar, list[GlobalVar]] = {}
    for var in functions:
        named = [by_name[g.name_hint] for g in mentions[var] if g.name_hint in by_name]
        calls[var] = list(dict.fromkeys(named))
    index: dict[GlobalVar, int] = {}
    low: dict[GlobalVar, int] = {}
    path: list[GlobalVar] = []
    on_path: set[GlobalVar] = set()
    components: list[list[GlobalVar]] = []
    for root in functions:
        if root in index:
            continue
        work = [(root, iter(calls[root]))]
        index[root] = low[root] = len(index)
        path.append(root)
        on_path.add(root)
        while work:
            var, rest = work[-1]
            for callee in rest:
                if callee not in index:
                    index[callee] = low[callee] = len(index)
                    path.append(callee)
                    on_path.add(callee)
                    work.append((callee, iter(calls[callee])))
                    break
                if callee in on_path:
                    low[var] = min(low[var], index[callee])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[var])
                if low[var] == index[var]:
                    cut = path.index(var)
                    components.append(path[cut:])
                    on_path.difference_update(path[cut:])
                    del path[cut:]
    return components
