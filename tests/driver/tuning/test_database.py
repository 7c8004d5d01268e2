"""The database of tuning: what goes in comes out, several processes at once, damage and switches."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from baton._src.driver.tuning_records.database import SPACE, Database, Entry
from baton._src.driver.tuning_records.place import Place, consulted_database, database_path
from baton._src.driver.tuning_records.version import tuning_version
from baton._src.ir.target import Target
from baton._src.support.diagnostics import DiagnosticError

HERE = Place("this machine", 2)
WRITER = """
import sys
from pathlib import Path
from baton._src.driver.tuning_records.database import Database, Entry
from baton._src.driver.tuning_records.place import Place
database, place = Database(Path(sys.argv[1])), Place("this machine", 2)
for n in range(25):
    database.put(place, f"{sys.argv[2]} {n}", Entry({"n": n}, "rule", 2.0, 1.0))
    database.put(place, "shared", Entry({"n": n}))
    assert database.entries(place)["shared"].record
"""


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    """Guards the rows, and that places do not mix."""
    database = Database(tmp_path / "folder" / "tuning.sqlite")
    assert database.entries(HERE) == {}
    assert not database.path.exists()
    entry = Entry({"tile_rows": 6}, "matmul", 2e-3, 1e-3)
    database.put(HERE, "k", entry)
    database.put(Place("this machine", 1), "k", Entry({"tile_rows": 4}))
    assert database.entries(HERE) == {"k": entry}
    assert database.entries(Place("another", 2)) == {}
    database.put(HERE, "k", Entry({"tile_rows": 8}))
    assert database.entries(HERE)["k"].record == {"tile_rows": 8}
    database.remove(HERE, "k")
    assert database.entries(HERE) == {}


def test_reading_writes_nothing(tmp_path: Path) -> None:
    """A file in a folder that one may not write to could not be read: reading prepared it for writing."""
    empty = tmp_path / "empty.sqlite"
    empty.touch()
    assert Database(empty).entries(HERE) == {}
    assert empty.read_bytes() == b""
    database = Database(tmp_path / "tuning.sqlite")
    database.put(HERE, "k", Entry({"tile_rows": 6}))
    statement = "update choices set record = '[]'"
    with contextlib.closing(sqlite3.connect(database.path)) as connection, connection:
        connection.execute(statement)
    with pytest.raises(DiagnosticError, match="a record is malformed"):
        database.entries(HERE)


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    """Guards the file: nothing is lost and nobody fails where three processes write and read it together."""
    path = tmp_path / "tuning.sqlite"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, name]) for name in ("a", "b", "c")]
    assert [w.wait(timeout=120) for w in writers] == [0, 0, 0]
    assert len(Database(path).entries(HERE)) == 3 * 25 + 1


def test_a_damaged_file_is_a_diagnostic(tmp_path: Path) -> None:
    """Guards against silence, and against tracebacks of SQLite."""
    path = tmp_path / "tuning.sqlite"
    path.write_text("this is no database at all, and long enough to be looked at" * 30)
    with pytest.raises(DiagnosticError, match="tuning-database") as caught:
        Database(path).entries(HERE)
    assert "BATON_TUNING=0" in str(caught.value)


@pytest.mark.parametrize("record", [5, None, b"{}", "[" * 100_000])
def test_a_column_of_another_type_is_a_diagnostic(record: object, tmp_path: Path) -> None:
    """SQLite stores anything in a column of texts; what is no text was a traceback."""
    database = Database(tmp_path / "tuning.sqlite")
    table = "create table choices (kernel, target, threads, space, record, rule, before, after, time)"
    row = ("k", HERE.target, HERE.threads, SPACE, record, "", 1.0, 1.0, 0.0)
    with contextlib.closing(sqlite3.connect(database.path)) as connection, connection:
        connection.execute(table)
        connection.execute("insert into choices values (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    with pytest.raises(DiagnosticError, match="a record is malformed"):
        database.entries(HERE)


def test_places_where_no_file_can_be_are_diagnostics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name too long was a traceback of every compilation, a file in place of the folder one of writing."""
    long = Database(tmp_path / ("x" * 300))
    (tmp_path / "file").touch()
    below = Database(tmp_path / "file" / "tuning.sqlite")
    monkeypatch.setenv("BATON_TUNING", str(long.path))
    assert consulted_database() is None
    for call in (long.entries, lambda place: long.remove(place, "k"), lambda place: below.put(place, "k", Entry({}))):
        with pytest.raises(DiagnosticError, match="tuning-database"):
            call(HERE)


def test_the_version_follows_the_records_of_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the key of whole programs: it changes with what compilation would find, and only then."""
    path = tmp_path / "tuning.sqlite"
    monkeypatch.setenv("BATON_TUNING", str(path))
    target = Target("llvm")
    assert tuning_version(target) == ""
    Database(path).put(Place.of(target), "k", Entry({"n": 1}))
    first = tuning_version(target)
    Database(path).put(Place.of(target, 7), "k", Entry({"n": 1}))
    assert tuning_version(target) == first != ""
    assert tuning_version(Target("llvm -mcpu=haswell")) == ""
    Database(path).put(Place.of(target), "k", Entry({"n": 2}))
    assert tuning_version(target) != first
    monkeypatch.setenv("BATON_TUNING", "0")
    assert tuning_version(target) == ""


def test_where_the_database_is() -> None:
    """Guards the documented places."""
    assert database_path({"BATON_TUNING": "off"}) is None
    assert database_path({"BATON_TUNING": "/a/b.sqlite"}) == Path("/a/b.sqlite")
    assert database_path({"BATON_CACHE_DIR": "/c"}) == Path("/c/tuning.sqlite")
    assert database_path({"XDG_CACHE_HOME": "/x"}) == Path("/x/baton/tuning.sqlite")
    assert database_path({"HOME": "/h"}) == Path("/h/.cache/baton/tuning.sqlite")
