"""Components and circles of graphs against their definition, by reachability."""

from __future__ import annotations

import random

import pytest

from baton._src.support.graphs import circles, components

Graph = dict[int, list[int]]


def _reached(graph: Graph, start: int) -> set[int]:
    """The nodes that `start` leads to in one step or more."""
    found: set[int] = set()
    work = list(graph[start])
    while work:
        node = work.pop()
        if node not in found:
            found.add(node)
            work += graph[node]
    return found


def _random_graph(seed: int) -> Graph:
    draw = random.Random(seed)
    size = draw.randint(1, 9)
    return {n: [m for m in range(size) if draw.random() < draw.choice([0.1, 0.3])] for n in range(size)}


@pytest.mark.parametrize("seed", range(60))
def test_components_are_what_reaches_one_another_callees_first(seed: int) -> None:
    graph = _random_graph(seed)
    reached = {n: _reached(graph, n) for n in graph}
    found = components(graph)
    assert sorted(n for group in found for n in group) == sorted(graph)
    number = {n: at for at, group in enumerate(found) for n in group}
    for a in graph:
        for b in graph:
            together = a == b or (b in reached[a] and a in reached[b])
            assert (number[a] == number[b]) == together
            assert together or b not in reached[a] or number[b] < number[a]


@pytest.mark.parametrize("seed", range(60))
def test_circles_are_the_nodes_that_reach_themselves_in_the_graphs_order(seed: int) -> None:
    graph = _random_graph(seed)
    found = circles(graph)
    assert sorted(n for group in found for n in group) == [n for n in graph if n in _reached(graph, n)]
    assert all(group == sorted(group) for group in found)
    assert [group[0] for group in found] == sorted(group[0] for group in found)


def test_long_chains_and_circles_need_no_stack_of_python() -> None:
    size = 50_000
    chain = {n: [n + 1] for n in range(size)}
    assert components(chain) == [[n] for n in range(size, -1, -1)]
    circle = {n: [(n + 1) % size] for n in range(size)}
    assert components(circle) == [list(range(size))]
