"""Measuring: options, who hears of it, and the tasks in turn."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, Protocol

from baton._src.driver.tuning.runs import Run, Runner
from baton._src.driver.tvm_names.tuning.auto_scheduler.records import (
    MeasureInput,
    MeasureResult,
    load_records,
    save_records,
)
from baton._src.driver.tvm_names.tuning.rule_space import RuleSpace
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import Record
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import PrimFunc

PATIENCE = 100
"""Proposals in a row that were measured before, until a task counts as searched."""
PARENTS = 4
"""Of how many of the fastest records neighbours are tried."""
DRAWN = 0.2
"""How often a record is drawn rather than a neighbour taken."""


class Task(Protocol):
    """What a search asks of a task."""

    workload_key: str
    desc: str
    func: PrimFunc
    target: Target

    @property
    def space(self) -> RuleSpace:
        """What the rule leaves open."""

    @property
    def constant(self) -> bool:
        """Whether it is a convolution whose weight is known when compiling."""

    def way(self, record: Record) -> PrimFunc:
        """The kernel with the answers of a record."""


class RecordToFile:
    """Appends each measurement to a log."""

    def __init__(self, filename: str | Path) -> None:
        self.filename = Path(filename)

    def __call__(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        save_records(self.filename, inputs, results)


class LocalBuilder:
    """Candidates are compiled by the process that runs them, within `timeout` seconds."""

    def __init__(self, timeout: float = 15, n_parallel: int | None = None, build_func: str = "default") -> None:
        if build_func != "default":
            raise fail("api", "candidates are compiled by baton's own process", help="leave build_func out")
        self.timeout = timeout


class LocalRunner:
    """Candidates are run one after the other: `repeat` means of `number` calls, within `timeout` seconds."""

    def __init__(
        self,
        timeout: float = 10,
        number: int = 3,
        repeat: int = 1,
        min_repeat_ms: int = 100,
        cooldown_interval: float = 0.0,
        enable_cpu_cache_flush: bool = False,
        device: int = 0,
    ) -> None:
        self.timeout = timeout
        self.options = {
            "number": number,
            "repeat": repeat,
            "min_repeat_ms": min_repeat_ms,
            "from_memory": enable_cpu_cache_flush,
        }


class TuningOptions:
    """How much is measured, how, and who hears of it."""

    def __init__(
        self,
        num_measure_trials: int = 0,
        early_stopping: int | None = None,
        num_measures_per_round: int = 64,
        verbose: int = 1,
        builder: Any = "local",
        runner: Any = "local",
        measure_callbacks: Sequence[Any] | None = None,
    ) -> None:
        self.num_measure_trials = num_measure_trials
        self.early_stopping = early_stopping
        self.num_measures_per_round = max(1, num_measures_per_round)
        self.verbose = verbose
        self.builder = LocalBuilder() if builder == "local" else builder
        self.runner = LocalRunner() if runner == "local" else runner
        self.measure_callbacks = list(measure_callbacks or ())
        if not isinstance(self.builder, LocalBuilder) or not isinstance(self.runner, LocalRunner):
            raise fail("api", "candidates are measured on this machine", help="LocalBuilder and LocalRunner do it")


class _Search:
    """The search for one task: the rule's own choice, then neighbours of the fastest, and draws."""

    def __init__(self, task: Task, random: Random) -> None:
        self.task = task
        self.random = random
        self.measured: list[tuple[float, dict[str, int]]] = []
        self.seen: set[str] = set()
        self.best = math.inf
        self.since_best = 0
        self.is_over = False
        self.why = ""

    def hear(self, record: Record, result: MeasureResult) -> None:
        """Take note of a measurement."""
        self.seen.add(repr(sorted(record.items())))
        self.since_best += 1
        if result.error_no:
            self.why = result.error_msg
            return
        self.measured.append((result.mean, dict(record)))
        if result.mean < self.best:
            self.best, self.since_best = result.mean, 0

    def records(self, count: int) -> list[dict[str, int]]:
        """At most `count` records that were not measured."""
        found: list[dict[str, int]] = []
        failed = 0
        while len(found) < count and failed < PATIENCE:
            record = self._proposed()
            text = repr(sorted(record.items()))
            failed += 1
            if text not in self.seen:
                self.seen.add(text)
                found.append(record)
                failed = 0
        return found

    def _proposed(self) -> dict[str, int]:
        if not self.seen:
            return {}
        space = self.task.space
        if not self.measured or self.random.random() < DRAWN:
            return space.drawn(self.random)
        nearest = sorted(self.measured, key=lambda pair: pair[0])[:PARENTS]
        return space.changed(self.random.choice(nearest)[1], self.random)


class TaskScheduler:
    """Several tasks: first each once, then that whose kernel takes most of the program (its time, times its weight)."""

    def __init__(
        self,
        tasks: Sequence[Task],
        task_weights: Sequence[float] | None = None,
        load_log_file: str | Path | None = None,
        strategy: str = "gradient",
        callbacks: Any = None,
        **_of_models: Any,
    ) -> None:
        if strategy not in ("gradient", "round-robin"):
            raise fail("api", f"there is no strategy {strategy!r}", help="gradient or round-robin", kind=ValueError)
        self.tasks = list(tasks)
        self.task_weights = [1.0] * len(self.tasks) if task_weights is None else [float(w) for w in task_weights]
        if len(self.task_weights) != len(self.tasks):
            raise fail("api", f"{len(self.tasks)} tasks have {len(self.task_weights)} weights", kind=ValueError)
        self.strategy = strategy
        self.searches = [_Search(task, Random(number)) for number, task in enumerate(self.tasks)]
        self._turn = -1
        for asked, result in load_records(load_log_file) if load_log_file is not None else ():
            for search in self.searches:
                if search.task.workload_key == asked.workload_key:
                    search.hear(asked.record, result)

    def tune(self, tune_option: TuningOptions, search_policy: Any = "default", **_others: Any) -> None:
        """Measure until the trials are spent or nothing is left to try; warns of tasks of which none could be run."""
        if search_policy not in ("default", "sketch.xgb", "sketch.random"):
            raise fail("api", f"there is no search policy {search_policy!r}", help='"default"', kind=ValueError)
        left = tune_option.num_measure_trials
        share = max(1, min(tune_option.num_measures_per_round, left // max(1, len(self.tasks))))
        with Runner(tune_option.builder.timeout + tune_option.runner.timeout) as runner:
            while left > 0 and (alive := [i for i, s in enumerate(self.searches) if not s.is_over]):
                self._turn = self._next(alive)
                left -= self._round(self.searches[self._turn], min(share, left), tune_option, runner)
        for search in self.searches:
            if search.why and not search.measured:
                warnings.warn(f"{search.task.desc}: no candidate could be run: {search.why}", stacklevel=2)

    def _next(self, alive: Sequence[int]) -> int:
        if self.strategy == "round-robin":
            return next((i for i in alive if i > self._turn), alive[0])
        return max(alive, key=lambda i: self.searches[i].best * self.task_weights[i])

    def _round(self, search: _Search, count: int, option: TuningOptions, runner: Runner) -> int:
        """Measure the next records of a task: how many there were."""
        records = search.records(count)
        inputs = [MeasureInput(search.task.workload_key, str(search.task.target), record) for record in records]
        results = [_measured(search.task, record, option, runner) for record in records]
        for record, result in zip(records, results):
            search.hear(record, result)
        for callback in option.measure_callbacks:
            callback(inputs, results)
        stopped = option.early_stopping is not None and search.since_best >= option.early_stopping
        search.is_over = not records or stopped
        return len(records)


def _measured(task: Task, record: Record, option: TuningOptions, runner: Runner) -> MeasureResult:
    run = Run.of(task.func, task.way(record), task.target, constant=task.constant, **option.runner.options)
    times = runner.run(run)
    return MeasureResult(times.seconds, times.error, time.time())
