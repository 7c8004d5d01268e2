"""The debug executor: a `GraphModule` that runs node by node, records the output of each, and says how long it took.

The API follows `tvm.contrib.debugger.debug_executor` v0.19.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from baton._src.runtime.graph.debug_result import PARAMETER, DebugResult, NodeRun
from baton._src.runtime.graph.graph_executor import GraphModule, GraphRuntime, tensors_in
from baton._src.runtime.graph.graph_executor import create as create_instance
from baton._src.runtime.graph.graph_json import graph_json
from baton._src.runtime.graph.graph_nodes import graph_nodes
from baton._src.runtime.native.faults import without_faults
from baton._src.runtime.native.step_by_step import KernelHook
from baton._src.runtime.timing import BenchmarkResult, Profile, measure
from baton._src.runtime.vm.engine import NO_OP, SKIP_RUN, Engine
from baton._src.support.diagnostics import fail
from baton._src.values.device import CPU, Device
from baton._src.values.tensor import AnyArray, NDArray


class GraphModuleDebug(GraphModule):
    """A graph executor that keeps the output and the time of every node of the last `run`, in `debug_datum`.

    Nodes count as in the graph (`lib.get_graph_json()`): first its parameters, which take no time, then its kernels
    and packed functions.
    With a `dump_root`, each run also writes them to files in the folder `_tvmdbg_device_CPU_0` there (`debug_result`).
    """

    def __init__(
        self, module: GraphRuntime, device: Device = CPU, graph_json_str: str = "", dump_root: Any = None
    ) -> None:
        super().__init__(module)
        folder = None if dump_root is None else Path(dump_root) / "_tvmdbg_device_CPU_0"
        nodes, _ = graph_nodes(module.executable)
        self._given = [node for node in nodes if not node.function]
        self._called = nodes[len(self._given) :]
        self.debug_datum = DebugResult(graph_json_str or graph_json(module.executable), folder)

    def _run_nodes(self, hook: KernelHook) -> None:
        """Run the graph on the inputs as they are, each kernel and packed function through `hook`."""
        functions = {node.function for node in self._called}

        def instrument(function: Callable[..., Any], name: str, before: bool, result: Any, *values: Any) -> int:
            if not before or name not in functions:
                return NO_OP
            hook(name, name, lambda: function(*values), [v.data for v in values if isinstance(v, NDArray)])
            return SKIP_RUN

        engine = Engine(self.module.executable, self.module.machine.engine.functions)
        engine.kernel_hook, engine.instrument = hook, instrument
        engine_before = self.module.machine.engine
        self.module.machine.engine = engine
        try:
            super().run()
        finally:
            self.module.machine.engine = engine_before

    def run(
        self,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 1,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        sort_by_time: bool = True,
        **input_dict: Any,
    ) -> None:
        """Run node by node, keeping a copy of what each node writes; time every node (`run_individual`), dump the
        result if there is a folder for it, and print the times."""
        self._set_named(input_dict)
        kept = self._run_once()
        times = self.run_individual(number, repeat, min_repeat_ms)
        self.debug_datum.runs = [node._replace(seconds=spent) for node, spent in zip(kept, times)]
        self.debug_datum.dump()
        self.debug_datum.display_debug_result(sort_by_time)

    def _run_once(self) -> list[NodeRun]:
        """Run the graph; its nodes with what they wrote, and no times."""
        nodes = iter(self._called)
        inputs = [list(tensors_in(value)) for value in self.module.inputs]
        kept = [NodeRun(node.name, PARAMETER, 0, tensors, ()) for node, tensors in zip(self._given, inputs)]

        def hook(kernel: str, _name: str, run: Callable[[], None], tensors: Sequence[AnyArray]) -> None:
            run()
            node = next(nodes)
            outputs = [NDArray(tensors[i].copy()) for i in node.writes]
            kept.append(NodeRun(node.name, kernel, len(tensors) - len(outputs), outputs, ()))

        self._run_nodes(hook)
        return kept

    def debug_get_output(self, node: int | str, out: Any = None) -> NDArray:
        """What a node (by number or name) writes, its first output, with the inputs as they are: the graph is run."""
        names = self.get_node_names()
        index = names.index(node) if isinstance(node, str) and node in names else node
        if not isinstance(index, int) or not 0 <= index < len(names):
            kind = AttributeError if isinstance(node, str) else IndexError
            help = f"there are: {', '.join(f'{i}: {n}' for i, n in enumerate(names))}"
            raise fail("output-unknown", f"there is no node {node!r}", help=help, kind=kind)
        found = self._run_once()[index].outputs[0]
        return found if out is None else found.copyto(out)

    def get_node_names(self) -> list[str]:
        """The nodes of the graph: its parameters, then its kernels and packed functions in the order they run."""
        return [node.name for node in (*self._given, *self._called)]

    def run_individual(
        self,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
    ) -> list[list[float]]:
        """Seconds of every node, for each repetition; the last three options have no effect."""
        times = [[0.0] * max(1, repeat) for _ in self._given]

        def hook(kernel: str, name: str, run: Callable[[], None], tensors: Sequence[AnyArray]) -> None:
            times.append(list(_measured(run, tensors, number, repeat, min_repeat_ms).results))

        self._run_nodes(hook)
        return times

    def run_individual_node(
        self,
        index: int,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
    ) -> BenchmarkResult:
        """Seconds of one node, by its number in `get_node_names()`; the last three options have no effect."""
        count, first = len(self.get_node_names()), len(self._given)
        if not 0 <= index < count:
            message = f"the graph has {count} nodes, there is no number {index}"
            raise fail("output-unknown", message, kind=IndexError)
        if index < first:
            return BenchmarkResult((0.0,) * max(1, repeat))
        found: list[BenchmarkResult] = []
        seen = iter(range(first, count))

        def hook(kernel: str, name: str, run: Callable[[], None], tensors: Sequence[AnyArray]) -> None:
            if next(seen, None) == index:
                found.append(_measured(run, tensors, number, repeat, min_repeat_ms))
            else:
                run()

        self._run_nodes(hook)
        return found[0]

    def exit(self) -> None:
        """Discard the recorded outputs, and remove the dumps. What else is in the `dump_root` stays (TVM's removes it
        all)."""
        self.debug_datum.runs = ()
        self.debug_datum.remove()

    def profile(self, collectors: Any = None, **input_dict: Any) -> Profile:
        """Time by node of one run. Collectors of other metrics are refused (`api`)."""
        if collectors:
            raise fail(
                "api", "profiles measure time", help="leave collectors out; perf and similar tools measure the rest"
            )
        self._set_named(input_dict)
        return self.module.machine.profile("main", *self.module.inputs)


def _measured(
    run: Callable[[], None], tensors: Sequence[AnyArray], number: int, repeat: int, min_repeat_ms: int
) -> BenchmarkResult:
    """Measure a node as often as `measure` is told, and leave what it writes as one run does: it may write over what it
    reads, so that each further run begins with something else.
    """
    run()
    after = [(tensor, tensor.copy()) for tensor in tensors if tensor.flags.writeable]
    with without_faults():
        found = measure(run, number, repeat, min_repeat_ms)
    for tensor, content in after:
        tensor[...] = content
    return found


def create(graph_json_str: Any, libmod: Any, device: Device = CPU, dump_root: Any = None) -> GraphModuleDebug:
    """A debug instance from the parts that ``graph, lib, params = relay.build(...)`` gave."""
    return GraphModuleDebug(create_instance(graph_json_str, libmod, device).module, device, graph_json_str, dump_root)
