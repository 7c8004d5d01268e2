"""Interleaved measurement: every runtime runs once per round, so that noise affects all of them alike."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

import numpy as np

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError
from baton._src.support.progress import report
from baton._src.tools.benchmark.footprint import Footprint, footprint
from baton._src.tools.benchmark.peers import PEERS
from baton._src.tools.benchmark.prepared import Feed, Prepared
from baton._src.values.tensor import AnyArray

MINIMUM_SECONDS = 0.01
"""One sample repeats the model until it has run at least this long: clocks are coarse, models may take microseconds."""

TOLERANCE = 1e-2
"""Outputs that differ by more are remarked on: bytes and half precision round to thousandths, faults are larger."""

SETTLE_SECONDS = 0.03
"""Between two runtimes: their thread pools spin on for a while after a run, on the cores the next one needs."""


@dataclass(slots=True)
class Measured:
    """One runtime on one model: seconds per run by round, and the largest relative difference of its outputs."""

    name: str
    version: str
    load_seconds: float
    samples: list[float] = field(default_factory=list)
    difference: float = 0.0
    footprint: Footprint | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.samples)


@dataclass(slots=True)
class Comparison:
    """All runtimes on one model with one thread count."""

    model: str
    threads: int
    runtimes: list[Measured]
    left_out: dict[str, str] = field(default_factory=dict)
    """Runtimes that cannot take the model, and why."""

    def reference(self) -> str:
        """The runtime with which the others' outputs are compared: the first peer."""
        return self.runtimes[min(1, len(self.runtimes) - 1)].name

    def disagreements(self) -> dict[str, float]:
        """Runtimes whose outputs differ from the first peer's by more than rounding."""
        return {r.name: r.difference for r in self.runtimes if r.difference > TOLERANCE}

    def ratio(self) -> float | None:
        """The best other runtime's median over ours: above 1 we are faster."""
        own = next((r for r in self.runtimes if r.name == "baton"), None)
        others = [r.median for r in self.runtimes if r.name != "baton"]
        return None if own is None or not others else min(others) / own.median


def compare(
    model: str,
    path: Path,
    feed: Feed,
    threads: int,
    runtimes: Sequence[str],
    seconds: float = 3.0,
    memory: bool = False,
) -> Comparison:
    """Measure `runtimes` on a model, about `seconds` for each of them, in rounds; outputs are checked against the first
    peer's. `memory` also loads the model in a process of its own for each of them."""
    prepared, left_out = _prepare(path, feed, threads, runtimes)
    expected = prepared[min(1, len(prepared) - 1)].run()
    measured = [Measured(p.name, p.version, p.seconds, difference=_difference(p.run(), expected)) for p in prepared]
    repeats = [_repeats(p) for p in prepared]
    rounds = _rounds(prepared, repeats, seconds)
    for number in range(rounds):
        report(f"measuring {model}, {threads} thread(s)", number, rounds)
        for one, result, count in zip(prepared, measured, repeats, strict=True):
            result.samples.append(_sample(one, count))
    report(f"measuring {model}, {threads} thread(s)", rounds, rounds)
    if memory:
        for result in measured:
            result.footprint = footprint(result.name, path, feed, threads)
    return Comparison(model, threads, measured, left_out)


def _prepare(path: Path, feed: Feed, threads: int, runtimes: Sequence[str]) -> tuple[list[Prepared], dict[str, str]]:
    """Every runtime loaded; peers that refuse the model are left out, baton may not."""
    prepared: list[Prepared] = []
    left_out: dict[str, str] = {}
    for name in runtimes:
        try:
            prepared.append(PEERS[name](path, feed, threads))
        except DiagnosticError as error:
            if name == "baton":
                raise
            first = error.diagnostics[0]
            left_out[name] = f"{first.message} ({first.help})" if first.help else first.message
        except Exception as error:  # what a peer raises is its own affair, and told as its reason
            if name == "baton":
                raise
            left_out[name] = " ".join(f"{type(error).__name__}: {error}".split())
    return prepared, left_out


def _sample(prepared: Prepared, repeats: int) -> float:
    """Seconds per run. Threads of the previous runtime may still spin, and this one's may sleep: there is a pause for
    the first, and as many warm-up runs as measured ones for the second.
    """
    time.sleep(SETTLE_SECONDS)
    for _ in range(repeats):
        prepared.run()
    start = time.perf_counter()
    for _ in range(repeats):
        prepared.run()
    return (time.perf_counter() - start) / repeats


def _repeats(prepared: Prepared) -> int:
    return max(1, int(MINIMUM_SECONDS / max(_sample(prepared, 3), 1e-7)))


def _rounds(prepared: Sequence[Prepared], repeats: Sequence[int], seconds: float) -> int:
    slowest = max(_sample(p, n) * n for p, n in zip(prepared, repeats, strict=True))
    return int(max(5, min(40, seconds / slowest)))


def _difference(found: Sequence[AnyArray], expected: Sequence[AnyArray]) -> float:
    """The largest difference relative to the largest number of each output; 0 or infinity if not numbers."""
    if len(found) != len(expected):
        return math.inf
    return max((_relative(np.asarray(a), np.asarray(b)) for a, b in zip(found, expected, strict=True)), default=0.0)


def _relative(found: AnyArray, expected: AnyArray) -> float:
    if found.shape != expected.shape:
        return math.inf
    if expected.dtype.kind in "OSU":
        return 0.0 if np.array_equal(found.astype(np.str_), expected.astype(np.str_)) else math.inf
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    left, right = found.astype(wide), expected.astype(wide)
    finite = np.isfinite(right)
    if not np.array_equal(left[~finite], right[~finite], equal_nan=True) or not np.isfinite(left[finite]).all():
        return math.inf
    left, right = left[finite], right[finite]
    return float(np.abs(left - right).max() / max(np.abs(right).max(), 1e-30)) if left.size else 0.0
