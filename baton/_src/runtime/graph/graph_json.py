"""The kernels of `main` and how they are connected, in the manner of TVM's graph JSON.

`attrs`: dtype, shape and storage of each tensor that is made; `node_row_ptr`: where those of each node begin.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from baton._src.runtime.executable.executable import Executable
from baton._src.runtime.native.native_plan import Place


def graph_json(executable: Executable) -> str:
    """The kernels of `main` and how they are connected, in the manner of TVM's graph JSON."""
    plan = executable.natives.get("main")
    inputs = () if plan is None else plan.inputs
    nodes: list[dict[str, Any]] = [{"op": "null", "name": given.name, "inputs": []} for given in inputs]
    made = [[Place("input", at, i.info.dtype, i.info.dims or ())] for at, i in enumerate(inputs)]
    last_writer: dict[Any, int] = {}
    for step in () if plan is None else plan.steps:
        sources = []
        for index, place in enumerate(step.tensors):
            if index in step.writes:
                continue
            number = place.at if place.space == "input" else last_writer.get((place.space, str(place.at)))
            if number is not None:
                sources.append([number, 0, 0])
        made.append([step.tensors[index] for index in step.writes])
        last_writer |= {(place.space, str(place.at)): len(nodes) for place in made[-1]}
        attrs = {"func_name": step.kernel, "num_inputs": str(len(sources)), "num_outputs": str(len(step.writes))}
        nodes.append({"op": "tvm_op", "name": step.name, "attrs": attrs, "inputs": sources})
    outputs = 0 if plan is None else len(plan.outputs) - plan.hidden
    heads = [[last_writer.get(("output", str(i)), 0), 0, 0] for i in range(outputs)]
    graph = {"nodes": nodes, "arg_nodes": list(range(len(inputs))), "heads": heads, **_tensors_of(made)}
    return json.dumps(graph, indent=2)


def _tensors_of(made: Sequence[Sequence[Place]]) -> dict[str, Any]:
    """`attrs`: dtype, shape and storage of each tensor that is made; `node_row_ptr`: where those of each node begin."""
    places = [place for written in made for place in written]
    storages: dict[Any, int] = {}
    attrs = {
        "dltype": ["list_str", [place.dtype for place in places]],
        "shape": ["list_shape", [list(place.dims) for place in places]],
        "storage_id": ["list_int", [storages.setdefault((p.space, str(p.at)), len(storages)) for p in places]],
    }
    return {"attrs": attrs, "node_row_ptr": list(accumulate(map(len, made), initial=0))}
