"""`VirtualMachine`: runs an executable. The API follows `tvm.relax.VirtualMachine` v0.19.

machine = VirtualMachine(executable, CPU)
machine["main"](np.ones(3, "float32"))
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from baton._src.runtime.between_repetitions import Between
from baton._src.runtime.executable.executable import Executable
from baton._src.runtime.executable.late_constants import unbound_constants_error
from baton._src.runtime.module_face import opened_elsewhere
from baton._src.runtime.timing import BenchmarkResult, Profile, measure
from baton._src.runtime.value_checks import numbers_as_declared
from baton._src.runtime.value_errors import argument_count
from baton._src.runtime.value_info import FunctionValue, PrimScalar, TupleValue, ValueInfo
from baton._src.runtime.vm.engine import NO_OP, SKIP_RUN, Engine, Instrument, VMInstrumentReturnKind
from baton._src.runtime.vm.machine_module import MachineModule, check_present
from baton._src.support.diagnostics import fail
from baton._src.support.suggestions import did_you_mean
from baton._src.values.closure import Closure
from baton._src.values.convert import from_host, snapshot
from baton._src.values.device import CPU, Device
from baton._src.values.packed_func import PROCESS_FUNCTIONS, FunctionTable
from baton._src.values.shape import ShapeTuple

MEMORY_KINDS = ("naive", "pooled")


class VirtualMachine:
    """Functions of an executable by name: ``machine["main"](*args)``.

    `device` is a `Device` or a list of them (all CPU); `memory_cfg` is accepted as TVM's ("naive", "pooled", or one a
    device): memory is planned when compiling and pooled in any case. `functions` is the table that packed functions
    are looked up in (default: the process's).
    """

    NAIVE_ALLOCATOR = 1
    POOLED_ALLOCATOR = 2

    def __new__(cls, rt_mod: Any = None, *args: Any, **kwargs: Any) -> Any:
        return opened_elsewhere(rt_mod, "VirtualMachine", *args, **kwargs) or super().__new__(cls)

    def __init__(
        self,
        rt_mod: Executable,
        device: Device | Sequence[Device] = CPU,
        memory_cfg: object = None,
        profile: bool = False,
        functions: FunctionTable | None = None,
    ) -> None:
        rt_mod = getattr(rt_mod, "executable", rt_mod)  # of what `baton.compile` gives
        if not isinstance(rt_mod, Executable):
            raise fail("api", f"VirtualMachine takes an Executable, not a {type(rt_mod).__name__}", kind=TypeError)
        unbound = unbound_constants_error(rt_mod)
        if unbound is not None:
            raise unbound
        self.executable = rt_mod
        self.devices = _checked_devices(device)
        _check_memory(memory_cfg)
        self.engine = Engine(rt_mod, functions or PROCESS_FUNCTIONS)
        self._may_profile = profile
        self._inputs: dict[str, tuple[Any, ...]] = {}
        self._outputs: dict[str, Any] = {}
        self._saved: dict[str, Callable[[], Any]] = {}
        self._numeric: dict[str, bool] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The public function `name`, or one made by `save_function`. Errors: `function-missing`."""
        saved = self._saved.get(name)
        if saved is not None:
            return saved
        self.executable.entry(name)
        return partial(self._call, name)

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        values = self._arguments(name, args, kwargs)
        return self.engine.invoke(self.executable.function_index[name], values)

    def _arguments(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], value: Callable[[Any], Any] = from_host
    ) -> tuple[Any, ...]:
        """The arguments of a call in order, as run-time values; `value` makes one of what a caller gave."""
        entry = self.executable.entry(name)
        params = entry.params
        given = list(args)
        if kwargs:
            rest = params[len(args) :]
            known = f"it has: {', '.join(params)}"
            for unknown in sorted(set(kwargs) - set(rest)):
                help = did_you_mean(unknown, rest, known)
                raise fail("argument-unknown", f"{name} has no (further) argument {unknown!r}", help=help)
            for param in rest:
                if param not in kwargs:
                    raise fail("argument-missing", f"{name}: argument {param!r} is missing", help=known)
                if rest.count(param) > 1:
                    help = "give the arguments by position"
                    raise fail("argument-unknown", f"{name} has several arguments {param!r}", help=help)
                given.append(kwargs[param])
        if len(given) != len(params):
            argument_count(name, len(params), len(given), params)
        declared = entry.info.params if isinstance(entry.info, FunctionValue) else None
        if declared is None or not self._takes_numbers(name, declared):
            return tuple([value(a) for a in given])
        return tuple([numbers_as_declared(value(_number(a, d)), d) for a, d in zip(given, declared)])

    def _takes_numbers(self, name: str, declared: Sequence[ValueInfo]) -> bool:
        """Whether numbers are declared among the parameters of a function, or in tuples of them."""
        known = self._numeric.get(name)
        if known is None:
            known = self._numeric[name] = any(map(_holds_numbers, declared))
        return known

    def _kept_arguments(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of a later call: the caller may go on to fill its arrays with something else."""
        return self._arguments(name, args, kwargs, snapshot)

    def invoke_closure(self, closure: Closure, *args: Any) -> Any:
        """Call a closure that a function returned."""
        if not isinstance(closure, Closure):
            raise fail("api", f"invoke_closure takes a closure, not a {type(closure).__name__}")
        return closure(*args)

    # ---------------------------------------------------------------------------------- stateful calls

    def save_function(
        self, func_name: str, saved_name: str, *args: Any, include_return: bool = True, **kwargs: Any
    ) -> None:
        """Make ``machine[saved_name]()`` call `func_name` with these arguments (for measuring without conversions).

        A name saved before means the new call from here on. Errors (`vm-state`): the name of one of the program's
        functions, which would be called no more.
        """
        if saved_name in self.executable.function_index:
            raise fail(
                "vm-state", f"{saved_name} is a function of the program", help="save the call under another name"
            )
        values = self._kept_arguments(func_name, args, kwargs)
        number = self.executable.function_index[func_name]

        def run() -> Any:
            result = self.engine.invoke(number, values)
            return result if include_return else None

        self._saved[saved_name] = run

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Keep the arguments of the next `invoke_stateful(func_name)`; NumPy arrays as they are now."""
        self._inputs[func_name] = self._kept_arguments(func_name, args, kwargs)

    def invoke_stateful(self, func_name: str) -> None:
        """Run `func_name` on the inputs set before; its outputs are kept for `get_outputs`."""
        number = self.executable.function_index.get(self.executable.entry(func_name).name, -1)
        if func_name not in self._inputs:
            raise fail(
                "vm-state", f"no inputs are set for {func_name}", help=f"call set_input({func_name!r}, ...) first"
            )
        self._outputs[func_name] = self.engine.invoke(number, self._inputs[func_name])

    def get_outputs(self, func_name: str) -> Any:
        """What the last `invoke_stateful(func_name)` returned: a tensor or (nested) tuple."""
        if func_name not in self._outputs:
            self.executable.entry(func_name)
            raise fail("vm-state", f"{func_name} has no outputs yet", help=f"call invoke_stateful({func_name!r}) first")
        return self._outputs[func_name]

    def _output(self, func_name: str, *indices: int) -> Any:
        found = self.get_outputs(func_name)
        for index in indices:
            if not isinstance(found, tuple) or isinstance(found, ShapeTuple) or not 0 <= index < len(found):
                raise fail("vm-state", f"{func_name} has no output {list(indices)}")
            found = found[index]
        return found

    def _output_arity(self, func_name: str, *indices: int) -> int:
        """The number of fields of an output that is a tuple, -1 for any other."""
        found = self._output(func_name, *indices)
        return len(found) if isinstance(found, tuple) and not isinstance(found, ShapeTuple) else -1

    # ------------------------------------------------------------------------------ looking on, timing

    def set_instrument(self, instrument: Instrument | str) -> None:
        """Call `instrument(func, name, before_run, ret_value, *args)` before and after each builtin, packed function,
        kernel and native function that bytecode calls; returning 1 (SKIP_RUN) before a call skips it."""
        self.engine.instrument = (
            self.engine.functions.lookup(instrument).function if isinstance(instrument, str) else instrument
        )

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
        """A function that measures `func_name` on its arguments: seconds a run, for each repetition.

        `func_name`: a function of the program, one that `save_function` made, or one about the VM, as in
        `time_evaluator("invoke_stateful")("main")` after `set_input`. The other options are those of `Between`.
        """
        between = Between(cooldown_interval_ms, repeats_to_cooldown, f_preproc=f_preproc)
        function = self.module[func_name]
        index = self.executable.function_index.get(func_name)

        def evaluate(*args: Any) -> BenchmarkResult:
            if index is None:
                return measure(lambda: function(*args), number, repeat, min_repeat_ms, between.before(args))
            values = self._arguments(func_name, args, {})
            before = between.before(values)
            return measure(lambda: self.engine.invoke(index, values), number, repeat, min_repeat_ms, before)

        return evaluate

    def profile(self, func_name: str, *args: Any) -> Profile:
        """Run once and measure every kernel, builtin and packed function."""
        values = self._arguments(func_name, args, {})
        number = self.executable.function_index[func_name]
        self.engine.invoke(number, values)
        report = Profile(native=frozenset(self.executable.natives))
        engine = Engine(self.executable, self.engine.functions)
        engine.kernel_hook = report.kernel_hook
        engine.instrument = report.instrument
        begin = time.perf_counter()
        engine.invoke(number, values)
        report.total = time.perf_counter() - begin
        return report

    @property
    def module(self) -> MachineModule:
        """TVM's module functions by name, those of the program included."""
        functions: dict[str, Callable[..., Any]] = {
            "invoke_closure": self.invoke_closure,
            "save_function": self._save_function,
            "set_instrument": self.set_instrument,
            "profile": self.profile,
            "get_output_arity": self._output_arity,
            "get_output": self._output,
            "set_input": self.set_input,
            "invoke_stateful": self.invoke_stateful,
            **self.executable.descriptions,
        }
        return MachineModule(functions, self.__getitem__, self.time_evaluator, self.executable.imported_modules)

    def _save_function(self, func_name: str, saved_name: str, include_return: bool, *args: Any) -> None:
        self.save_function(func_name, saved_name, *args, include_return=include_return)


def _checked_devices(device: Device | Sequence[Device]) -> tuple[Device, ...]:
    devices = (device,) if isinstance(device, (Device, str)) else tuple(device)
    for one in devices:
        if not isinstance(one, Device):
            raise fail("api", f"{one!r} is not a device", help="e.g. baton.cpu()")
        check_present(one)
    return devices


def _number(given: Any, info: ValueInfo | None) -> Any:
    """NumPy's numbers are tensors of rank 0, except where a number is declared."""
    if isinstance(info, TupleValue) and type(given) in (tuple, list) and len(given) == len(info.fields):
        return tuple(map(_number, given, info.fields))
    return given.item() if isinstance(given, np.generic) and isinstance(info, PrimScalar) else given


def _holds_numbers(info: ValueInfo) -> bool:
    return isinstance(info, PrimScalar) or (isinstance(info, TupleValue) and any(map(_holds_numbers, info.fields)))


def _check_memory(config: object) -> None:
    kinds = config.values() if isinstance(config, dict) else [config]
    for kind in kinds:
        if kind is not None and kind not in MEMORY_KINDS:
            help = f"one of {', '.join(MEMORY_KINDS)}, or a dict of them"
            raise fail("api", f"unknown memory_cfg {kind!r}", help=help, kind=TypeError)


__all__ = ["NO_OP", "SKIP_RUN", "VMInstrumentReturnKind", "VirtualMachine"]
