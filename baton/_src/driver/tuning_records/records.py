"""The records that compilation consults, and how they become part of the keys of its caches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field

from baton._src.driver.tuning_records.database import Database
from baton._src.driver.tuning_records.in_force import best_kernels
from baton._src.driver.tuning_records.place import Place, consulted_database
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import Lookup, Record, consulted, consulting
from baton._src.support.dataclass import dataclass
from baton._src.tir.kernel_digest import kernel_digest
from baton._src.tir.prim_func import CHOICES, PrimFunc


@dataclass(frozen=True)
class Tunings:
    """Records by kernel, for one place. Lookups are free if there are none."""

    records: Mapping[str, Record]
    _known: dict[PrimFunc, Record] = field(default_factory=dict, repr=False, compare=False)

    def of(self, name: str, func: PrimFunc, prepared: bool = False) -> Record:
        """The record of a kernel that is not scheduled yet."""
        if not self.records:
            return {}
        if func not in self._known:
            digest = kernel_digest(func)
            self._known[func] = {} if digest is None else self.records.get(digest.name, {})
        return self._known[func]


def tunings(target: Target, threads: int | None = None) -> Tunings:
    """What was found for `target` and so many threads; nothing where the setting `baton.tuning` is off."""
    path = consulted_database()
    if path is None:
        return Tunings({})
    entries = Database(path).entries(Place.of(target, threads))
    return Tunings({kernel: entry.record for kernel, entry in entries.items()})


def answers(target: Target, threads: int | None = None) -> Lookup:
    """Where compilation looks records up: the database in force, else what tuning has found."""
    found = best_kernels()
    if found is None:
        return tunings(target, threads).of

    def record(name: str, func: PrimFunc, prepared: bool) -> Record:
        best = found.best(func)
        return {} if best is None else best.attrs.get(CHOICES, {})

    return record


@contextmanager
def with_tunings(target: Target, threads: int | None = None) -> Iterator[None]:
    """Let schedules consult `answers(target, threads)`, unless somebody is consulted already: `compile`, or tuning."""
    if consulted() is not None:
        yield
        return
    with consulting(answers(target, threads)):
        yield


def record_text(record: Record) -> str:
    """A record in the key of a kernel's object; empty if there is nothing in it."""
    return repr(sorted(record.items())) if record else ""
