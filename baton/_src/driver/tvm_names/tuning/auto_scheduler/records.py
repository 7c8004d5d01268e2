"""Logs: a line of JSON for each measurement, and the fastest line of a workload."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from baton._src.driver.targets import chosen_target
from baton._src.ir.target import Target
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail

VERSION = "baton-1"


@dataclass(frozen=True)
class RecordedTask:
    """A task as recorded in a log."""

    workload_key: str
    target: Target


@dataclass(frozen=True)
class MeasureInput:
    """What was measured: the answers of `record` for a workload."""

    workload_key: str
    target: str
    record: dict[str, int]

    @property
    def task(self) -> RecordedTask:
        """The task that was measured, as far as logs name it."""
        return RecordedTask(self.workload_key, chosen_target(self.target))


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


Measured = tuple[MeasureInput, MeasureResult]


def save_records(filename: str | Path, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
    """Append measurements to a log."""
    path = Path(filename)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        for inp, result in zip(inputs, results):
            stream.write(dump_record_to_string(inp, result) + "\n")


def dump_record_to_string(inp: MeasureInput, res: MeasureResult) -> str:
    """A measurement as a line of a log."""
    data = {
        "i": [[inp.workload_key, inp.target], inp.record],
        "r": [res.costs, res.error_msg, res.timestamp],
        "v": VERSION,
    }
    return json.dumps(data)


def load_records(filename: str | Path) -> Iterator[Measured]:
    """The measurements of a log, in order. Error `auto-scheduler`: a line is none of baton's."""
    for line in Path(filename).read_text(encoding="utf-8", errors="replace").splitlines():
        if line.strip() and not line.startswith("#"):
            yield load_record_from_string(line)


class RecordReader:
    """The measurements of a log: by iteration, or some of its lines at a time."""

    def __init__(self, filename: str | Path) -> None:
        self.filename = filename

    def __iter__(self) -> Iterator[Measured]:
        return load_records(self.filename)

    def read_lines(
        self, max_lines: int | None = None, skip_lines: int = 0
    ) -> tuple[list[MeasureInput], list[MeasureResult]]:
        """The inputs and the results of `max_lines` measurements (without it, of all) after the first `skip_lines`."""
        end = None if max_lines is None else skip_lines + max_lines
        pairs = list(islice(self, skip_lines, end))
        return [inp for inp, _ in pairs], [result for _, result in pairs]


def load_record_from_string(record: str) -> Measured:
    """The measurement of a line of a log. Error `auto-scheduler`: it is none of baton's."""
    try:
        data = json.loads(record)
        if data["v"] != VERSION:
            raise ValueError("it belongs to another program or version")
        ((key, target), chosen), (costs, error, timestamp) = data["i"], data["r"]
        answers = {str(name): int(answer) for name, answer in chosen.items()}
        seconds = [float(cost) for cost in costs]
        return MeasureInput(str(key), str(target), answers), MeasureResult(seconds, str(error), float(timestamp))
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        help = "logs are those that RecordToFile of baton wrote"
        raise fail("auto-scheduler", f"a line of the log is malformed: {record[:60]!r}: {error}", help=help) from error


def fastest(pairs: Iterable[Measured]) -> dict[str, Measured]:
    """By workload its fastest measurement that could be run."""
    found: dict[str, Measured] = {}
    for inp, result in pairs:
        known = found.get(inp.workload_key)
        if not result.error_no and (known is None or result.mean < known[1].mean):
            found[inp.workload_key] = (inp, result)
    return found


def load_best_record(
    filename: str | Path,
    workload_key: str | None = None,
    target: Target | str | None = None,
    include_compatible: bool = False,
) -> Measured | tuple[None, None]:
    """The fastest measurement of a workload (or of any) on a target (or any); `(None, None)` if the log has none.

    `include_compatible` changes nothing: measurements of other sizes are never taken.
    """
    wanted = None if target is None else str(chosen_target(target))
    of_target = (pair for pair in load_records(filename) if wanted in (None, pair[0].target))
    found = [pair for key, pair in fastest(of_target).items() if workload_key in (None, key)]
    return min(found, key=lambda pair: pair[1].mean, default=(None, None))
