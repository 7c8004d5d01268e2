"""`Engine`: the core of the virtual machine. Functions are prepared on first use; one loop runs bytecode.

Frames are explicit: nested calls of the program use no Python stack, and a tail call replaces its frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import partial
from typing import Any

from baton._src.runtime.executable.bytecode import VM_REGISTER, Operand, OperandKind
from baton._src.runtime.executable.executable import Executable
from baton._src.runtime.executable.function_entry import FunctionEntry
from baton._src.runtime.native.kernel_function import KernelFunction
from baton._src.runtime.native.library import NativeLibrary
from baton._src.runtime.native.native_function import NativeFunction
from baton._src.runtime.native.step_by_step import KernelHook
from baton._src.runtime.value_errors import argument_count, describe, mismatch
from baton._src.runtime.vm.builtins.table import BUILTINS
from baton._src.runtime.vm.machine_code import (
    CALL,
    FIELD,
    GOTO,
    HOST,
    IF,
    INVOKE,
    MOVE,
    RET,
    TAIL_CALL,
    Code,
    make_ready,
)
from baton._src.runtime.vm.packed_functions import packed_by
from baton._src.support.diagnostics import fail
from baton._src.values.closure import Closure
from baton._src.values.convert import from_host
from baton._src.values.packed_func import FunctionTable
from baton._src.values.tensor import NDArray

Instrument = Callable[..., Any]
"""`instrument(func, name, before_run, ret_value, *args)`; returning `SKIP_RUN` before a call skips it."""


class VMInstrumentReturnKind(IntEnum):
    """What an instrument returns before a call: run it, or skip it."""

    NO_OP = 0
    SKIP_RUN = 1


NO_OP, SKIP_RUN = VMInstrumentReturnKind.NO_OP, VMInstrumentReturnKind.SKIP_RUN


class Engine:
    """Runs the functions of one executable; packed functions come from `functions`."""

    def __init__(self, executable: Executable, functions: FunctionTable) -> None:
        self.executable = executable
        self.functions = functions
        self.instrument: Instrument | None = None
        self._kernel_hook: KernelHook | None = None
        self._names = [f.name for f in executable.functions]
        self._codes: dict[int, Code] = {}
        self._hosts: dict[int, Callable[..., Any]] = {}

    def __deepcopy__(self, memo: Any) -> Engine:
        """Another one for the same program; addresses of machine code are no values to copy."""
        made = memo[id(self)] = Engine(self.executable, self.functions)
        made.instrument, made.kernel_hook = self.instrument, self._kernel_hook
        return made

    @property
    def kernel_hook(self) -> KernelHook | None:
        """Called around each kernel of native functions; without a hook these run as a whole."""
        return self._kernel_hook

    @kernel_hook.setter
    def kernel_hook(self, hook: KernelHook | None) -> None:
        self._kernel_hook = hook
        self._hosts.clear()
        self._codes.clear()

    # --------------------------------------------------------------------------------------- functions

    def code(self, number: int) -> Code:
        """Bytecode function `number`, ready to run."""
        known = self._codes.get(number)
        if known is None:
            entry = self.executable.functions[number]
            known = Code(entry.name, entry.params, entry.registers)
            instructions = self.executable.instructions[entry.start : entry.end]
            make_ready(known, instructions, self._resolve, self._operand_value, self._names)
            self._codes[number] = known  # only now: Ctrl-C may have come meanwhile, or another thread
        return known

    def _resolve(self, number: int) -> tuple[int, Any]:
        entry = self.executable.functions[number]
        if entry.kind == "vm":
            return CALL, number
        if entry.name == "vm.builtin.invoke_closure":
            return INVOKE, None
        return HOST, self.host_function(number)

    def host_function(self, number: int) -> Callable[..., Any]:
        """Function `number` (native, kernel, builtin or packed) as a Python callable on run-time values."""
        known = self._hosts.get(number)
        if known is None:
            known = self._hosts[number] = self._make_host(self.executable.functions[number])
        return known

    def _make_host(self, entry: FunctionEntry) -> Callable[..., Any]:
        executable = self.executable
        if entry.kind == "native":
            plan = executable.natives[entry.name]
            library = self._library(entry.name)
            native = NativeFunction(plan, library.address(plan.symbol), executable.constants, library)
            return native if self._kernel_hook is None else partial(native, hook=self._kernel_hook)
        if entry.kind == "kernel":
            library = self._library(entry.name)
            return KernelFunction(executable.kernels[entry.name], library.address(entry.name), library)
        if entry.name in BUILTINS:
            return BUILTINS[entry.name]
        if entry.name in executable.attached:
            return executable.attached[entry.name]
        # A registered function may be replaced later on, and registered only after the program was loaded.
        return partial(self._call_registered, entry.name)

    def _library(self, name: str) -> NativeLibrary:
        library = self.executable.library
        if library is None:
            raise fail("executable-corrupt", f"{name} is native, but the executable has no object code")
        library.find_packed(packed_by(self.executable.attached))
        return library

    def _call_registered(self, name: str, *values: Any) -> Any:
        return self.functions.lookup(name)(*values)

    def function_value(self, number: int) -> Any:
        """Function `number` as a value."""
        entry = self.executable.functions[number]
        if entry.kind == "packed":
            return self.functions.lookup(entry.name)
        host = self.host_function(number) if entry.kind == "kernel" else None
        return Closure(entry.name, number, (), self._invoke_value, entry.info, host)

    def _invoke_value(self, closure: Closure, args: tuple[Any, ...]) -> Any:
        values = [from_host(a) for a in args]
        return self.invoke(closure.function, self._with_captured(closure, values))

    def _with_captured(self, closure: Closure, args: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments of a closure's function: those given, and those captured, of which a caller knows nothing."""
        entry = self.executable.functions[closure.function]
        own = len(entry.params) - len(closure.captured)
        if closure.captured and entry.params and len(args) != own:
            argument_count(entry.name, own, len(args), entry.params[:own])
        return (*args, *closure.captured)

    def _operand_value(self, operand: Operand) -> Any:
        match operand.kind:
            case OperandKind.IMMEDIATE:
                return operand.value
            case OperandKind.CONSTANT:
                return self.executable.constants[operand.value]
            case OperandKind.FUNCTION:
                return self.function_value(operand.value)
            case OperandKind.REGISTER:
                return self if operand.value == VM_REGISTER else None

    # ---------------------------------------------------------------------------------------- the loop

    def invoke(self, number: int, args: tuple[Any, ...]) -> Any:
        """Run function `number` on run-time values."""
        entry = self.executable.functions[number]
        if entry.kind != "vm":
            return self._host_call(entry.name, self.host_function(number), list(args))
        return self._run(number, args)

    def _run(self, number: int, args: tuple[Any, ...]) -> Any:
        """Run a bytecode function. One loop, since calls of Python's own would cost more than most instructions."""
        code = self.code(number)
        registers, instructions, position = _enter(code, args), code.instructions, 0
        frames: list[tuple[Code, list[Any], int, int]] = []  # of functions that wait for a call to return
        while True:
            ready = instructions[position]
            position += 1
            kind = ready[0]
            if kind == HOST:
                if self.instrument is None:
                    registers[ready[1]] = ready[3](*ready[4](registers))
                else:
                    registers[ready[1]] = self._host_call(ready[2], ready[3], list(ready[4](registers)))
            elif kind == IF:
                if not _is_true(registers[ready[1]]):
                    position = ready[2]
            elif kind == GOTO:
                position = ready[1]
            elif kind >= MOVE:
                value = registers[ready[5]]
                if self.instrument is not None:
                    value = self._host_call(ready[2], ready[3], [value, *ready[6:]])
                elif kind == FIELD:
                    known = type(value) is tuple and ready[6] < len(value)
                    value = value[ready[6]] if known else ready[3](value, ready[6])
                registers[ready[1]] = value
            elif kind == RET:
                result = registers[ready[1]]
                if not frames:
                    return result
                code, registers, position, dst = frames.pop()
                instructions = code.instructions
                registers[dst] = result
            else:  # a call: of a bytecode function, or of a function value
                values = ready[-1](registers)
                if kind in (CALL, TAIL_CALL):
                    callee = ready[2]
                else:
                    callee, values = self._callee(values)
                if callee is None:
                    registers[ready[1]] = values
                    continue
                if kind in (CALL, INVOKE):
                    frames.append((code, registers, position, ready[1]))
                code = self.code(callee)
                registers, instructions, position = _enter(code, values), code.instructions, 0

    def _callee(self, values: list[Any]) -> tuple[int | None, Any]:
        """The bytecode function of a function value, with its arguments; for any other function None and its result."""
        _machine, function, *args = values
        if isinstance(function, Closure) and function.invoke == self._invoke_value:
            whole = self._with_captured(function, args)
            if self.executable.functions[function.function].kind == "vm":
                return function.function, whole
            return None, self.invoke(function.function, whole)
        if not callable(function):
            raise mismatch("call", "a function", describe(function))
        return None, self._host_call(getattr(function, "name", "closure"), function, args)

    def _host_call(self, name: str, function: Callable[..., Any], values: list[Any]) -> Any:
        """Call a host function, with the instrument around it if there is one."""
        instrument = self.instrument
        if instrument is None:
            return function(*values)
        if instrument(function, name, True, None, *values) == SKIP_RUN:
            return None
        result = function(*values)
        instrument(function, name, False, result, *values)
        return result


def _enter(code: Code, args: Sequence[Any]) -> list[Any]:
    """A new frame."""
    if len(args) != len(code.params):
        argument_count(code.name, len(code.params), len(args), code.params)
    return [*args, *code.blank]


def _is_true(condition: Any) -> bool:
    if condition is True or condition is False:
        return condition
    if isinstance(condition, NDArray) and condition.data.ndim == 0:
        return bool(condition.data)
    if isinstance(condition, int):
        return bool(condition)
    return bool(BUILTINS["vm.builtin.read_if_cond"](condition))
