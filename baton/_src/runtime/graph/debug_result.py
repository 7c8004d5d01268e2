"""What a debug executor saw of a run: what its nodes wrote and how long they took, in memory, as text and as files.

The API follows `tvm.contrib.debugger.debug_result` v0.19. A dump is a folder of three files:

    _tvmdbg_graph_dump.json        the graph
    _tvmdbg_execution_trace.json   the times, for chrome://tracing
    output_tensors.params          the tensors, for `relay.load_param_dict`
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from baton._src.runtime.param_dict import save_param_dict
from baton._src.values.tensor import NDArray

FILES = ("_tvmdbg_graph_dump.json", "_tvmdbg_execution_trace.json", "output_tensors.params")


class NodeRun(NamedTuple):
    """One node of a run: what it wrote, and the seconds of each repetition."""

    name: str
    outputs: Sequence[NDArray]
    seconds: Sequence[float]


class DebugResult:
    """The nodes of the last run, in order; with a folder, every run is dumped there."""

    def __init__(self, graph_json: str, dump_path: str | Path | None) -> None:
        self.nodes: Sequence[NodeRun] = ()
        self._graph_json = graph_json
        self._folder = None if dump_path is None else Path(dump_path)

    def get_output_tensors(self) -> dict[str, NDArray]:
        """The tensors by node, its place in the run, and the number of the output; nodes may have one name."""
        return {
            f"{node.name}____topo-index:{place}____output-num:{number}": tensor
            for place, node in enumerate(self.nodes)
            for number, tensor in enumerate(node.outputs)
        }

    def get_debug_result(self, sort_by_time: bool = True) -> str:
        """A table: a row for each node, the slowest first, or in the order of the run."""
        means = [fmean(node.seconds) for node in self.nodes]
        whole = sum(means)
        width = max([9, *(len(node.name) for node in self.nodes)])
        lines = [f"{'Node Name':<{width}}  {'Time(us)':>10}  {'Time(%)':>7}  Shape"]
        order = range(len(means))
        for place in sorted(order, key=lambda n: -means[n]) if sort_by_time else order:
            node, share = self.nodes[place], means[place] / whole * 100 if whole else 0.0
            shapes = ", ".join(str(tensor.shape) for tensor in node.outputs)
            lines.append(f"{node.name:<{width}}  {means[place] * 1e6:>10.3f}  {share:>7.3f}  {shapes}")
        return "\n".join([*lines, f"{'Total time':<{width}}  {whole * 1e6:>10.3f}"])

    def display_debug_result(self, sort_by_time: bool = True) -> None:
        """Print the table."""
        print(self.get_debug_result(sort_by_time))

    def dump(self) -> None:
        """Write the three files, if there is a folder."""
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        graph, trace, outputs = (self._folder / name for name in FILES)
        graph.write_text(self._graph_json)
        trace.write_text(json.dumps(self._trace()))
        outputs.write_bytes(save_param_dict(self.get_output_tensors()))

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

    def _trace(self) -> dict[str, object]:
        """The nodes one after the other, in microseconds."""
        events, now = [], 0.0
        for node in self.nodes:
            spent = fmean(node.seconds) * 1e6
            events.append({"name": node.name, "ph": "X", "ts": now, "dur": spent, "pid": 1, "tid": 1})
            now += spent
        return {"traceEvents": events, "displayTimeUnit": "ns"}
