"""Logs of tuning: a line of JSON for each measurement, in the form of TVM's (version 0.2)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from baton._src.driver.targets import chosen_target
from baton._src.driver.tvm_names.tuning.autotvm.config import ConfigEntity
from baton._src.driver.tvm_names.tuning.autotvm.measure import MeasureInput, MeasureResult
from baton._src.driver.tvm_names.tuning.autotvm.task import Task
from baton._src.support.diagnostics import DiagnosticError, fail

VERSION = 0.2
FAILED = 1e9
"""Seconds of what could not be measured, in logs."""
_API = "0.19.0"


def encode(inp: MeasureInput, result: MeasureResult, protocol: str = "json") -> str:
    """A measurement as a line."""
    if protocol != "json":
        raise fail("api", f"logs are written as json, not {protocol!r}")
    name, *args = inp.task.workload
    data = {
        "input": [str(inp.target), name, args],
        "config": inp.config.to_json_dict(),
        "result": [
            [FAILED] if result.error_no else list(result.costs),
            int(result.error_no),
            result.all_cost,
            result.timestamp,
        ],
        "version": VERSION,
        "tvm_version": _API,
    }
    return json.dumps(data)


def decode(row: str, protocol: str = "json") -> tuple[MeasureInput, MeasureResult]:
    """The inverse of `encode`. Error `autotvm-record`: the line is none of it."""
    if protocol != "json":
        raise fail("api", f"logs are read as json, not {protocol!r}")
    try:
        data = json.loads(row)
        target, name, args, *_ = data["input"]
        task = Task(str(name), tuple(_as_tuples(arg) for arg in args), chosen_target(target))
        config = ConfigEntity.from_json_dict(data["config"])
        costs, error_no, all_cost, timestamp = data["result"]
        # What failed may say why in place of seconds.
        seconds = tuple(costs) if error_no else tuple(float(cost) for cost in costs)
        if not seconds:
            raise ValueError("it has no times")
        result = MeasureResult(seconds, int(error_no), float(all_cost), float(timestamp))
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, DiagnosticError) as error:
        raise fail("autotvm-record", f"a line of the log is malformed: {row[:60]!r}: {error}") from error
    return MeasureInput(task.target, task, config), result


def _as_tuples(arg: Any) -> Any:
    return tuple(_as_tuples(item) for item in arg) if isinstance(arg, list) else arg


def measure_str_key(inp: MeasureInput, include_config: bool = True) -> str:
    """A measurement's key as text: target, task, and with `include_config` the configuration."""
    config = str(inp.config) if include_config else ""
    return f"{inp.target}{inp.task.name}{inp.task.args}{config}"


def load_from_file(filepath: str | Path) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """The measurements of a log, in order; lines that begin with # are none."""
    with Path(filepath).open(encoding="utf-8", errors="replace") as stream:
        yield from load_from_buffer(stream)


def load_from_buffer(file: Iterable[str]) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """`load_from_file` of a log that is open for reading."""
    for line in file:
        if line.strip() and not line.startswith("#"):
            yield decode(line)


def split_workload(in_file: str | Path, clean: bool = True) -> None:
    """A log for each workload of a log: `in_file.000.wkl` and so on; with `clean`, each configuration only once."""
    found: dict[str, dict[str, str]] = {}
    for number, (inp, result) in enumerate(load_from_file(in_file)):
        key = measure_str_key(inp) if clean else str(number)
        found.setdefault(measure_str_key(inp, False), {}).setdefault(key, encode(inp, result))
    for number, lines in enumerate(found.values()):
        Path(f"{in_file}.{number:03d}.wkl").write_text("\n".join([*lines.values(), ""]), encoding="utf-8")


def fastest(records: Iterable[tuple[MeasureInput, MeasureResult]]) -> list[tuple[MeasureInput, MeasureResult]]:
    """The fastest measurement of each workload."""
    found: dict[tuple[Any, ...], tuple[MeasureInput, MeasureResult]] = {}
    for inp, result in records:
        known = found.get(inp.task.workload)
        if result.error_no == 0 and (known is None or result.mean < known[1].mean):
            found[inp.task.workload] = (inp, result)
    return list(found.values())


def pick_best(in_file: str | Path, out_file: Any) -> None:
    """Write the fastest measurement of each workload of one log to another, given by its path or open for writing."""
    text = "".join(encode(*pair) + "\n" for pair in fastest(load_from_file(in_file)))
    if hasattr(out_file, "write"):
        out_file.write(text)
    else:
        Path(out_file).write_text(text, encoding="utf-8")
