"""Tuning records by the path of their file, in place of the database that compilation consults by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from baton._src.driver.tuning_records.database import Database
from baton._src.driver.tuning_records.place import Place
from baton._src.driver.tuning_records.records import Tunings
from baton._src.driver.tvm_names.tvmc.errors import refuse
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import consulting

_SQLITE = b"SQLite format 3\0"
_MADE_BY = "tvmc.tune writes one; those of TVM's tuners say nothing about baton's kernels"


def check_records(path: str | Path) -> Path:
    """The path, if records of baton's are there. `TVMCException` otherwise."""
    found = Path(path)
    if not found.is_file():
        raise refuse(f"there is no file of tuning records {str(path)!r}", _MADE_BY)
    with found.open("rb") as stream:
        if stream.read(len(_SQLITE)) != _SQLITE:
            raise refuse(f"{str(path)!r} holds no tuning records of baton", _MADE_BY)
    return found


@contextmanager
def consulting_records(path: str | Path | None, target: Target) -> Iterator[None]:
    """Let kernels that are compiled in the block be scheduled as the records say; without a path, as always."""
    if not path:
        yield
        return
    entries = Database(check_records(path)).entries(Place.of(target))
    with consulting(Tunings({kernel: entry.record for kernel, entry in entries.items()}).of):
        yield
