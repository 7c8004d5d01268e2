"""The database of schedules that a script has put in force, in place of what baton's own tuning remembers.

with database:                              a `BestKernels`
    executable = relax.build(module)        kernels that the database knows are compiled as it says
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from baton._src.tir.prim_func import PrimFunc


class BestKernels:
    """By kernel the best known way of computing it; its `with` block puts it in force. Blocks nest.

    What is open is not kept in the object: classes of scripts derive from it without calling a constructor.
    """

    def best(self, func: PrimFunc) -> PrimFunc | None:
        """The kernel with its loops chosen, or with answers to what rules leave open (`CHOICES`); None if unknown."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *caught: object) -> None:
        _entered.set(_entered.get()[:-1])


_entered: ContextVar[tuple[BestKernels | None, ...]] = ContextVar("best_kernels", default=())
"""The databases whose blocks are open, the innermost last; None where none is to be consulted."""


def best_kernels() -> BestKernels | None:
    """The database that is in force just now."""
    entered = _entered.get()
    return entered[-1] if entered else None


def entered_databases() -> tuple[BestKernels | None, ...]:
    """All databases whose blocks are open, the innermost first."""
    return _entered.get()[::-1]


@contextmanager
def without_best_kernels() -> Iterator[None]:
    """Consult no database within the `with` block."""
    entered = _entered.get()
    _entered.set((*entered, None))
    try:
        yield
    finally:
        _entered.set(entered)
