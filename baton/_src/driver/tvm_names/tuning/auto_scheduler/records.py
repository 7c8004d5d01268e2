"""Logs: a line of JSON for each measurement, and the fastest line of a workload."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from baton._src.lower.kernel_schedules.choices import Record
from baton._src.support.diagnostics import fail

VERSION = "baton-1"


@dataclass(frozen=True)
class MeasureInput:
    """What was measured: the answers of `record` for a workload."""

    workload_key: str
    target: str
    record: dict[str, int]


@dataclass(frozen=True)
class MeasureResult:
    """Seconds of a call, repetition by repetition; or why there are none."""

    costs: list[float]
    error_msg: str = ""
    timestamp: float = 0.0

    @property
    def error_no(self) -> int:
        """0 if it could be run."""
        return int(bool(self.error_msg) or not self.costs)

    @property
    def mean(self) -> float:
        """The mean seconds; infinite where nothing was measured."""
        return math.inf if self.error_no else statistics.fmean(self.costs)


def save_records(filename: str | Path, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
    """Append measurements to a log."""
    path = Path(filename)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        for asked, result in zip(inputs, results):
            data = {
                "i": [[asked.workload_key, asked.target], asked.record],
                "r": [result.costs, result.error_msg, result.timestamp],
                "v": VERSION,
            }
            stream.write(json.dumps(data) + "\n")


def load_records(filename: str | Path) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """The measurements of a log, in order. Error `auto-scheduler`: a line is none of baton's."""
    for line in Path(filename).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield _read(line)


def _read(line: str) -> tuple[MeasureInput, MeasureResult]:
    try:
        data = json.loads(line)
        if data["v"] != VERSION:
            raise ValueError("it is of another program or version")
        ((key, target), record), (costs, error, timestamp) = data["i"], data["r"]
        answers = {str(name): int(answer) for name, answer in record.items()}
        return MeasureInput(str(key), str(target), answers), MeasureResult(list(costs), str(error), float(timestamp))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        help = "logs are those that RecordToFile of baton wrote"
        raise fail("auto-scheduler", f"a line of the log is malformed: {line[:60]!r}: {error}", help=help) from error


def fastest(
    pairs: Iterable[tuple[MeasureInput, MeasureResult]],
) -> dict[str, tuple[MeasureInput, MeasureResult]]:
    """By workload its fastest measurement."""
    found: dict[str, tuple[MeasureInput, MeasureResult]] = {}
    for asked, result in pairs:
        known = found.get(asked.workload_key)
        if not result.error_no and (known is None or result.mean < known[1].mean):
            found[asked.workload_key] = (asked, result)
    return found


def load_best_record(filename: str | Path, workload_key: str | None = None, target: Any = None) -> Any:
    """The fastest measurement of a workload (or of any), as a pair; `(None, None)` if the log has none."""
    every = fastest(load_records(filename))
    asked = [pair for key, pair in every.items() if workload_key in (None, key)]
    return min(asked, key=lambda pair: pair[1].mean, default=(None, None))


def best_record(filename: str | Path, workload_key: str) -> Record | None:
    """The answers of the fastest measurement of a workload; None if the log has none."""
    asked, _ = load_best_record(filename, workload_key)
    return None if asked is None else asked.record
