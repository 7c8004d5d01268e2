"""Executables as text: statistics, bytecode, and the bytecode as a Python program for `ExecBuilder`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

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

Functions = Sequence[FunctionEntry]
_MOST_NAMES = 12
"""Listed in statistics."""


def bytecode_text(functions: Functions, instructions: Sequence[Instruction]) -> str:
    """Every bytecode function with its numbered instructions."""
    lines: list[str] = []
    for function in functions:
        if function.kind == "vm":
            lines.append(f"@{function.name}({', '.join(function.params)}):  # {function.registers} registers")
            for number in range(function.start, function.end):
                lines.append(f"  {number - function.start:>4}  {_as_text(instructions[number], functions)}")
        elif function.kind == "native":
            lines.append(f"@{function.name}({', '.join(function.params)}):  # native")
    return "\n".join(lines) + "\n"


def _as_text(instruction: Instruction, functions: Functions) -> str:
    match instruction:
        case Call(dst, function, args):
            target = "%void" if dst == VOID_REGISTER else f"%{dst}"
            shown = ", ".join(map(str, args))
            return f"{'Call':<5} {functions[function].name:<28} in: {shown:<24} dst: {target}"
        case Ret(result):
            return f"{'Ret':<5} %{result}"
        case Goto(offset):
            return f"{'Goto':<5} {offset:+d}"
        case If(condition, offset):
            return f"{'If':<5} %{condition} else {offset:+d}"


def bytecode_python(functions: Functions, instructions: Sequence[Instruction]) -> str:
    """The program that builds this bytecode through an `ExecBuilder` named `ib`."""
    lines = ["ib = ExecBuilder()"]
    for function in functions:
        if function.kind == "vm":
            lines.append(f'with ib.function("{function.name}", num_inputs={len(function.params)}):')
            found = instructions[function.start : function.end]
            lines += [f"    {_as_python(i, functions)}" for i in found]
    return "\n".join(lines) + "\n"


def _as_python(instruction: Instruction, functions: Functions) -> str:
    match instruction:
        case Call(dst, function, args):
            shown = ", ".join(_operand(a, functions) for a in args)
            target = "ib.void_arg()" if dst == VOID_REGISTER else f"ib.r({dst})"
            return f'ib.emit_call("{functions[function].name}", args=[{shown}], dst={target})'
        case Ret(result):
            return f"ib.emit_ret(ib.r({result}))"
        case Goto(offset):
            return f"ib.emit_goto({offset})"
        case If(condition, offset):
            return f"ib.emit_if(ib.r({condition}), {offset})"


def _operand(operand: Operand, functions: Functions) -> str:
    if operand.kind is OperandKind.REGISTER and operand.value in (VM_REGISTER, VOID_REGISTER):
        return "ib.vm_state()" if operand.value == VM_REGISTER else "ib.void_arg()"
    spelled: tuple[Callable[[int], str], ...] = (
        lambda v: f"ib.r({v})",
        lambda v: f"ib.imm({v})",
        lambda v: f"ib.c({v})",
        lambda v: f'ib.f("{functions[v].name}")',
    )
    return spelled[operand.kind](operand.value)


def statistics(functions: Functions, constants: Iterable[str], kernels: Iterable[str], sizes: tuple[int, int]) -> str:
    """Counts and names; `sizes` are the number of instructions and the bytes of object code."""
    tensors = list(constants)
    own = [f.name for f in functions if f.kind in ("vm", "native")]
    packed = [f.name for f in functions if f.kind == "packed"]
    compiled = list(kernels)
    return "\n".join(
        [
            "Executable statistics:",
            f"  constants (#{len(tensors)}): {_abbreviated(tensors)}",
            f"  functions (#{len(own)}): {_abbreviated(own)}",
            f"  kernels (#{len(compiled)}): {_abbreviated(compiled)}",
            f"  packed functions (#{len(packed)}): {_abbreviated(packed)}",
            f"  instructions: {sizes[0]}, object code: {sizes[1]} bytes",
        ]
    )


def _abbreviated(names: Sequence[str]) -> str:
    more = f", ... {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"[{', '.join(names[:_MOST_NAMES])}{more}]"
