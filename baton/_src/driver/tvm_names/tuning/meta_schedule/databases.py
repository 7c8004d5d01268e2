"""The kinds of databases: in memory, in two files of JSON lines, several as one, a schedule function."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from baton._src.driver.tvm_names.tuning.meta_schedule.database import Database, check_equality
from baton._src.driver.tvm_names.tuning.meta_schedule.records import TuningRecord, Workload
from baton._src.driver.tvm_names.tuning.workloads import module_key, normalized
from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.support.shared_lines import alone_with, append_line
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule

WORKLOADS = "database_workload.json"
RECORDS = "database_tuning_record.json"


class MemoryDatabase(Database):
    """Records of this process."""

    def __init__(self, module_equality: str = "structural") -> None:
        check_equality(module_equality)
        self._workloads: dict[str, Workload] = {}
        self._records: dict[str, list[TuningRecord]] = {}
        self._all: list[TuningRecord] = []

    def has_workload(self, mod: IRModule | PrimFunc) -> bool:
        return module_key(normalized(mod)) in self._workloads

    def commit_workload(self, mod: IRModule | PrimFunc) -> Workload:
        made = Workload(normalized(mod))
        return self._workloads.setdefault(made.key, made)

    def commit_tuning_record(self, record: TuningRecord) -> None:
        self._all.append(record)
        self._records.setdefault(record.workload.key, []).append(record)

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        if top_k < 0:
            raise fail("api", f"top_k must be 0 or more, got {top_k}", kind=ValueError)
        valid = [record for record in self._records.get(workload.key, []) if record.is_valid]
        return sorted(valid, key=lambda record: record.seconds)[:top_k]

    def get_all_tuning_records(self) -> list[TuningRecord]:
        return list(self._all)

    def __len__(self) -> int:
        return len(self._all)


class JSONDatabase(MemoryDatabase):
    """Records in two files, a line each: a workload `[key, text]`, a record `[number of the workload, record]`.

    What the files hold is read when the database is made; what is committed is appended at once. Several databases,
    of several processes, may append to the same files.
    """

    def __init__(
        self,
        path_workload: str | Path | None = None,
        path_tuning_record: str | Path | None = None,
        *,
        work_dir: str | Path | None = None,
        allow_missing: bool = True,
        module_equality: str = "structural",
    ) -> None:
        super().__init__(module_equality)
        self.path_workload = _path(path_workload, work_dir, WORKLOADS)
        self.path_tuning_record = _path(path_tuning_record, work_dir, RECORDS)
        self._lines: list[Workload] = []
        """The workloads of the file, line by line; a workload may have several."""
        self._numbers: dict[str, int] = {}
        self._read(allow_missing)

    def _read(self, allow_missing: bool) -> None:
        self._take_workloads(_lines(self.path_workload, allow_missing))

        def record(data: Any) -> TuningRecord:
            number, found = data
            if not 0 <= number < len(self._lines):
                raise LookupError(f"there is no workload {number}")
            return TuningRecord.from_json(found, self._lines[number])

        for line in _lines(self.path_tuning_record, allow_missing):
            super().commit_tuning_record(_read_line(self.path_tuning_record, line, record))

    def _take_workloads(self, lines: Sequence[str]) -> None:
        """The lines of the file behind those that are known."""
        for line in lines[len(self._lines) :]:
            workload = _read_line(self.path_workload, line, Workload.from_json)
            self._number(self._workloads.setdefault(workload.key, workload))

    def _number(self, workload: Workload) -> None:
        self._numbers.setdefault(workload.key, len(self._lines))
        self._lines.append(workload)

    def commit_workload(self, mod: IRModule | PrimFunc) -> Workload:
        workload = super().commit_workload(mod)
        if workload.key not in self._numbers:
            with alone_with(self.path_workload) as stream:
                # Records name workloads by their lines, and others may have added some.
                self._take_workloads(_split(self.path_workload, stream.read()))
                if workload.key not in self._numbers:
                    self._number(workload)
                    append_line(stream, _dumped(workload.as_json()))
        return workload

    def commit_tuning_record(self, record: TuningRecord) -> None:
        self.commit_workload(record.workload.mod)
        line = _dumped([self._numbers[record.workload.key], record.as_json()])
        with alone_with(self.path_tuning_record) as stream:
            append_line(stream, line)
        super().commit_tuning_record(record)


class UnionDatabase(Database):
    """Several databases: the fastest record of any of them."""

    def __init__(self, *databases: Database) -> None:
        self.databases = databases

    def query_tuning_record(self, mod: IRModule, target: Any, workload_name: str) -> TuningRecord | None:
        found = [database.query_tuning_record(mod, target, workload_name) for database in self.databases]
        return min((r for r in found if r is not None), key=lambda record: record.seconds, default=None)

    def has_workload(self, mod: IRModule) -> bool:
        return any(database.has_workload(mod) for database in self.databases)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        return list(chain.from_iterable(database.get_all_tuning_records() for database in self.databases))

    def __len__(self) -> int:
        return sum(len(database) for database in self.databases)


class OrderedUnionDatabase(UnionDatabase):
    """Several databases: the record of the first one that has any."""

    def query_tuning_record(self, mod: IRModule, target: Any, workload_name: str) -> TuningRecord | None:
        found = (database.query_tuning_record(mod, target, workload_name) for database in self.databases)
        return next((record for record in found if record is not None), None)


class ScheduleFnDatabase(Database):
    """A function that schedules the kernels it knows, and says whether it has."""

    def __init__(self, schedule_fn: Callable[[Schedule], bool], module_equality: str = "structural") -> None:
        check_equality(module_equality)
        self.schedule_fn = schedule_fn

    def query_tuning_record(self, mod: IRModule, target: Any, workload_name: str) -> TuningRecord | None:
        schedule = Schedule(normalized(mod))
        if not self.schedule_fn(schedule):
            return None
        return TuningRecord(schedule.trace, Workload(normalized(mod)), None, target)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        return []

    def __len__(self) -> int:
        return 0


Database.kinds |= {
    "json": JSONDatabase,
    "memory": MemoryDatabase,
    "union": UnionDatabase,
    "ordered_union": OrderedUnionDatabase,
    "schedule_fn": ScheduleFnDatabase,
}


def _path(given: str | Path | None, work_dir: str | Path | None, name: str) -> Path:
    """The file given, else `name` in the folder."""
    if given is not None:
        return Path(given)
    if work_dir is None:
        raise fail("api", "give work_dir, or the paths of both files", kind=ValueError)
    return Path(work_dir) / name


def _lines(path: Path, allow_missing: bool) -> list[str]:
    if not path.exists():
        if not allow_missing:
            raise fail("tuning-record", f"there is no file {path}", help="allow_missing=True begins a new one")
        return []
    return _split(path, path.read_bytes())


def _split(path: Path, content: bytes) -> list[str]:
    """The lines with something in them."""
    try:
        text = content.decode()
    except ValueError as error:
        raise fail("tuning-record", f"{path} is not a text: {error}") from error
    return [line for line in text.splitlines() if line.strip()]


def _read_line(path: Path, line: str, read: Callable[[Any], Any]) -> Any:
    try:
        return read(json.loads(line))
    except (ValueError, TypeError, LookupError, RecursionError, DiagnosticError) as error:
        help = "records are those that baton wrote; TVM's name kernels of its own"
        raise fail("tuning-record", f"{path}: a line is malformed: {error}", help=help) from error


def _dumped(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))
