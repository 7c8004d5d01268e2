"""Bytecode prepared for running: operands resolved, calls classified by what they call, tail calls recognised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from operator import itemgetter
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
from baton._src.support.dataclass import dataclass

HOST, INVOKE, TAIL_INVOKE, CALL, TAIL_CALL, RET, GOTO, IF, MOVE, FIELD = range(10)
"""What a ready instruction does: a host function; a closure; a bytecode function; the rest as in `bytecode`.

MOVE and FIELD are host functions too, copies and projections: the loop does them itself while no instrument watches."""

Ready = tuple[Any, ...]
"""(HOST, dst, name, function, args) | (MOVE, dst, name, function, args, source) |
(FIELD, dst, name, function, args, source, index) | (INVOKE.., dst, args) | (CALL.., dst, code, args) | (RET, register)
| (GOTO, target) | (IF, register, target). `args` takes the arguments' tuple out of a frame: `args(registers)`."""


@dataclass
class Code:
    """A bytecode function ready to run. `pool` holds immediates, constants and function values.

    A frame is a list: the registers, one more for values nobody reads, and the pool from its end, so that operand ~i is
    pool entry i. `blank` is a new frame without its arguments.
    """

    name: str
    params: tuple[str, ...]
    registers: int
    instructions: list[Ready] = field(default_factory=list)
    pool: list[Any] = field(default_factory=list)
    blank: list[Any] = field(default_factory=list)


Resolve = Callable[[int], tuple[int, Any]]
"""Function number -> (HOST, callable), (INVOKE, None) or (CALL, Code)."""


def make_ready(
    code: Code,
    instructions: Sequence[Instruction],
    resolve: Resolve,
    value_of: Callable[[Operand], Any],
    names: list[str],
) -> None:
    """Fill `code` from its instructions. `value_of` gives the value of an operand that is no plain register."""
    pool_index: dict[Operand, int] = {}

    def operand(found: Operand) -> int:
        if found.kind is OperandKind.REGISTER and found.value not in (VM_REGISTER, VOID_REGISTER):
            return found.value
        index = pool_index.get(found)
        if index is None:
            index = pool_index[found] = len(code.pool)
            code.pool.append(value_of(found))
        return ~index

    for number, instruction in enumerate(instructions):
        match instruction:
            case Call(dst, function, args):
                ready = _call(instruction, resolve(function), [operand(a) for a in args], code, names)
                is_tail = _returns(instructions, number + 1, dst, names)
                code.instructions.append(_as_tail(ready) if is_tail else ready)
            case Ret(result):
                code.instructions.append((RET, result))
            case Goto(offset):
                code.instructions.append((GOTO, number + offset))
            case If(condition, offset):
                code.instructions.append((IF, condition, number + offset))
    code.blank = [None] * (code.registers - len(code.params) + 1) + code.pool[::-1]


def _taking(args: list[int]) -> Callable[[list[Any]], tuple[Any, ...]]:
    """The function that takes these operands from a frame; it runs at every instruction."""
    match args:
        case []:
            return lambda frame: ()
        case [only]:
            return lambda frame: (frame[only],)
        case _:
            return itemgetter(*args)


def _call(call: Call, target: tuple[int, Any], args: list[int], code: Code, names: list[str]) -> Ready:
    kind, function = target
    dst = code.registers if call.dst == VOID_REGISTER else call.dst
    if kind == INVOKE:
        return (INVOKE, dst, _taking(args))
    if kind == CALL:
        return (CALL, dst, function, _taking(args))
    name = names[call.function]
    if args and args[0] >= 0:
        if name == COPY:
            return (MOVE, dst, name, function, _taking(args), args[0])
        index = code.pool[~args[-1]] if len(args) == 2 and args[1] < 0 else None
        if name == PROJECTION and type(index) is int and index >= 0:
            return (FIELD, dst, name, function, _taking(args), args[0], index)
    return (HOST, dst, name, function, _taking(args))


def _as_tail(ready: Ready) -> Ready:
    if ready[0] == CALL:
        return (TAIL_CALL, *ready[1:])
    return (TAIL_INVOKE, *ready[1:]) if ready[0] == INVOKE else ready


COPY = "vm.builtin.identity"
PROJECTION = "vm.builtin.tuple_getitem"


def _returns(instructions: Sequence[Instruction], start: int, register: int, names: Sequence[str]) -> bool:
    """Whether what follows only returns `register` (through jumps and copies): then the call before is a tail call."""
    position = start
    for _ in range(len(instructions)):
        if position >= len(instructions):
            return False
        match instructions[position]:
            case Ret(result):
                return result == register
            case Goto(offset) if offset > 0:
                position += offset
            case Call(dst, function, (source,)) if names[function] == COPY and _is_register(source, register):
                register = dst
                position += 1
            case _:
                return False
    return False


def _is_register(operand: Operand, register: int) -> bool:
    return operand.kind is OperandKind.REGISTER and operand.value == register
