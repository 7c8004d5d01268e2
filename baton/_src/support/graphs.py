"""Directed graphs, as mappings of each node to those it leads to: their circles, and an order that ends at callers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def components(graph: Mapping[N, Iterable[N]]) -> list[list[N]]:
    """The strongly connected components: a component comes after those it leads to, so in a call graph callees first.

    Tarjan's algorithm with an explicit stack. Nodes that the graph has no entry for lead nowhere.
    """
    order: dict[N, int] = {}
    low: dict[N, int] = {}
    path: dict[N, None] = {}
    found: list[list[N]] = []
    for root in graph:
        work = [] if root in order else [(root, iter(graph[root]))]
        while work:
            node, rest = work[-1]
            if node not in order:
                order[node] = low[node] = len(order)
                path[node] = None
            following = next((n for n in rest if n not in order or n in path), None)
            if following is None:
                work.pop()
                if work:
                    before = work[-1][0]
                    low[before] = min(low[before], low[node])
                if low[node] == order[node]:
                    found.append(_cut(path, node))
            elif following in order:
                low[node] = min(low[node], order[following])
            else:
                work.append((following, iter(graph.get(following, ()))))
    return found


def _cut(path: dict[N, None], first: N) -> list[N]:
    """Take the nodes from `first` on off the end of the path."""
    group: list[N] = []
    while first in path:
        group.append(path.popitem()[0])
    return group[::-1]


def circles(graph: Mapping[N, Iterable[N]]) -> list[list[N]]:
    """The components of several nodes, and single nodes that lead to themselves; both they and the list in the order
    of the graph."""
    place = {node: number for number, node in enumerate(graph)}
    groups = [sorted(c, key=place.__getitem__) for c in components(graph) if len(c) > 1 or c[0] in graph.get(c[0], ())]
    return sorted(groups, key=lambda group: place[group[0]])
