"""What a debug executor saw of a run: what its nodes wrote and how long they took, in memory, as text and as files.

The API follows `tvm.contrib.debugger.debug_result` v0.19. Nodes are those of the graph: its parameters, then its
kernels. A dump is a folder of three files:

    _tvmdbg_graph_dump.json        the graph
    _tvmdbg_execution_trace.json   the times, for chrome://tracing
    output_tensors.params          the tensors, for `relay.load_param_dict`
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from baton._src.runtime.param_dict import save_param_dict
from baton._src.values.tensor import NDArray

FILES = ("_tvmdbg_graph_dump.json", "_tvmdbg_execution_trace.json", "output_tensors.params")
PARAMETER = "param"
"""What stands in the place of a parameter's kernel."""

_COLUMNS = ("Node Name", "Ops", "Time(us)", "Time(%)", "Shape", "Inputs", "Outputs", "Measurements(us)")


class NodeRun(NamedTuple):
    """One node of a run: its kernel (or `PARAMETER`), how many tensors it read, what it wrote, and the seconds of each
    repetition."""

    name: str
    kernel: str
    inputs: int
    outputs: Sequence[NDArray]
    seconds: Sequence[float]


class DebugResult:
    """The nodes of the last run, in order; with a folder, every run is dumped there."""

    def __init__(self, graph_json: str, dump_path: str | Path | None) -> None:
        self.runs: Sequence[NodeRun] = ()
        self._graph_json = graph_json
        self._folder = None if dump_path is None else Path(dump_path)

    # ---- the graph

    def get_graph_nodes(self) -> list[dict[str, Any]]:
        """The nodes of the graph: `name`, `op` (the kernel or "param"), `inputs` by name, `shape` of the first output,
        and `attrs` with its dtype as `T`."""
        graph = json.loads(self._graph_json)
        nodes, attrs = graph["nodes"], graph["attrs"]
        names = [node["name"] for node in nodes]
        for node, first in zip(nodes, graph["node_row_ptr"]):
            given = node.get("attrs", {})
            node["op"] = given.get("func_name", PARAMETER)
            node["inputs"] = [names[source] for source, *_ in node["inputs"]]
            node["attrs"] = {**given, "T": f"type: {attrs['dltype'][1][first]}"}
            node["shape"] = attrs["shape"][1][first]
        found: list[dict[str, Any]] = nodes
        return found

    def get_graph_node_output_num(self, node: dict[str, Any]) -> int:
        """How many tensors a node of `get_graph_nodes()` writes."""
        return int(node["attrs"].get("num_outputs", 1))

    def get_graph_node_shapes(self) -> list[Any]:
        """The shapes of all tensors of the graph, as it has them: `["list_shape", [...]]`."""
        found: list[Any] = json.loads(self._graph_json)["attrs"]["shape"]
        return found

    def get_graph_node_dtypes(self) -> list[Any]:
        """The dtypes of all tensors of the graph, as it has them: `["list_str", [...]]`."""
        found: list[Any] = json.loads(self._graph_json)["attrs"]["dltype"]
        return found

    # ---- the run

    def get_output_tensors(self) -> dict[str, NDArray]:
        """The tensors by node, its place in the graph, and the number of the output; nodes may have one name."""
        return {
            f"{node.name}____topo-index:{place}____output-num:{number}": tensor
            for place, node in enumerate(self.runs)
            for number, tensor in enumerate(node.outputs)
        }

    def get_debug_result(self, sort_by_time: bool = True) -> str:
        """A table: a row for each output of a kernel, the slowest first and a sum at the end, or in the order of the
        run."""
        whole = sum(fmean(node.seconds) for node in self.runs)
        rows = [row for node in self.runs if node.kernel != PARAMETER for row in _rows(node, whole)]
        if sort_by_time:
            rows.sort(key=lambda row: -float(row[2]))
            rows.append(("Total_time", "-", f"{whole * 1e6:.3f}", *"-----"))
        lines = [_COLUMNS, tuple("-" * len(title) for title in _COLUMNS), *rows]
        widths = [max(map(len, column)) + 2 for column in zip(*lines)]
        return "\n".join("".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in lines)

    def display_debug_result(self, sort_by_time: bool = True) -> None:
        """Print the table."""
        print(self.get_debug_result(sort_by_time))

    # ---- files

    def dump(self) -> None:
        """Write the three files, if there is a folder."""
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / FILES[0]).write_text(self._graph_json)
        self.dump_chrome_trace()
        self.dump_output_tensor()

    def dump_chrome_trace(self) -> None:
        """Write the times, if there is a folder."""
        if self._folder is not None:
            trace = {"displayTimeUnit": "ns", "traceEvents": list(self._events())}
            (self._folder / FILES[1]).write_text(json.dumps(trace))

    def dump_output_tensor(self) -> None:
        """Write the tensors, if there is a folder."""
        if self._folder is not None:
            (self._folder / FILES[2]).write_bytes(save_param_dict(self.get_output_tensors()))

    def remove(self) -> None:
        """Remove the three files, and their folder and the one around it where nothing else is left: that one is the
        user's."""
        if self._folder is None:
            return
        for name in FILES:
            (self._folder / name).unlink(missing_ok=True)
        for folder in (self._folder, self._folder.parent):
            with suppress(OSError):  # not empty, or the current one
                folder.rmdir()

    def _events(self) -> Iterator[dict[str, object]]:
        """Where the nodes begin and end, one after the other, in microseconds."""
        now = 0.0
        for node in self.runs:
            spent = fmean(node.seconds) * 1e6
            for phase, time in (("B", now), ("E", now + spent)):
                yield {"ts": time, "tid": 1, "pid": 1, "name": node.name, "ph": phase}
            now += spent


def _rows(node: NodeRun, whole: float) -> Iterator[tuple[str, ...]]:
    """The rows of a node, as texts."""
    mean = fmean(node.seconds)
    times = f"{mean * 1e6:.3f}", f"{mean / whole * 100 if whole else 0:.3f}"
    measured = str([round(each * 1e6, 3) for each in node.seconds])
    for tensor in node.outputs:
        counts = str(node.inputs), str(len(node.outputs))
        yield node.name, node.kernel, *times, str(tensor.shape), *counts, measured
