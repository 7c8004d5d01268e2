"""The kernels of `main` and how they are connected, in the manner of TVM's graph JSON.

`attrs`: dtype, shape and storage of each tensor that is made; `node_row_ptr`: where those of each node begin.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
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
    last_writer: dict[Any, list[int]] = {}
    for step in () if plan is None else plan.steps:
        sources = []
        for index, place in enumerate(step.tensors):
            if index in step.writes:
                continue
            source = [place.at, 0, 0] if place.space == "input" else last_writer.get((place.space, str(place.at)))
            if source is not None:
                sources.append(source)
        made.append([step.tensors[index] for index in step.writes])
        last_writer |= {(p.space, str(p.at)): [len(nodes), n, 0] for n, p in enumerate(made[-1])}
        attrs = {"func_name": step.kernel, "num_inputs": str(len(sources)), "num_outputs": str(len(step.writes))}
        nodes.append({"op": "tvm_op", "name": step.name, "attrs": attrs, "inputs": sources})
    writers = {place: source for (space, place), source in last_writer.items() if space == "output"}
    heads = [] if plan is None else list(_heads(plan.result, writers))
    graph = {"nodes": nodes, "arg_nodes": list(range(len(inputs))), "heads": heads, **_tensors_of(made)}
    return json.dumps(graph, indent=2)


def _heads(result: Any, writers: Mapping[str, list[int]]) -> Iterator[list[int]]:
    """Where the tensors of a plan's result come from; constants, which are no nodes, are left out."""
    match result:
        case int():
            yield writers[str(result)]
        case ["input", number]:
            yield [number, 0, 0]
        case ["view", source, _]:
            yield from _heads(source, writers)
        case ["tuple", fields]:
            for field in fields:
                yield from _heads(field, writers)


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
