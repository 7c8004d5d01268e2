"""The order of a graph's nodes: behind those whose results they use.

ONNX asks files to be in that order already; tools that edit graphs do not always keep to it, and onnxruntime sorts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from baton._src.support.diagnostics import fail

MOST_SHOWN = 8
"""So many nodes of a cycle are named."""


def in_order(nodes: Sequence[Any]) -> Sequence[Any]:
    """Return the nodes in topological order; unchanged if they are in order already.

    `DiagnosticError` (`onnx-graph`) names the nodes of a cycle.
    """
    makers = {name: place for place, node in enumerate(nodes) for name in node.output if name}
    needed = [sorted({makers[name] for name in _used(node) if name in makers}) for node in nodes]
    if all(need < place for place, needs in enumerate(needed) for need in needs):
        return nodes
    try:
        return [nodes[place] for place in TopologicalSorter(dict(enumerate(needed))).static_order()]
    except CycleError as error:
        shown = [_title(nodes[place]) for place in error.args[1][:MOST_SHOWN]]
        more = " -> ..." if len(error.args[1]) > MOST_SHOWN else ""
        help = "use a Loop or Scan to carry a value from one iteration to the next"
        raise fail(
            "onnx-graph", f"nodes depend on each other in a cycle: {' -> '.join(shown)}{more}", help=help
        ) from None


def _used(node: Any) -> Iterator[str]:
    """The names a node needs: its operands, and what its subgraphs take from outside."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        for graph in (*attribute.graphs, *((attribute.g,) if attribute.HasField("g") else ())):
            own = {v.name for v in (*graph.input, *graph.initializer)} | {n for p in graph.node for n in p.output}
            own |= {t.values.name for t in graph.sparse_initializer}
            used = (name for inner in graph.node for name in _used(inner))
            yield from (name for name in (*used, *(o.name for o in graph.output)) if name not in own)


def _title(node: Any) -> str:
    return f"{node.op_type} {(node.name or next(iter(node.output), ''))!r}"
