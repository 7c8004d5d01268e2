"""Tunable choices of a schedule rule: each has a name, the rule's own default, and equally correct alternatives.

    rows = tuned("tile_rows", shape.rows, range(4, 15))

Without a tuning record the default is used: `tuned` returns its second argument. `using(Choices(record))` applies a
record while one kernel is scheduled; `offered` then lists the choices the rule made. A recorded answer is used only if
the rule offers it for this kernel now, so a record made by another version can never break a kernel.

The driver knows which record belongs to which kernel. `consulting(lookup)` sets the function that finds it, for
schedules and for the passes that prepare weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field

from baton._src.support.dataclass import dataclass
from baton._src.tir.prim_func import PrimFunc

Record = Mapping[str, int]
"""Recorded answers by the names of choices."""
Lookup = Callable[[str, PrimFunc, bool], Record]
"""Find the record of a kernel, given its name and its form before scheduling; empty if there is none. The last argument
says that a pass is asking that may still prepare the kernel's constant operands.
"""


@dataclass(frozen=True)
class Offer:
    """A choice that a rule offered: its name, default and candidates."""

    default: int
    candidates: tuple[int, ...]


@dataclass
class Choices:
    """The record in force, and the choices that rules offered while it was, in order."""

    record: Record = field(default_factory=dict)
    offered: dict[str, Offer] = field(default_factory=dict)


_in_force: ContextVar[Choices | None] = ContextVar("choices", default=None)
_consulted: ContextVar[Lookup | None] = ContextVar("lookup", default=None)


def tuned(name: str, default: int, candidates: Iterable[int]) -> int:
    """The answer to a choice: the record's if it is one of `candidates`, else `default`.

    A kernel may make the same choice several times; each gets the recorded answer if it is among its candidates.
    """
    choices = _in_force.get()
    if choices is None:
        return default
    every = tuple(dict.fromkeys((default, *candidates)))
    known = choices.offered.get(name)
    if known is not None:
        kept = tuple(dict.fromkeys((*known.candidates, *every)))
        choices.offered[name] = Offer(known.default, kept)
    elif len(every) > 1:
        choices.offered[name] = Offer(default, every)
    answer = choices.record.get(name, default)
    return answer if answer in every else default


@contextmanager
def using(choices: Choices) -> Iterator[Choices]:
    """Use the answers of `choices` within the `with` block."""
    token = _in_force.set(choices)
    try:
        yield choices
    finally:
        _in_force.reset(token)


@contextmanager
def consulting(lookup: Lookup) -> Iterator[None]:
    """Make `record_of` call `lookup` within the `with` block."""
    token = _consulted.set(lookup)
    try:
        yield
    finally:
        _consulted.reset(token)


def consulted() -> Lookup | None:
    """The lookups in force."""
    return _consulted.get()


def record_of(name: str, func: PrimFunc) -> Record:
    """The tuning record of a kernel, from the lookups in force; for passes that prepare its constant operands."""
    lookup = _consulted.get()
    return {} if lookup is None else lookup(name, func, True)
