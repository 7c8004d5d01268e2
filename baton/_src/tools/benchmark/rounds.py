"""Interleaved measurement: every runtime once a round, so that a noisy machine is noisy for all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from baton._src.support.progress import report
from baton._src.tools.benchmark.peers import PEERS, Feed, Prepared
from baton._src.values.tensor import AnyArray

MINIMUM_SECONDS = 0.01
"""One sample repeats the model until it has run at least this long: clocks are coarse, models may take microseconds."""


@dataclass(slots=True)
class Measured:
    """One runtime on one model: seconds a run by round, and the largest relative difference of its outputs."""

    name: str
    version: str
    load_seconds: float
    samples: list[float] = field(default_factory=list)
    difference: float = 0.0

    @property
    def median(self) -> float:
        return statistics.median(self.samples)


@dataclass(slots=True)
class Comparison:
    """All runtimes on one model with one thread count."""

    model: str
    threads: int
    runtimes: list[Measured]

    def ratio(self) -> float | None:
        """The best other runtime's median over ours: above 1 we are faster."""
        own = next((r for r in self.runtimes if r.name == "baton"), None)
        others = [r.median for r in self.runtimes if r.name != "baton"]
        return None if own is None or not others else min(others) / own.median


def compare(
    model: str, path: Path, feed: Feed, threads: int, runtimes: Sequence[str], seconds: float = 3.0
) -> Comparison:
    """Measure `runtimes` on a model, about `seconds` for each of them, in rounds."""
    prepared = [PEERS[name](path, feed, threads) for name in runtimes]
    expected = prepared[-1].run()
    measured = [Measured(p.name, p.version, p.seconds, difference=_difference(p.run(), expected)) for p in prepared]
    repeats = [_repeats(p) for p in prepared]
    rounds = _rounds(prepared, repeats, seconds)
    for number in range(rounds):
        report(f"measuring {model}, {threads} thread(s)", number, rounds)
        for one, result, count in zip(prepared, measured, repeats, strict=True):
            result.samples.append(_sample(one, count))
    report(f"measuring {model}, {threads} thread(s)", rounds, rounds)
    return Comparison(model, threads, measured)


def _sample(prepared: Prepared, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        prepared.run()
    return (time.perf_counter() - start) / repeats


def _repeats(prepared: Prepared) -> int:
    return max(1, int(MINIMUM_SECONDS / max(_sample(prepared, 3), 1e-7)))


def _rounds(prepared: Sequence[Prepared], repeats: Sequence[int], seconds: float) -> int:
    slowest = max(_sample(p, n) * n for p, n in zip(prepared, repeats, strict=True))
    return max(5, min(300, int(seconds / slowest)))


def _difference(found: Sequence[AnyArray], expected: Sequence[AnyArray]) -> float:
    """The largest difference relative to the largest value of each output."""
    worst = 0.0
    for a, b in zip(found, expected, strict=True):
        left, right = np.asarray(a, np.float64), np.asarray(b, np.float64)
        if left.shape != right.shape:
            return float("inf")
        if left.size:
            worst = max(worst, float(np.abs(left - right).max() / max(np.abs(right).max(), 1e-30)))
    return worst
