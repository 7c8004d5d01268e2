"""Measuring: benchmark results and profiles, as numbers and as text."""

from __future__ import annotations

import csv
import io
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from baton._src.support.dataclass import dataclass
from baton._src.values.tensor import AnyArray


@dataclass(frozen=True)
class BenchmarkResult:
    """Seconds of each repetition (the mean of its runs)."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.results)

    @property
    def median(self) -> float:
        return statistics.median(self.results)

    @property
    def min(self) -> float:
        return min(self.results)

    @property
    def max(self) -> float:
        return max(self.results)

    @property
    def std(self) -> float:
        return statistics.pstdev(self.results)

    def __str__(self) -> str:
        head = "  ".join(f"{name + ' (ms)':>12}" for name in ("mean", "median", "max", "min", "std"))
        numbers = (self.mean, self.median, self.max, self.min, self.std)
        return f"Execution time summary:\n{head}\n" + "  ".join(f"{n * 1e3:>12.4f}" for n in numbers)


def measure(
    run: Callable[[], object],
    number: int = 10,
    repeat: int = 1,
    min_repeat_ms: int = 0,
    before: Callable[[int], object] = lambda repetition: None,
) -> BenchmarkResult:
    """Run `number` times in each of `repeat` repetitions, after one run that is not counted.

    `number` grows until a repetition takes `min_repeat_ms` milliseconds. `before` is called with the number of each.
    """
    run()
    results = []
    count = max(1, number)
    for repetition in range(max(1, repeat)):
        before(repetition)
        while True:
            begin = time.perf_counter()
            for _ in range(count):
                run()
            spent = time.perf_counter() - begin
            if spent * 1e3 >= min_repeat_ms:
                break
            growth = min_repeat_ms / 1e3 / spent if spent > 0 else 2.0
            count = max(count + 1, int(count * min(growth * 1.1, 10.0)))
        results.append(spent / count)
    return BenchmarkResult(tuple(results))


@dataclass(frozen=True, slots=True)
class Record:
    """One kernel or packed function of a profile."""

    name: str
    calls: int
    seconds: float
    shapes: str = ""
    """Shapes and dtypes of its tensors at the first call."""


@dataclass
class Profile:
    """Time by kernel, collected through `kernel_hook` and `instrument`."""

    total: float = 0.0
    native: frozenset[str] = frozenset()
    """Functions that are timed kernel by kernel, not as a whole."""
    _found: dict[str, list[Any]] = field(default_factory=dict)
    _begun: list[float] = field(default_factory=list)

    def kernel_hook(self, kernel: str, name: str, run: Callable[[], None], tensors: Sequence[AnyArray]) -> None:
        """Time one kernel of a native function."""
        begin = time.perf_counter()
        run()
        self._add(name or kernel, time.perf_counter() - begin, tensors)

    def instrument(self, function: Any, name: str, before: bool, result: Any, *args: Any) -> int:
        """Time one call of bytecode; native functions are timed kernel by kernel instead."""
        if before:
            self._begun.append(time.perf_counter())
            return 0
        seconds = time.perf_counter() - self._begun.pop()
        if name not in self.native:
            self._add(name, seconds, ())
        return 0

    def _add(self, name: str, seconds: float, tensors: Sequence[AnyArray]) -> None:
        known = self._found.get(name)
        if known is None:
            known = self._found[name] = [0, 0.0, ", ".join(f"{t.dtype}{list(t.shape)}" for t in tensors)]
        known[0] += 1
        known[1] += seconds

    @property
    def records(self) -> list[Record]:
        """The records, longest first."""
        found = [Record(name, calls, seconds, shapes) for name, (calls, seconds, shapes) in self._found.items()]
        return sorted(found, key=lambda r: -r.seconds)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """A row for each kernel: `Name`, `Count`, `Duration (us)`, `Percent`, `Argument Shapes`."""
        whole = sum(r.seconds for r in self.records) or 1.0
        return [
            {
                "Name": r.name,
                "Count": r.calls,
                "Duration (us)": r.seconds * 1e6,
                "Percent": r.seconds / whole * 100,
                "Argument Shapes": r.shapes,
            }
            for r in self.records
        ]

    @property
    def device_metrics(self) -> dict[str, dict[str, Any]]:
        """The metrics of the whole run."""
        return {"cpu0": {"Duration (us)": self.total * 1e6}}

    @property
    def configuration(self) -> dict[str, Any]:
        """Settings of the run that was profiled: there are none to tell."""
        return {}

    def csv(self) -> str:
        """The rows of `calls` as comma-separated values, after a header."""
        rows = self.calls
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]) if rows else ["Name"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def json(self) -> str:
        """`calls` and `device_metrics` as JSON."""
        return json.dumps(
            {"calls": self.calls, "device_metrics": self.device_metrics, "configuration": self.configuration}
        )

    @classmethod
    def from_json(cls, s: str) -> Profile:
        """The profile that `json` wrote."""
        given = json.loads(s)
        found = cls(total=given["device_metrics"]["cpu0"]["Duration (us)"] / 1e6)
        for row in given["calls"]:
            found._found[row["Name"]] = [row["Count"], row["Duration (us)"] / 1e6, row["Argument Shapes"]]
        return found

    def table(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """A table for people: name, calls, time, share. Calls of one kernel are always one row; without `sort`, in the
        order of their first calls."""
        found = self.records
        whole = sum(r.seconds for r in found) or 1.0
        if not sort:
            found = sorted(found, key=lambda r: list(self._found).index(r.name))
        width = max([4, *(len(r.name) for r in found)])
        lines = [f"{'name':<{width}}  {'calls':>6}  {'us':>12}  {'share':>6}  tensors"]
        for r in found:
            share = r.seconds / whole * 100
            lines.append(f"{r.name:<{width}}  {r.calls:>6}  {r.seconds * 1e6:>12.1f}  {share:>5.1f}%  {r.shapes}")
        if col_sums:
            lines.append(f"{'total':<{width}}  {'':>6}  {self.total * 1e6:>12.1f}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()
