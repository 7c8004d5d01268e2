"""The table of words that a native entry takes: expressions for the addresses and the integers in it.

    inputs | outputs | the arena, if there is one | integers | constants

One word each (see `runtime.native.native_plan`).
"""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.ir.expr import PrimExpr
from baton._src.lower.relax_to_vm.entry_sizes import EntrySizes
from baton._src.support.diagnostics import InternalError
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.builders.extern_calls import ptr_add
from baton._src.tir.expr import BufferLoad, Cast, Var, literal
from baton._src.tir.operators import is_const
from baton._src.tir.stmt import LetStmt, Stmt
from baton._src.values.dtype import HANDLE, INT64


class EntryWords:
    """Where each word is; `slots` are the shape variables among the integers, with their numbers.

    `counted` are those of them that kernels count, with the output and the element of it where they are found.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        has_arena: bool,
        slots: Mapping[Var, int],
        constants: int,
        counted: Mapping[Var, tuple[int, int]],
    ) -> None:
        tensors = inputs + outputs
        integers = tensors + has_arena
        first_constant = integers + len(slots)
        words = max(first_constant + constants, 1)
        self.table = Var("words", HANDLE)
        self._has_arena = has_arena
        self._pointers = decl_buffer((words,), HANDLE, "pointers", data=self.table)
        self._integers = decl_buffer((words,), INT64, "integers", data=self.table)
        self._starts = {
            "input": 0,
            "output": inputs,
            "arena": tensors,
            "constant": first_constant,
        }
        self._counts = {number: Var(f"counts_{number}", HANDLE) for number, _ in counted.values()}
        self._sizes = EntrySizes(
            {v: self._load(v, integers + i) for v, i in slots.items()},
            {var: self._count(number, at) for var, (number, at) in counted.items()},
        )

    def _load(self, var: Var, index: int) -> PrimExpr:
        word = BufferLoad(self._integers, (literal(index, INT64),))
        return word if var.dtype == INT64 else Cast(var.dtype, word)

    def _count(self, number: int, at: int) -> PrimExpr:
        buffer = decl_buffer((at + 1,), INT64, "counts", data=self._counts[number])
        return BufferLoad(buffer, (literal(at, INT64),))

    def with_definitions(self, body: Stmt) -> Stmt:
        """`body`, in which the sizes and the addresses of counts are known."""
        for number, address in self._counts.items():
            body = LetStmt(address, self.address("output", number), body)
        return self._sizes.around(body)

    def address(self, space: str, at: int | PrimExpr) -> PrimExpr:
        """The address of a tensor."""
        if space != "arena":
            if not isinstance(at, int):
                raise InternalError(f"place {space} has no number")
            return BufferLoad(self._pointers, (literal(self._starts[space] + at, INT64),))
        if not self._has_arena:
            return self.table  # nothing in the arena has elements, so its address is never used
        base = BufferLoad(self._pointers, (literal(self._starts["arena"], INT64),))
        offset = literal(at, INT64) if isinstance(at, int) else self._sizes.value(at)
        if is_const(offset, 0):
            return base
        return ptr_add(base, offset)

    def integer(self, expr: PrimExpr) -> PrimExpr:
        """A scalar argument."""
        return self._sizes.value(expr)
