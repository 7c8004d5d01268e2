"""`ExecBuilder`: bytecode, instruction by instruction. The API follows `tvm.relax.ExecBuilder` v0.19.

ib = ExecBuilder()
with ib.function("main", num_inputs=1):
    ib.emit_call("vm.builtin.copy", args=[ib.r(0)], dst=ib.r(1))
    ib.emit_ret(ib.r(1))
executable = ib.get()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import IntEnum
from typing import Any

import numpy as np

from baton._src.runtime.executable.bytecode import (
    VM_REGISTER,
    VOID_REGISTER,
    Call,
    Goto,
    If,
    Instruction,
    Operand,
    OperandKind,
    Ret,
)
from baton._src.runtime.executable.executable import Executable
from baton._src.runtime.executable.function_entry import FunctionEntry
from baton._src.runtime.value_info import ValueInfo
from baton._src.support.diagnostics import fail
from baton._src.values.convert import from_host
from baton._src.values.filled_tensor import plain
from baton._src.values.tensor import NDArray


class VMFuncKind(IntEnum):
    """Kinds of functions, as TVM numbers them."""

    PACKED_FUNC = 0
    VM_FUNC = 1


_KINDS = {VMFuncKind.PACKED_FUNC: "packed", VMFuncKind.VM_FUNC: "vm"}


class ExecBuilder:
    """Collects functions, constants and instructions; `get()` gives the executable."""

    def __init__(self) -> None:
        self._functions: list[FunctionEntry] = []
        self._index: dict[str, int] = {}
        self._packed: dict[str, int] = {}
        """Packed functions that have the name of another function."""
        self._constants: list[Any] = []
        self._constant_keys: dict[Any, int] = {}
        self._instructions: list[Instruction] = []
        self._current: int | None = None
        self._written: set[int] = set()
        self._highest = -1

    # ---------------------------------------------------------------------------------------- operands

    def r(self, idx: int) -> Operand:
        """Register `idx`."""
        return Operand(OperandKind.REGISTER, idx)

    def imm(self, value: int) -> Operand:
        """An immediate integer (56 bits, signed)."""
        return Operand(OperandKind.IMMEDIATE, value)

    def c(self, idx: int) -> Operand:
        """Constant `idx`."""
        return Operand(OperandKind.CONSTANT, idx)

    def f(self, name: str) -> Operand:
        """The function `name`, as a value."""
        return Operand(OperandKind.FUNCTION, self.function_number(name))

    def packed(self, name: str) -> Operand:
        """The packed function `name`, which is another one than the program's function of that name."""
        if name not in self._packed:
            self._packed[name] = len(self._functions)
            self._functions.append(FunctionEntry("packed", name))
        return Operand(OperandKind.FUNCTION, self._packed[name])

    def void_arg(self) -> Operand:
        """The destination of results that are not used."""
        return Operand(OperandKind.REGISTER, VOID_REGISTER)

    def vm_state(self) -> Operand:
        """The VM itself."""
        return Operand(OperandKind.REGISTER, VM_REGISTER)

    def convert_constant(self, arg: Any) -> Operand:
        """The operand of a constant holding `arg` (a tensor, shape, string, dtype, number, None or tuple of such)."""
        known = arg if isinstance(arg, NDArray) else from_host(arg)  # not waiting for one that is filled meanwhile
        key = _constant_key(known)
        index = self._constant_keys.get(key)
        if index is None:
            index = len(self._constants)
            self._constants.append(known)
            self._constant_keys[key] = index
        return self.c(index)

    # --------------------------------------------------------------------------------------- functions

    def function_number(self, name: str) -> int:
        """The index of `name` in the function table; an unknown name becomes a packed function's."""
        if name not in self._index:
            self.add_function(FunctionEntry("packed", name))
        return self._index[name]

    def add_function(self, entry: FunctionEntry) -> int:
        """Add a row (native functions, kernels), or complete a declared one; returns its index."""
        known = self._index.get(entry.name)
        if known is None:
            self._index[entry.name] = known = len(self._functions)
            self._functions.append(entry)
        else:
            self._functions[known] = entry
        return known

    def declare_function(self, func_name: str, kind: str | int = VMFuncKind.PACKED_FUNC) -> None:
        """Declare a function that is defined later, so that code may call it; `kind`: a word or a `VMFuncKind`."""
        if func_name not in self._index:
            self.add_function(FunctionEntry(kind if isinstance(kind, str) else _KINDS[VMFuncKind(kind)], func_name))

    def check_func_exists(self, func_name: str) -> bool:
        """Whether a function of this name is declared, defined or called."""
        return func_name in self._index

    @contextmanager
    def function(
        self,
        func_name: str,
        num_inputs: int | None = 0,
        param_names: Sequence[str] | None = None,
        public: bool = True,
        info: ValueInfo | None = None,
    ) -> Iterator[None]:
        """Everything emitted inside belongs to function `func_name`; its arguments are registers 0, 1, ..."""
        name, num_inputs = func_name, num_inputs or 0
        if self._current is not None:
            raise fail("vm-builder", "functions cannot be nested", help="end the other `with function(...)` first")
        defined = self._index.get(name)
        if defined is not None and self._functions[defined].end:
            raise fail("vm-builder", f"function {name!r} is defined twice")
        params = tuple(param_names or [f"arg{i}" for i in range(num_inputs)])
        if len(params) != num_inputs:
            raise fail("vm-builder", f"{name} has {num_inputs} inputs, {len(params)} names are given")
        entry = FunctionEntry("vm", name, params, start=len(self._instructions), public=public, info=info)
        self._current = self.add_function(entry)
        self._written = set(range(num_inputs))
        self._highest = num_inputs - 1
        try:
            yield
        finally:
            number, self._current = self._current, None
        self._finish(number, name)

    def _finish(self, number: int, name: str) -> None:
        entry = self._functions[number]
        end = len(self._instructions)
        for place in range(entry.start, end):
            match self._instructions[place]:
                case Goto(offset) | If(_, offset) if not entry.start <= place + offset < end:
                    message = f"instruction {place - entry.start} of {name!r} jumps by {offset}, out of the function"
                    raise fail("vm-builder", message, help=f"it has instructions 0 to {end - entry.start - 1}")
                case _:
                    pass
        if end == entry.start or not isinstance(self._instructions[-1], (Ret, Goto)):
            raise fail("vm-builder", f"function {name!r} does not end in emit_ret")
        self._functions[number] = replace(entry, registers=self._highest + 1, end=end)

    # ------------------------------------------------------------------------------------ instructions

    def emit_call(self, name: str | Operand, args: Sequence[Any] | None = None, dst: Operand | None = None) -> None:
        """dst = name(args). Arguments are operands, or values that become constants."""
        self._inside("emit_call")
        operands = tuple(a if isinstance(a, Operand) else self.convert_constant(a) for a in args or ())
        for operand in operands:
            self._reads(operand)
        if isinstance(name, Operand) and name.kind is not OperandKind.FUNCTION:
            help = "call a function value by vm.builtin.invoke_closure, with ib.vm_state() and the value in front"
            raise fail("vm-builder", f"emit_call takes a function's name or ib.f(name), not {name}", help=help)
        function = self.function_number(name) if isinstance(name, str) else name.value
        target = VOID_REGISTER if dst is None else _register(dst, "dst")
        self._instructions.append(Call(target, function, operands))
        self._writes(target)

    def emit_ret(self, result: Operand) -> None:
        """Return a register's value."""
        self._inside("emit_ret")
        self._instructions.append(Ret(self._read_register(result, "emit_ret")))

    def emit_goto(self, pc_offset: int) -> None:
        """Jump `pc_offset` instructions, relative to this one."""
        self._inside("emit_goto")
        self._instructions.append(Goto(pc_offset))

    def emit_if(self, cond: Operand, false_offset: int) -> None:
        """Continue with the next instruction if the register holds a true scalar, else jump `false_offset`."""
        self._inside("emit_if")
        self._instructions.append(If(self._read_register(cond, "emit_if"), false_offset))

    @property
    def position(self) -> int:
        """The number of the next instruction."""
        return len(self._instructions)

    def patch(self, position: int, instruction: Instruction) -> None:
        """Replace the instruction at `position`: jumps whose target is known only later."""
        self._instructions[position] = instruction

    def _inside(self, what: str) -> None:
        if self._current is None:
            raise fail("vm-builder", f"{what} outside a function", help="use `with builder.function(name, num_inputs)`")

    def _writes(self, register: int) -> None:
        if register != VOID_REGISTER:
            self._written.add(register)
            self._highest = max(self._highest, register)

    def _read_register(self, operand: Operand, what: str) -> int:
        if operand.value == VOID_REGISTER:
            raise fail("vm-builder", f"{what} takes a register with a value, which {operand} never has")
        self._reads(operand)
        return _register(operand, what)

    def _reads(self, operand: Operand) -> None:
        if operand.kind is not OperandKind.REGISTER or operand.value in (VOID_REGISTER, VM_REGISTER):
            return
        if operand.value not in self._written:
            raise fail("vm-builder", f"register {operand.value} is read before anything is written to it")

    # -------------------------------------------------------------------------------------------- end

    def get(self, **parts: Any) -> Executable:
        """The executable; `parts` are its further fields (native plans, kernels, object code, text, facts)."""
        undefined = [f.name for f in self._functions if f.kind == "vm" and not f.end]
        if undefined:
            raise fail("vm-builder", f"declared but never defined: {', '.join(undefined)}")
        constants = tuple(map(plain, self._constants))
        return Executable(tuple(self._functions), tuple(self._instructions), constants, **parts)

    def constant_index(self, value: Any) -> int:
        """The index of the constant `value`, as `convert_constant` does."""
        return self.convert_constant(value).value


def _register(operand: Operand, what: str) -> int:
    """The number of a register that a value can be in, or of none."""
    fits = operand.kind is OperandKind.REGISTER and operand.value >= 0 and operand.value != VM_REGISTER
    if not fits:
        help = 'a constant gets into one by emit_call("vm.builtin.copy", [constant], dst=ib.r(n))'
        raise fail("vm-builder", f"{what} takes a register, such as ib.r(0), not {operand}", help=help)
    return operand.value


def _constant_key(value: Any) -> Any:
    """Constants are shared by identity when they are tensors, by class and content when they are small. Numbers that
    compare as equal may be of different dtypes, or zeros of different signs.
    """
    if isinstance(value, (NDArray, np.ndarray)):
        return id(value)
    if isinstance(value, tuple):
        return type(value), tuple(map(_constant_key, value))
    if isinstance(value, (int, float)):
        return type(value), repr(value)
    try:
        hash(value)
    except TypeError:
        return id(value)
    return type(value), value
