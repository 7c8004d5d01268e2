"""The part of a program's cache key that its tuning records are."""

from __future__ import annotations

from baton._src.driver.tuning_records.place import Place, consulted_database
from baton._src.ir.target import Target


def tuning_version(target: Target, threads: int | None = None) -> str:
    """A fingerprint of the records of a place in the consulted database; empty if there are none.

    SQLite is imported only if there is a database: programs that come from the cache start without it.
    """
    path = consulted_database()
    if path is None:
        return ""
    from baton._src.driver.tuning_records.database import Database

    return Database(path).version(Place.of(target, threads))
