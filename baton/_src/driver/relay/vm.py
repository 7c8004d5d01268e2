"""`relay.vm`: Relay with control flow, closures, ADTs and dynamic shapes, on the virtual machine of Relax."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from baton._src.driver.model.load import attach_operators
from baton._src.driver.relay.executable import as_relay_module, bind_known, build_executable, optimized
from baton._src.driver.targets import built_target
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.relay.nodes import Function
from baton._src.relay.running_values import to_value
from baton._src.runtime.between_repetitions import Between
from baton._src.runtime.executable import executable as runtime_executable
from baton._src.runtime.executable import export
from baton._src.runtime.executable.executable import load_executable
from baton._src.runtime.executable.late_constants import with_late_constants, without_large_constants
from baton._src.runtime.module_face import opened_elsewhere
from baton._src.runtime.param_dict import load_param_dict_from_file, save_param_dict_to_file
from baton._src.runtime.timing import BenchmarkResult, measure
from baton._src.runtime.vm.virtual_machine import VirtualMachine as RelaxMachine
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.convert import from_host, snapshot
from baton._src.values.device import CPU, Device
from baton._src.values.own_tensors import apart_from
from baton._src.values.tensor import NDArray


@dataclass(frozen=True)
class Executable:
    """A Relay module compiled for the virtual machine, or one loaded by `runtime.load_module`."""

    inner: runtime_executable.Executable
    params: dict[str, NDArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        inner = getattr(self.inner, "inner", getattr(self.inner, "executable", self.inner))
        if not isinstance(inner, runtime_executable.Executable):
            raise fail("api", f"there is no executable in a {type(inner).__name__}", kind=TypeError)
        object.__setattr__(self, "inner", inner)

    @property
    def lib(self) -> Executable:
        """What can be saved with `export_library` and run: this object (TVM's `mod` and `module`, too)."""
        return self

    mod = module = lib

    def get_source(self, fmt: str = "") -> str:
        """The kernels as text (`Executable.get_source` of the executable inside)."""
        return self.inner.get_source(fmt)

    @property
    def constants(self) -> str:
        """The constants by number, for people."""
        held = [c for c in self.inner.constants if isinstance(c, NDArray)]
        return "".join(f"VM Constant[{i}]: has shape {list(c.shape)}, {c.dtype}\n" for i, c in enumerate(held))

    @property
    def virtual_devices(self) -> str:
        """Where the program runs, for people."""
        return "VM VirtualDevice[0]: device type 1, id 0\n"

    @property
    def stats(self) -> str:
        """Counts and names, for people."""
        return self.inner.stats()

    @property
    def bytecode(self) -> str:
        """The bytecode, readable."""
        return self.inner.as_text()

    @property
    def primitive_ops(self) -> list[str]:
        """The kernels, in no particular order."""
        return sorted({s.kernel for p in self.inner.natives.values() for s in p.steps} | set(self.inner.kernels))

    @property
    def globals(self) -> list[str]:
        """The functions that can be called."""
        return [f.name for f in self.inner.functions if f.public]

    def get_function_params(self, func_name: str) -> list[str]:
        """The names of a function's parameters."""
        return list(self.inner.entry(func_name).params)

    def save(self, path: str | Path | None = None) -> tuple[bytearray, Executable]:
        """TVM's form gives (bytecode, library); with a path, everything is written to that file."""
        if path is not None:
            self.inner.save(path)
        return bytearray(self.inner.as_text().encode()), self

    def export_library(self, path: str | Path, *args: Any, **kwargs: Any) -> None:
        """Write everything to one file; `Executable.load` reads it. Further arguments are those of
        `export.export_library`."""
        export.export_library(self.inner.save, path, *args, **kwargs)

    def get_late_bound_consts(self, byte_limit: int) -> dict[str, NDArray]:
        """Take the constants of `byte_limit` bytes or more out of the executable: it runs when they are loaded again.
        Raises `DiagnosticError` (`late-constants`) if that was done before."""
        inner, taken = without_large_constants(self.inner, byte_limit)
        object.__setattr__(self, "inner", inner)
        return taken

    def move_late_bound_consts(self, path: str | Path, byte_limit: int) -> None:
        """Take the constants of `byte_limit` bytes or more out of the executable into a file of their own."""
        save_param_dict_to_file(self.get_late_bound_consts(byte_limit), str(path))

    def load_late_bound_consts(self, path: str | Path) -> None:
        """Load what `move_late_bound_consts` wrote."""
        self.load_late_bound_consts_from_map(load_param_dict_from_file(str(path)))

    def load_late_bound_consts_from_map(self, map: Mapping[str, Any]) -> None:
        """Load what `get_late_bound_consts` gave. Raises `DiagnosticError` (`late-constants`) if a constant is missing,
        unknown, or of another shape or dtype."""
        object.__setattr__(self, "inner", with_late_constants(self.inner, map))

    @staticmethod
    def load_exec(bytecode: Any, lib: Any = None) -> Executable:
        """The executable behind the two parts that `save()` gave, or saved at a path. Constants loaded into it later
        are its own. Raises `DiagnosticError` (`executable-corrupt`) for parts of two programs."""
        if lib is None:
            return Executable.load(bytecode)
        found = Executable(lib, lib.params if isinstance(lib, Executable) else {})
        if bytes(bytecode) != found.inner.as_text().encode():
            help = "give both parts of one save(), or load the library alone"
            raise fail("executable-corrupt", "the bytecode is not that of the library", help=help)
        return found

    @staticmethod
    def load(path: str | Path, *args: Any) -> Executable:
        """The executable saved at `path`."""
        return Executable(attach_operators(load_executable(path), Target("llvm")), {})


def compile(
    mod: IRModule | Function, target: Any = None, target_host: Any = None, params: Mapping[str, Any] | None = None
) -> Executable:
    """Compile a Relay module or function for the virtual machine, under the current `PassContext`.

    `target_host` is as `relay.build` has it.
    """
    wire()
    executable, bound = build_executable(as_relay_module(mod), built_target(target, target_host), params)
    return Executable(executable, bound)


class VMCompiler:
    """TVM's class for compiling in steps: `set_params`, `lower`, `codegen`, `get_exec`."""

    def __init__(self) -> None:
        self._params: dict[str, NDArray] = {}
        self._compiled: Executable | None = None

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Parameters of `main` to bind, by name."""
        self._params = {str(name): snapshot(value) for name, value in params.items()}

    def get_params(self) -> dict[str, NDArray]:
        """The parameters given; they are constants of the code after `lower`."""
        return dict(self._params)

    def optimize(
        self,
        mod: IRModule | Function,
        target: Any = None,
        target_host: Any = None,
        params: Mapping[str, Any] | None = None,
    ) -> tuple[IRModule, dict[str, NDArray]]:
        """The Relay module as it is lowered, its parameters bound, and those parameters. `target` is in force
        meanwhile; `target_host` is as `relay.build` has it."""
        wire()
        module, known = bind_known(as_relay_module(mod), {**self._params, **(params or {})})
        with built_target(target, target_host):
            return optimized(module), known

    def lower(self, mod: IRModule, target: Any = None, target_host: Any = None) -> None:
        """Compile the module."""
        self._compiled = compile(mod, target, target_host, self._params)

    def codegen(self) -> None:
        """Nothing is left to do after `lower`."""

    def get_exec(self) -> Executable:
        """The executable; `DiagnosticError` (`api`) before `lower`."""
        if self._compiled is None:
            raise fail("api", "nothing has been compiled yet", help="call lower(module, target) first")
        return self._compiled


def _argument(value: Any, tensor: Callable[[Any], Any] = from_host) -> Any:
    """A value as programs take it: Relay has no scalars but tensors of rank 0, and a list is a tuple."""
    if isinstance(value, (bool, int, float, np.generic)):
        return to_value(value)
    return tuple([_argument(v, tensor) for v in value]) if isinstance(value, (list, tuple)) else tensor(value)


def _kept_argument(value: Any) -> Any:
    """An argument of a later call: the caller may go on to fill its arrays with something else."""
    return _argument(value, snapshot)


class VirtualMachine:
    """Runs an executable. Methods follow `tvm.runtime.vm.VirtualMachine` v0.19."""

    NAIVE_ALLOCATOR = 1
    POOLED_ALLOCATOR = 2

    def __new__(cls, exe: Any = None, *args: Any, **kwargs: Any) -> Any:
        return opened_elsewhere(exe, "RelayMachine", *args, **kwargs) or super().__new__(cls)

    def __init__(self, exe: Any, device: Device = CPU, memory_cfg: Any = None) -> None:
        inner = getattr(exe, "inner", getattr(exe, "executable", exe))
        if not isinstance(inner, runtime_executable.Executable):
            raise fail("api", f"VirtualMachine takes an Executable, not a {type(exe).__name__}")
        self.machine = RelaxMachine(inner, device, memory_cfg)
        self._kept: dict[str, dict[str, Any]] = {}
        """The arguments that `set_input` and `set_one_input` were given, by function and name."""
        self._targets: dict[str, tuple[NDArray, ...]] = {}
        """The tensors that `set_outputs` was given, by function."""

    def invoke(self, func_name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a function; without arguments, with those of `set_input`. Results share no memory with arguments."""
        if not args and not kwargs and self.machine.executable.entry(func_name).params:
            self.invoke_stateful(func_name)
            return self._results(func_name)
        given, named = tuple(map(_argument, args)), {name: _argument(value) for name, value in kwargs.items()}
        return apart_from(self.machine[func_name](*given, **named), (*given, *named.values()))

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Call `main`."""
        return self.invoke("main", *args, **kwargs)

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Keep the arguments of the next call of `func_name`; NumPy arrays as they are now."""
        given, named = tuple(map(_kept_argument, args)), {n: _kept_argument(value) for n, value in kwargs.items()}
        params = self.machine.executable.entry(func_name).params
        self._kept[func_name] = {**dict(zip(params, given)), **named}
        self.machine.set_input(func_name, *given, **named)

    def set_one_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Keep one argument, given as (index or name, value) or as name=value; the others stay or are still to come."""
        params = self.machine.executable.entry(func_name).params
        pairs = dict(kwargs)
        if args:
            key, value = args
            if isinstance(key, int) and not 0 <= key < len(params):
                message = f"{func_name} has no argument number {key}"
                raise fail("argument-unknown", message, help=f"it has {len(params)}, from 0 on")
            pairs[params[key] if isinstance(key, int) else str(key)] = value
        for name in pairs:
            if name not in params:
                known = f"it has: {', '.join(params)}"
                raise fail("argument-unknown", f"{func_name} has no argument {name!r}", help=known)
        kept = self._kept.setdefault(func_name, {})
        kept.update({name: _kept_argument(value) for name, value in pairs.items()})
        if len(kept) == len(params):
            self.set_input(func_name, **kept)

    def invoke_stateful(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Run on the inputs kept; results by `get_outputs`."""
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        self.machine.invoke_stateful(func_name)
        if func_name in self._targets:
            self._write(func_name, self._targets.pop(func_name))

    def get_outputs(self, func_name: str = "main") -> list[Any]:
        """What the last `invoke_stateful` gave."""
        found = self._results(func_name)
        return list(found) if isinstance(found, tuple) else [found]

    def _results(self, func_name: str) -> Any:
        return apart_from(self.machine.get_outputs(func_name), tuple(self._kept.get(func_name, {}).values()))

    def invoke_with_outputs(self, func_name: str, input_args: Mapping[str, Any], output_args: Any) -> None:
        """Call a function on inputs by name, and write its results into the tensors given."""
        self.set_input(func_name, **input_args)
        self.machine.invoke_stateful(func_name)
        self._write(func_name, output_args)

    def set_outputs(self, func_name: str, *args: NDArray) -> None:
        """The tensors that the next `invoke_stateful` (or `invoke` without arguments) writes its results into."""
        self._targets[func_name] = args

    def _write(self, func_name: str, targets: Sequence[NDArray]) -> None:
        results = self.get_outputs(func_name)
        if len(results) != len(targets):
            raise fail("argument-count", f"{func_name} has {len(results)} results; {len(targets)} tensors given")
        for target, result in zip(targets, results):
            target.copyfrom(result)

    def get_input_index(self, input_name: str, func_name: str = "main") -> int:
        """The index of a parameter by name; -1 if there is none."""
        params = self.machine.executable.entry(func_name).params
        return params.index(input_name) if input_name in params else -1

    @property
    def module(self) -> VirtualMachine:
        """This machine, as a runtime module: functions by name."""
        return self

    def __getitem__(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] | None = getattr(self, name, None)
        if found is None or name.startswith("_"):
            raise fail("function-missing", f"the virtual machine has no function {name!r}", kind=AttributeError)
        return found

    def benchmark(
        self,
        device: Device = CPU,
        *args: Any,
        func_name: str = "main",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: int | None = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        **kwargs: Any,
    ) -> BenchmarkResult:
        """Seconds a run, on arguments by place or name, which stay set as by `set_input`; without any, on those that
        are. Handing them over copies nothing, so `end_to_end` is the same; the other options change nothing."""
        del limit_zero_time_iterations, end_to_end, cooldown_interval_ms, repeats_to_cooldown
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        kept = self._kept.get(func_name, {})
        given = [kept[name] for name in self.machine.executable.entry(func_name).params if name in kept]
        return self.machine.time_evaluator(func_name, device, number, repeat, min_repeat_ms or 0)(*given)

    def time_evaluator(
        self,
        func_name: str,
        dev: Device = CPU,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        """A function that measures one of the machine's own: `time_evaluator("invoke")("main")` after `set_input`. The
        last options are those of `Between`."""
        function = self[func_name]
        between = Between(cooldown_interval_ms, repeats_to_cooldown, f_preproc=f_preproc)
        return lambda *args: measure(lambda: function(*args), number, repeat, min_repeat_ms, between.before(args))
