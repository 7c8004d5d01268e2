"""The database of tuning: one SQLite file that any number of processes may read and write at once.

A row says, for a kernel (its digest before scheduling), a target (a digest of all that schedules may ask of it) and a
number of threads (a `Place`), which choices were measurably better than the rules' own, and by how much.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from baton._src.driver.tuning_records.place import Place
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail

SPACE = 1
"""Raised when a choice's name comes to mean something else: older rows are then ignored."""
PATIENCE = 30.0
"""Seconds that a process waits for another one's transaction."""
_TABLE = """
create table if not exists choices (
    kernel text not null, target text not null, threads integer not null, space integer not null,
    record text not null, rule text not null, before real not null, after real not null, time real not null,
    primary key (kernel, target, threads, space)
) without rowid
"""
_QUESTION = "select kernel, record, rule, before, after from choices where target = ? and threads = ? and space = ?"


@dataclass(frozen=True)
class Entry:
    """A row: the choices, the rule that offered them, seconds of a call with the rule's own choices and with these."""

    record: Mapping[str, int]
    rule: str = ""
    before: float = 0.0
    after: float = 0.0


class Database:
    """The file at `path`. Every method is one transaction; errors of SQLite are `DiagnosticError` (`tuning-database`).

    Reading never creates the file, and needs no right to write: a tuned model may be shipped with its database.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def entries(self, place: Place) -> dict[str, Entry]:
        """All rows of a place, by kernel."""
        if not self._exists():
            return {}
        with self._told(), contextlib.closing(self._opened_to_read()) as connection:
            known = connection.execute("select 1 from sqlite_master where name = 'choices'").fetchall()
            rows = connection.execute(_QUESTION, (place.target, place.threads, SPACE)).fetchall() if known else []
            return {kernel: Entry(_read(record), rule, before, after) for kernel, record, rule, before, after in rows}

    def version(self, place: Place) -> str:
        """A fingerprint of all records of a place; empty if there are none."""
        found = [(kernel, sorted(entry.record.items())) for kernel, entry in sorted(self.entries(place).items())]
        return hashlib.sha256(repr(found).encode()).hexdigest() if found else ""

    def create(self) -> None:
        """Make the file, without rows, if it is not there."""
        with self._connection():
            pass

    def put(self, place: Place, kernel: str, entry: Entry) -> None:
        """Write a row, in place of what was there."""
        text = json.dumps(dict(entry.record), sort_keys=True)
        row = (kernel, place.target, place.threads, SPACE, text, entry.rule, entry.before, entry.after, time.time())
        with self._connection() as connection:
            connection.execute(f"insert or replace into choices values ({', '.join('?' * len(row))})", row)

    def remove(self, place: Place, kernel: str) -> None:
        """Delete a row, if it is there."""
        if self._exists():
            with self._connection() as connection:
                connection.execute(
                    "delete from choices where kernel = ? and target = ? and threads = ? and space = ?",
                    (kernel, place.target, place.threads, SPACE),
                )

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with self._told(), contextlib.closing(self._opened_to_write()) as connection:
            connection.execute("pragma journal_mode = wal")  # readers never wait
            connection.execute(_TABLE)
            with connection:
                yield connection

    def _exists(self) -> bool:
        with self._told():
            return self.path.exists()

    def _opened_to_write(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return sqlite3.connect(self.path, timeout=PATIENCE)

    def _opened_to_read(self) -> sqlite3.Connection:
        place = f"{self.path.absolute().as_uri()}?mode=ro"
        found = sqlite3.connect(place, uri=True, timeout=PATIENCE)
        try:
            found.execute("select 1 from sqlite_master")
        except sqlite3.DatabaseError as error:
            found.close()
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
            # Nobody can write to a file beside which no journal can be.
            found = sqlite3.connect(f"{place}&immutable=1", uri=True)
        return found

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of SQLite and of the system as those of the file."""
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            help = "delete the file, name another one in BATON_TUNING, or do without: BATON_TUNING=0"
            raise fail("tuning-database", f"{self.path}: {error}", help=help) from error


def _read(text: object) -> dict[str, int]:
    """The record that a column is. SQLite stores values of any type in it."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(v, int) for v in found.values()):
        raise ValueError(f"a record is malformed: {str(text)[:80]}")
    return found
