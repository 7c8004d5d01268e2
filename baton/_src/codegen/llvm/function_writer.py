"""What all functions of one kernel share, and what the parts that write statements need of the writer of one."""

from __future__ import annotations

from typing import Protocol

from baton._src.codegen.llvm.addressing.memory import MemoryAccess
from baton._src.codegen.llvm.text import FunctionText
from baton._src.codegen.llvm.types import memory_type
from baton._src.ir.expr import PrimExpr
from baton._src.tir import expr as tir


class KernelContext:
    """What all functions of one kernel share."""

    def __init__(
        self,
        name: str,
        features: frozenset[str],
        callees: dict[str, str],
        noalias: bool,
        shared: frozenset[tir.Var],
        checked: bool,
        raising: frozenset[str] = frozenset(),
    ) -> None:
        self.name = name
        self.features = features
        self.callees = callees
        """Linker names of the kernels that may be called, by symbol."""
        self.noalias = noalias
        self.shared = shared
        """Parameters that may alias nevertheless: a result and the operand it overwrites."""
        self.checked = checked
        self.raising = raising
        """The kernels, this one among them, that call packed functions, which may raise exceptions; empty if this one
        calls none, not through others either.
        """
        self.outlined = 0

    def is_apart(self, var: tir.Var) -> bool:
        """Whether the variable is a pointer to memory that no other pointer accesses while it is written."""
        return self.noalias and memory_type(var.dtype) == "ptr" and var not in self.shared


class FunctionWriter(Protocol):
    """Writes the statements of one function."""

    @property
    def context(self) -> KernelContext: ...

    @property
    def f(self) -> FunctionText: ...

    @property
    def e(self) -> MemoryAccess:
        """Writes its expressions."""
        ...

    @property
    def extents(self) -> dict[tir.Var, PrimExpr]:
        """Elements behind each pointer, where known (for checked builds)."""
        ...

    def leave(self) -> None:
        """Return from the function, releasing the memory that it holds."""
        ...
