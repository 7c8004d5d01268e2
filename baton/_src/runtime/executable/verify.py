"""Whether an executable's tables are consistent, so that a damaged one is refused instead of misbehaving."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
from baton._src.runtime.executable.function_entry import FunctionEntry
from baton._src.support.diagnostics import fail


def verify_executable(
    functions: Sequence[FunctionEntry],
    instructions: Sequence[Instruction],
    constants: int,
    natives: Mapping[str, Any],
    kernels: Mapping[str, Any],
) -> None:
    """Every index points at something, every jump stays inside its function. Errors: `executable-corrupt`."""
    names = [(f.name, f.kind == "packed") for f in functions]
    if len(set(names)) != len(names):
        raise _broken("two functions have one name")
    for function in functions:
        if function.kind == "native" and function.name not in natives:
            raise _broken(f"function {function.name} has no native plan")
        if function.kind == "kernel" and function.name not in kernels:
            raise _broken(f"kernel {function.name} has no signature")
        if function.kind == "vm":
            _verify_function(function, instructions, len(functions), constants)
    for plan in natives.values():
        for index in plan.constants:
            if not 0 <= index < constants:
                raise _broken(f"native function {plan.name} refers to constant {index} of {constants}")
        for count in plan.counts:
            if not (0 <= count.slot < len(plan.variables) and 0 <= count.output < len(plan.outputs) and count.at >= 0):
                raise _broken(f"native function {plan.name} counts what does not exist")


def _verify_function(
    function: FunctionEntry, instructions: Sequence[Instruction], functions: int, constants: int
) -> None:
    start, end, registers = function.start, function.end, function.registers
    if not 0 <= start < end <= len(instructions) or len(function.params) > registers:
        raise _broken(f"the table entry of {function.name} is damaged")
    if not isinstance(instructions[end - 1], (Ret, Goto)):
        raise _broken(f"{function.name} does not end in Ret or Goto")
    limits = {
        OperandKind.REGISTER: registers,
        OperandKind.CONSTANT: constants,
        OperandKind.FUNCTION: functions,
    }
    for number in range(start, end):
        match instructions[number]:
            case Call(dst, callee, args):
                fine = (dst == VOID_REGISTER or 0 <= dst < registers) and 0 <= callee < functions
                fine = fine and all(_operand_is_fine(a, limits) for a in args)
            case Ret(result):
                fine = 0 <= result < registers
            case Goto(offset):
                fine = start <= number + offset < end
            case If(condition, offset):
                fine = 0 <= condition < registers and start <= number + offset < end
        if not fine:
            raise _broken(f"instruction {number - start} of {function.name} refers to something that does not exist")


def _operand_is_fine(operand: Operand, limits: Mapping[OperandKind, int]) -> bool:
    if operand.kind is OperandKind.IMMEDIATE:
        return True
    if operand.kind is OperandKind.REGISTER and operand.value in (VOID_REGISTER, VM_REGISTER):
        return True
    return 0 <= operand.value < limits[operand.kind]


def _broken(message: str) -> Exception:
    return fail("executable-corrupt", f"the executable is damaged: {message}", help="compile the model again")
