"""The graph executor: `GraphModule` over an executable. The API follows `tvm.contrib.graph_executor` v0.19.

module = GraphModule(lib["default"](device))
module.set_input("data", array)
module.run()
result = module.get_output(0)
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, ClassVar

from baton._src.runtime.executable.executable import Executable
from baton._src.runtime.graph.given_inputs import as_input, input_spec, shared_tensor
from baton._src.runtime.module_face import opened_elsewhere
from baton._src.runtime.param_dict import load_param_dict
from baton._src.runtime.timed_module import TimedModule
from baton._src.runtime.timing import BenchmarkResult, measure
from baton._src.runtime.value_info import FunctionValue
from baton._src.runtime.vm.builtins.memory import copy as copied
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import fail
from baton._src.support.suggestions import did_you_mean
from baton._src.values.device import CPU, Device
from baton._src.values.tensor import NDArray, empty


class GraphRuntime(TimedModule):
    """Inputs and outputs of one instance of an executable's `main`; functions by name: ``runtime["run"]()``."""

    type_key: ClassVar[str] = "GraphExecutor"

    def __init__(self, executable: Executable, device: Device = CPU) -> None:
        self.executable = executable
        self.machine = VirtualMachine(executable, device)
        self.device = device
        signature = executable.facts.get("signatures", {}).get("main", {})
        inputs = zip(signature.get("inputs", ()), chain(_params(executable), repeat(None)))
        self.input_specs = [input_spec(name, dtype, dims, info) for (name, dtype, dims), info in inputs]
        self.output_specs: list[Any] = list(signature.get("outputs", ()))
        self.names = [spec.name for spec in self.input_specs]
        self.inputs: list[Any] = [None] * len(self.names)
        self.outputs: tuple[Any, ...] | None = None
        self.zero_copy_outputs: dict[int, NDArray] = {}
        """Tensors that runs write outputs to, whoever starts them."""
        self.bound = frozenset(executable.facts.get("bound", ()))

    def __deepcopy__(self, memo: Any) -> GraphRuntime:
        made = GraphRuntime(self.executable, self.device)
        made.inputs = [copied(value) for value in self.inputs]
        return made

    def __getitem__(self, name: str) -> Callable[..., Any]:
        module = GraphModule(self)
        known = ("set_input", "run", "get_output", "get_input", "get_num_inputs", "get_num_outputs", "load_params")
        if name in (*known, "get_input_index", "set_input_zero_copy", "set_output_zero_copy", "share_params"):
            found: Callable[..., Any] = getattr(module, name)
            return found
        if name == "get_input_info":
            return lambda: dict(zip(("shape", "dtype"), module.get_input_info()))
        raise fail("function-missing", f"the graph executor has no function {name!r}", kind=AttributeError)

    def index(self, key: Any) -> int:
        """The number of an input given by name or number."""
        if isinstance(key, str):
            if key in self.names:
                return self.names.index(key)
            hint = did_you_mean(key, self.names, self.listed())
            raise fail("input-unknown", f"the graph has no input {key!r}", help=hint)
        if not 0 <= int(key) < len(self.names):
            raise fail(
                "input-unknown",
                f"the graph has {len(self.names)} inputs, there is no number {key}",
                help=self.listed(),
            )
        return int(key)

    def listed(self) -> str:
        """The inputs, for messages."""
        return f"the inputs are: {', '.join(f'{i}: {n}' for i, n in enumerate(self.names)) or 'none'}"

    def run(self) -> None:
        """Run `main` on the inputs set before."""
        for name, value in zip(self.names, self.inputs):
            if value is None:
                raise fail("input-missing", f"input {name!r} is not set", help=f'set_input("{name}", ...) first')
        result = self.machine["main"](*self.inputs)
        self.outputs = tuple(tensors_in(result))

    def check_output(self, index: int) -> None:
        """Error `output-unknown`: there is no such number."""
        count = len(self.output_specs) if self.outputs is None else len(self.outputs)
        if not 0 <= index < count:
            raise fail(
                "output-unknown", f"the graph has {count} outputs, there is no number {index}", help="they count from 0"
            )

    def output(self, index: int) -> NDArray:
        """Output number `index` of the last run."""
        self.check_output(index)
        if self.outputs is None:
            raise fail("output-missing", "the graph has not run yet", help="call run() first")
        found: NDArray = self.outputs[index]
        return found


def _params(executable: Executable) -> Sequence[Any]:
    """The declared arguments of `main`, as far as the executable has them."""
    index = executable.function_index.get("main")
    info = None if index is None else executable.functions[index].info
    return (info.params or ()) if isinstance(info, FunctionValue) else ()


def tensors_in(value: Any) -> Iterator[NDArray]:
    """The tensors of nested tuples, in order: a graph has outputs, not tuples."""
    if not isinstance(value, tuple):
        yield value
        return
    for field in value:
        yield from tensors_in(field)


class GraphModule:
    """The methods of `tvm.contrib.graph_executor.GraphModule`."""

    def __new__(cls, module: Any = None, *args: Any, **kwargs: Any) -> Any:
        return opened_elsewhere(module, cls.__name__, *args, **kwargs) or super().__new__(cls)

    def __init__(self, module: GraphRuntime) -> None:
        if not isinstance(module, GraphRuntime):
            raise fail("api", "GraphModule takes what lib['default'](device) gives", help="lib = relay.build(...)")
        self.module = module

    def set_input(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Set an input by name or number, or several by name. Values are copied.

        Parameters that were bound when building are constants; giving them again (``set_input(**lib.get_params())``)
        changes nothing. Of several, those that the graph does not have are ignored, as in TVM, with a warning.
        """
        if key is not None:
            self._set(key, value, copy=True)
        self._set_named(params)

    def _set_named(self, params: Mapping[str, Any]) -> None:
        for name in self.module.names:
            if name in params:
                self._set(name, params[name], copy=True)
        unknown = [name for name in params if name not in self.module.names and name not in self.module.bound]
        if unknown:
            message = f"the graph has no input {', '.join(map(repr, unknown))}: ignored; {self.module.listed()}"
            warnings.warn(message, stacklevel=3)

    def set_input_zero_copy(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Like `set_input`, but later runs read the given memory itself."""
        if key is not None:
            self._set(key, value, copy=False)
        for name, content in params.items():
            self._set(name, content, copy=False)

    def set_output_zero_copy(self, key: Any, value: Any) -> None:
        """Later runs write output `key` into the given tensor, which has its shape and dtype."""
        index, target = self._output_index(key), shared_tensor(value, "output")
        self.module.check_output(index)
        if not target.data.flags.writeable:
            raise fail("tensor-read-only", "the tensor for an output may only be read", help="give a copy of it")
        name, dtype, dims = self.module.output_specs[index]
        fits = dims is None or (
            len(dims) == len(target.shape)
            and all(not isinstance(d, int) or d == given for d, given in zip(dims, target.shape))
        )
        if not fits or (dtype != "void" and target.dtype != dtype):
            message = f"output {name!r} is of shape {tuple(dims or ())} and {dtype}"
            raise fail("value-mismatch", f"{message}, the tensor of {target.shape} and {target.dtype}")
        self.module.zero_copy_outputs[index] = target

    def _set(self, key: Any, value: Any, copy: bool) -> None:
        index = self.module.index(key)
        self.module.inputs[index] = as_input(value, self.module.input_specs[index], copy)

    def run(self, **input_dict: Any) -> None:
        """Run the graph, after setting the inputs given."""
        if input_dict:
            self._set_named(input_dict)
        self.module.run()
        for index, target in self.module.zero_copy_outputs.items():
            target.copyfrom(self.module.output(index))

    def get_num_outputs(self) -> int:
        """How many outputs the graph has."""
        return len(self.module.output_specs)

    def get_num_inputs(self) -> int:
        """How many inputs the graph has (bound parameters do not count)."""
        return len(self.module.names)

    def get_input(self, index: Any, out: Any = None) -> Any:
        """An input that was set, by name or number; copied into `out` if given."""
        number = self.module.index(index)
        found = self.module.inputs[number]
        if found is None:
            found = self._blank(number)
        return found if out is None else found.copyto(out)

    def _blank(self, number: int) -> NDArray:
        name, dtype, dims, _ = self.module.input_specs[number]
        if dims is None or not all(isinstance(d, int) for d in dims):
            raise fail("input-missing", f"input {name!r} is not set, and its shape is not known")
        found = empty(tuple(dims), dtype)
        found.data[...] = 0
        self.module.inputs[number] = found
        return found

    def get_input_index(self, name: str) -> int:
        """The index of an input by name; -1 if there is none."""
        return self.module.names.index(name) if name in self.module.names else -1

    def get_input_name(self, index: int) -> str:
        """The name of an input, by its number."""
        return self.module.names[self.module.index(int(index))]

    def get_input_info(self) -> tuple[dict[str, tuple[Any, ...]], dict[str, Any]]:
        """Shapes and dtypes of the inputs by name; for a tuple, those of its fields."""
        specs = self.module.input_specs
        return {s.name: s.shapes for s in specs}, {s.name: s.dtypes for s in specs}

    def _output_index(self, key: Any) -> int:
        names = [str(s[0]) for s in self.module.output_specs]
        if isinstance(key, str):
            if key not in names:
                raise fail("output-unknown", f"the graph has no output {key!r}", help=f"it has: {', '.join(names)}")
            return names.index(key)
        return int(key)

    def get_output(self, index: Any, out: Any = None) -> NDArray:
        """Output number `index` of the last run; copied into `out` if given."""
        found = self.module.output(self._output_index(index))
        return found if out is None else found.copyto(out)

    def debug_get_output(self, node: int | str, out: Any = None) -> NDArray:
        """What `contrib.debugger.debug_executor` can do; raises `NotImplementedError`."""
        raise NotImplementedError("a graph executor keeps only the outputs: use contrib.debugger.debug_executor")

    def load_params(self, params_bytes: bytes | bytearray) -> None:
        """Set inputs from what `save_param_dict` wrote; bound parameters are left as they are."""
        self.set_input(**load_param_dict(params_bytes))

    def share_params(self, other: GraphModule, params_bytes: bytes | bytearray) -> None:
        """Take the inputs named in `params_bytes` from `other`, sharing memory."""
        for name in load_param_dict(params_bytes):
            if name not in self.module.bound:
                self._set(name, other.get_input(name), copy=False)

    def __getitem__(self, key: str) -> Callable[..., Any]:
        return self.module[key]

    def benchmark(
        self,
        device: Device = CPU,
        func_name: str = "run",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: int | None = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        **kwargs: Any,
    ) -> BenchmarkResult:
        """Seconds a run; with `end_to_end`, setting the inputs (`kwargs`) is measured too. Unset inputs are zeros while
        measuring.
        """
        if kwargs and not end_to_end:
            self.set_input(**kwargs)
        run = (lambda: self.run(**kwargs)) if end_to_end else self.module.run
        state = self.module
        unset = [k for k, name in enumerate(state.names) if state.inputs[k] is None and name not in kwargs]
        try:
            for k in unset:
                self._blank(k)
            return measure(run, number, repeat, min_repeat_ms or 0)
        finally:
            if unset:  # results of made-up inputs must not be taken for real ones
                state.outputs = None
            for k in unset:
                state.inputs[k] = None


def get_device(libmod: Any, device: Any) -> tuple[list[Device], int, list[int]]:
    """One device or several, checked: the devices, how many of them are remote (none), and their kinds and numbers.

    `libmod` does not matter. Error `device-unknown`: something is not a device.
    """
    del libmod
    found = [*device] if isinstance(device, (list, tuple)) else [device]
    wrong = next((one for one in found if not isinstance(one, Device)), None)
    if wrong is not None or not found:
        said = "no device is given" if wrong is None else f"{wrong!r} is not a device"
        raise fail("device-unknown", said, help="give a device or a list of them, e.g. baton.cpu()", kind=ValueError)
    return found, 0, [number for one in found for number in (one.device_type, one.device_id)]


def create(graph_json_str: Any, libmod: Any, device: Any = CPU) -> GraphModule:
    """An instance from the parts that ``graph, lib, params = relay.build(...)`` gave. The library already contains the
    graph; the text only has to be valid JSON.
    """
    if isinstance(graph_json_str, str):
        try:
            json.loads(graph_json_str)
        except ValueError as error:
            raise fail("api", f"the graph is not JSON text: {error}", help="lib.get_graph_json()") from error
    devices, _, _ = get_device(libmod, device)
    make = getattr(libmod, "create", None)
    if make is not None:
        return GraphModule(make(*devices))
    if isinstance(libmod, Executable):
        return GraphModule(GraphRuntime(libmod, devices[0]))
    raise fail("api", f"cannot make a graph executor from a {type(libmod).__name__}")
