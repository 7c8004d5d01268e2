"""The database of schedules that a script has put in force, in place of what baton's own tuning remembers.

with consulting_kernels(database):
    executable = relax.build(module)        kernels that the database knows are compiled as it says
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from baton._src.tir.prim_func import PrimFunc


class BestKernels(Protocol):
    """By kernel the best known way of computing it."""

    def best(self, func: PrimFunc) -> PrimFunc | None:
        """The kernel with its loops chosen, or with answers to what rules leave open (`CHOICES`); None if unknown."""

    def version(self) -> str:
        """Stands for all that it would answer, in the keys of whole programs."""


_in_force: ContextVar[BestKernels | None] = ContextVar("best_kernels", default=None)


def best_kernels() -> BestKernels | None:
    """The database that is in force just now."""
    return _in_force.get()


@contextmanager
def consulting_kernels(found: BestKernels | None) -> Iterator[None]:
    """Put a database in force within the `with` block (None: none)."""
    token = _in_force.set(found)
    try:
        yield
    finally:
        _in_force.reset(token)
