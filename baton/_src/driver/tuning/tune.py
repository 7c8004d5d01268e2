"""`tune`: measure alternatives to the tunable choices in a model's kernels, and record what is measurably better.

    report = baton.tune("model.onnx", seconds=120)
    print(report)

The rules' choices are the start and the yardstick. A choice is kept only if the kernel computes the same with it, and
is faster by a clear margin when both are measured in turns; and if the whole model is then not slower.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from baton._src.driver.compile.compile import compile as compile_model
from baton._src.driver.model.model import Model
from baton._src.driver.targets import chosen_target
from baton._src.driver.tuning.kernels import Collector, Spent, spent, tasks
from baton._src.driver.tuning.measurers import Measurer, measurer
from baton._src.driver.tuning.search import DIFFERENT, NO_BETTER, Budget, Found, search
from baton._src.driver.tuning.task import Task
from baton._src.driver.tuning.trial import difference
from baton._src.driver.tuning_records.database import Database, Entry
from baton._src.driver.tuning_records.place import Place, database_path
from baton._src.driver.tuning_records.records import Tunings
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import Lookup, consulting
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.progress import report as report_step
from baton._src.values.tensor import AnyArray

WORTH_TUNING = 0.01
"""Share of a run below which a kernel is left alone."""
LEAST_SECONDS = 2.0
"""What a kernel gets at least, while there is time."""
SLOWER, OFTEN = 1.01, 0.65
"""The whole model counts as slower from this ratio on, if that holds in this share of the rounds."""
WHOLE_ALLOWED = {"float64": 1e-10, "float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1}
"""How far results of the whole model may be apart, relative to the largest: errors of kernels add up."""
WHOLE_SECONDS = 3.0
WHOLE_ROUNDS = (7, 400)
"""Fewest and most rounds in which the model is measured before and after."""


@dataclass(frozen=True)
class TunedKernel:
    """A row of the report. Seconds are those of one call, measured in isolation."""

    found: Found
    share: float
    calls: int


@dataclass
class Report:
    """What tuning did: by kernel, and for a run of the whole model (seconds, medians of rounds taken in turns)."""

    database: Path
    kernels: list[TunedKernel] = field(default_factory=list)
    left: int = 0
    """Kernels that were not tuned: they take a small share of the time, or no time was left."""
    before: float = 0.0
    after: float = 0.0
    undone: str = ""
    """Why nothing of this was kept, if so."""

    @property
    def kept(self) -> list[TunedKernel]:
        """The kernels whose choices changed."""
        return [] if self.undone else [k for k in self.kernels if k.found.record]

    def __str__(self) -> str:
        lines = [f"{'kernel':<48} {'share':>6} {'before':>12} {'after':>12}  choices"]
        for kernel in self.kernels:
            found = kernel.found
            times = f"{found.before * 1e6:>9.1f} µs {found.after * 1e6:>9.1f} µs"
            lines.append(f"{found.task.name[:48]:<48} {kernel.share:>6.1%} {times}  {found.choices}")
        lines.append(f"{'whole model':<48} {'':>6} {self.before * 1e6:>9.1f} µs {self.after * 1e6:>9.1f} µs")
        return "\n".join([*lines, *([f"nothing was kept: {self.undone}"] if self.undone else [])])


def tune(
    model: Any,
    feed: Mapping[str, Any] | Callable[[Model], Mapping[str, Any]],
    *,
    seconds: float = 120.0,
    trials: int = 1000,
    num_threads: int | None = None,
    database: str | Path | None = None,
    dask: Any = None,
    target: Any = None,
    shapes: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    opt_level: int = 3,
) -> Report:
    """Tune the kernels of `model` (anything `compile` takes) for runs on `feed`: inputs by name, or what makes them.

    `seconds` and `trials` limit the search. `num_threads`: those the model will be run with (None: all cores).
    `database`: the file to remember in, if not the one that compilation consults anyway. `dask`: the address of a
    Dask scheduler (or a cluster object) whose workers measure, machines like this one; else a process beside this one.

    Raises `DiagnosticError`: `tuning-off` (no database is allowed), `tuning-database`, `tuning-dask`, those of
    `compile`. A kernel that fails or hangs with some choice costs that choice only.
    """
    path = database_path() if database is None else Path(database)
    if path is None:
        raise fail(
            "tuning-off",
            "BATON_TUNING=0 turns the database off, so results could not be kept",
            help="name a database",
        )
    end = time.monotonic() + seconds
    found_target = chosen_target(target)
    threads = num_threads or found_target.num_cores
    build = _Build(model, found_target, num_threads, opt_level, shapes, params)
    collector = Collector()
    before = build.consulting(collector)
    given = feed(before) if callable(feed) else feed
    missing = [spec.name for spec in before.inputs if spec.name not in given]
    if missing:
        raise fail("input-missing", f"input {missing[0]!r} is missing from the inputs that the model is measured with")
    inputs = [given[spec.name] for spec in before.inputs]
    work = tasks(collector, spent(before, inputs, threads), found_target, threads)
    report = Report(path)
    with measurer(dask) as ask:
        job = _Job(Database(path), Place.of(found_target, threads), ask, Budget(trials, end), report)
        job.run(work)
    _judge(report, job, build, before, inputs)
    return report


@dataclass(frozen=True)
class _Build:
    """How to compile the model, with any source of choices."""

    model: Any
    target: Target
    num_threads: int | None
    opt_level: int
    shapes: Mapping[str, Any] | None
    params: Mapping[str, Any] | None

    def consulting(self, lookup: Lookup) -> Model:
        """The model; `keep_stages` so that it is compiled, not taken from the cache: `lookup` has to be called."""
        with consulting(lookup):
            return compile_model(
                self.model,
                self.num_threads,
                self.target,
                self.opt_level,
                params=self.params,
                shapes=self.shapes,
                keep_stages=True,
            )


@dataclass
class _Job:
    """Searching for all kernels, each found record being remembered at once."""

    database: Database
    place: Place
    ask: Measurer
    budget: Budget
    report: Report
    known: dict[str, Entry] = field(default_factory=dict)

    def run(self, work: list[tuple[Task, Spent]]) -> None:
        """Share the time among the kernels by what a run spends in them."""
        self.known = self.database.entries(self.place)
        whole = sum(cost.seconds for _, cost in work) or 1.0
        worth = [(task, cost) for task, cost in work if cost.seconds >= WORTH_TUNING * whole]
        left = sum(cost.seconds for _, cost in worth)
        for number, (task, cost) in enumerate(worth):
            now = time.monotonic()
            if self.budget.trials <= 0 or now >= self.budget.end:
                break
            part = max(LEAST_SECONDS, (self.budget.end - now) * cost.seconds / left)
            left -= cost.seconds
            own = Budget(self.budget.trials, min(self.budget.end, now + part))
            found = self._search(task, own, number, len(worth))
            self.budget.trials -= found.trials
            self._remember(found)
            self.report.kernels.append(TunedKernel(found, cost.seconds / whole, cost.calls))
        self.report.left = len(work) - len(self.report.kernels)

    def _search(self, task: Task, budget: Budget, number: int, count: int) -> Found:
        def tried(found: Found) -> None:
            gain = f", {found.before * 1e6:.0f} µs" if found.before else ""
            report_step("tuning", number, count, f"{task.name}: {found.trials} trials{gain}")

        known = self.known.get(task.key)
        found = search(task, self.ask, budget, known.record if known else None, tried)
        report_step("tuning", number + 1, count)
        return found

    def _remember(self, found: Found) -> None:
        if found.record:
            entry = Entry(found.record, found.rule, found.before, found.after)
            self.database.put(self.place, found.task.key, entry)
        elif found.note in (NO_BETTER, DIFFERENT):
            self.database.remove(self.place, found.task.key)

    def undo(self) -> None:
        """Put back what was there before, for kernels that were changed."""
        for kernel in self.report.kernels:
            key = kernel.found.task.key
            if kernel.found.record:
                if key in self.known:
                    self.database.put(self.place, key, self.known[key])
                else:
                    self.database.remove(self.place, key)


def _judge(report: Report, job: _Job, build: _Build, before: Model, inputs: list[Any]) -> None:
    """Measure the whole model before and after; take everything back if it became slower or computes something else."""
    records = {k.found.task.key: k.found.record for k in report.kernels if k.found.record}
    after = build.consulting(Tunings(records).of) if records else before
    pairs = zip(_arrays(before(*inputs)), _arrays(after(*inputs)), strict=True)
    apart = max((difference(a, b, WHOLE_ALLOWED) for a, b in pairs), default=0.0)
    times = _in_turns((before, after), inputs)
    report.before, report.after = median(times[0]), median(times[1])
    ratios = [a / b for b, a in zip(*times)]
    ratio, often = median(ratios), sum(r > 1 for r in ratios) / len(ratios)
    if records and apart > 1.0:
        report.undone = f"results of the whole model are {apart:.1f} times further apart than rounding allows"
    elif records and ratio > SLOWER and often > OFTEN:
        report.undone = f"the whole model takes {ratio:.2f} times as long"
    if report.undone:
        job.undo()


def _arrays(output: Any) -> Iterator[AnyArray]:
    """The arrays of an output, those of sequences and dictionaries included."""
    if isinstance(output, (list, dict)):
        for item in output.values() if isinstance(output, dict) else output:
            yield from _arrays(item)
    else:
        yield np.asarray(output)


def _in_turns(models: tuple[Model, Model], inputs: list[Any]) -> tuple[list[float], list[float]]:
    """Seconds of runs of two models, round by round; which one comes first alternates."""
    times: tuple[list[float], list[float]] = ([], [])
    until = time.perf_counter() + WHOLE_SECONDS
    while len(times[0]) < WHOLE_ROUNDS[0] or (time.perf_counter() < until and len(times[0]) < WHOLE_ROUNDS[1]):
        for which in (0, 1) if len(times[0]) % 2 else (1, 0):
            begin = time.perf_counter()
            models[which](*inputs)
            times[which].append(time.perf_counter() - begin)
    return times
