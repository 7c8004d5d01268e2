"""The instructions of the virtual machine: Call, Ret, Goto, If over registers, immediates, constants and functions.

Encoded, an instruction is a run of 64-bit words. An operand is one word: the top 8 bits say its kind, the low 56 bits
hold a signed number. Source: relax-ops-passes-vm facts, section 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail


class Opcode(IntEnum):
    """What an instruction does."""

    CALL = 1
    RET = 2
    GOTO = 3
    IF = 4


class OperandKind(IntEnum):
    """Where an operand's value is."""

    REGISTER = 0
    IMMEDIATE = 1
    CONSTANT = 2
    FUNCTION = 3


VOID_REGISTER = 1 << 54
"""The destination of results that are not used."""
VM_REGISTER = VOID_REGISTER + 1
"""The VM itself, as an argument of builtins."""


class SpecialReg(IntEnum):
    """Special registers outside of the frame, by TVM's names."""

    VOID_ARG = VOID_REGISTER
    VM_STATE = VM_REGISTER


_MASK = (1 << 56) - 1
_SIGN = 1 << 55


@dataclass(frozen=True, slots=True)
class Operand:
    """A register, an immediate integer, or the index of a constant or function."""

    kind: OperandKind
    value: int

    def encode(self) -> int:
        """The operand as a signed 64-bit word."""
        if not -_SIGN <= self.value < _SIGN:
            raise fail("vm-immediate", f"{self.value} does not fit an operand of 56 bits")
        return (self.kind << 56) | (self.value & _MASK)

    @staticmethod
    def decode(word: int) -> Operand:
        value = word & _MASK
        kind = word >> 56
        if kind not in (0, 1, 2, 3):
            raise fail("executable-corrupt", f"operand {word:#x} is of unknown kind {kind}")
        return Operand(OperandKind(kind), value - (1 << 56) if value & _SIGN else value)

    def __str__(self) -> str:
        if self.kind is OperandKind.REGISTER:
            if self.value == VM_REGISTER:
                return "%vm"
            return "%void" if self.value == VOID_REGISTER else f"%{self.value}"
        return {1: "i{}", 2: "c[{}]", 3: "f[{}]"}[int(self.kind)].format(self.value)


@dataclass(frozen=True, slots=True)
class Call:
    """dst = functions[function](args)"""

    dst: int
    function: int
    args: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Ret:
    """Leave the function with the value of a register."""

    result: int


@dataclass(frozen=True, slots=True)
class Goto:
    """Jump `offset` instructions, relative to this one."""

    offset: int


@dataclass(frozen=True, slots=True)
class If:
    """Continue with the next instruction if the register holds a true scalar, else jump `false_offset`."""

    condition: int
    false_offset: int


Instruction = Call | Ret | Goto | If


def encode(instructions: Sequence[Instruction]) -> tuple[list[int], list[int]]:
    """The words of all instructions, and where each starts."""
    words: list[int] = []
    offsets: list[int] = []
    for instruction in instructions:
        offsets.append(len(words))
        match instruction:
            case Call(dst, function, args):
                words += (Opcode.CALL, dst, function, len(args), *[a.encode() for a in args])
            case Ret(result):
                words += (Opcode.RET, result)
            case Goto(offset):
                words += (Opcode.GOTO, offset)
            case If(condition, offset):
                words += (Opcode.IF, condition, offset)
    return words, offsets


def decode(words: Sequence[int]) -> Iterator[Instruction]:
    """The instructions in `words`; `DiagnosticError` (`executable-corrupt`) if they are malformed."""
    position = 0
    try:
        while position < len(words):
            opcode = words[position]
            if opcode == Opcode.CALL:
                count = words[position + 3]
                stop = position + 4 + count
                if count < 0 or stop > len(words):
                    raise IndexError
                args = tuple(Operand.decode(w) for w in words[position + 4 : stop])
                yield Call(words[position + 1], words[position + 2], args)
                position = stop
            elif opcode == Opcode.RET:
                yield Ret(words[position + 1])
                position += 2
            elif opcode == Opcode.GOTO:
                yield Goto(words[position + 1])
                position += 2
            elif opcode == Opcode.IF:
                yield If(words[position + 1], words[position + 2])
                position += 3
            else:
                raise fail("executable-corrupt", f"unknown opcode {opcode} at word {position}")
    except IndexError:
        raise fail("executable-corrupt", f"the bytecode ends within an instruction at word {position}") from None
