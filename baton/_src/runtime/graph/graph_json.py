"""The nodes of a program and how they are connected, in the manner of TVM's graph JSON.

`attrs`: dtype, shape and storage of each tensor that is made; `node_row_ptr`: where those of each node begin.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from baton._src.runtime.executable.executable import Executable
from baton._src.runtime.graph.graph_nodes import GraphNode, Source, graph_nodes


def graph_json(executable: Executable) -> str:
    """The parameters of `main` and what it calls, and how they are connected, as JSON text."""
    nodes, heads = graph_nodes(executable)
    graph = {
        "nodes": list(map(_node, nodes)),
        "arg_nodes": [number for number, node in enumerate(nodes) if not node.function],
        "heads": _references(heads),
        **_tensors_of(nodes),
    }
    return json.dumps(graph, indent=2)


def _node(node: GraphNode) -> dict[str, Any]:
    if not node.function:
        return {"op": "null", "name": node.name, "inputs": []}
    counts = {"num_inputs": str(len(node.inputs)), "num_outputs": str(len(node.made))}
    attrs = {"func_name": node.function, **counts}
    return {"op": "tvm_op", "name": node.name, "attrs": attrs, "inputs": _references(node.inputs)}


def _references(sources: Iterable[Source]) -> list[list[int]]:
    return [[node, output, 0] for node, output in sources]


def _tensors_of(nodes: Sequence[GraphNode]) -> dict[str, Any]:
    made = [tensor for node in nodes for tensor in node.made]
    storages: dict[object, int] = {}
    attrs = {
        "dltype": ["list_str", [tensor.dtype for tensor in made]],
        "shape": ["list_shape", [list(tensor.dims) for tensor in made]],
        "storage_id": ["list_int", [storages.setdefault(tensor.storage, len(storages)) for tensor in made]],
    }
    return {"attrs": attrs, "node_row_ptr": list(accumulate((len(node.made) for node in nodes), initial=0))}


__all__ = ["graph_json"]
