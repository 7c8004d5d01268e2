"""`TaskScheduler`: several tasks share the trials, a round of measurements at a time."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from random import Random

from baton._src.driver.tuning.runs import Run, Runner
from baton._src.driver.tvm_names.tuning.auto_scheduler.callbacks import TaskSchedulerCallback
from baton._src.driver.tvm_names.tuning.auto_scheduler.options import PythonBasedMeasureCallback, TuningOptions
from baton._src.driver.tvm_names.tuning.auto_scheduler.policies import SketchPolicy
from baton._src.driver.tvm_names.tuning.auto_scheduler.records import MeasureInput, MeasureResult, load_records
from baton._src.driver.tvm_names.tuning.auto_scheduler.search import Search, Task
from baton._src.driver.tvm_names.tuning.refused import refuse_given
from baton._src.driver.tvm_names.tuning.workloads import has_constant_weight
from baton._src.lower.kernel_schedules.choices import Record
from baton._src.support.diagnostics import fail

STRATEGIES = ("gradient", "round-robin")
POLICIES = ("default", "sketch.xgb", "sketch.random")
"""Names of TVM's policies; there is one way to search."""


class TaskScheduler:
    """Several tasks: first each once, then that whose kernel takes most of the program (its time, times its weight).

    `alpha`, `beta`, `gamma` and `backward_window_size` weigh TVM's predictions, of which there are none: they change
    nothing.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        task_weights: Sequence[float] | None = None,
        objective_func: None = None,
        strategy: str = "gradient",
        load_model_file: None = None,
        load_log_file: str | Path | None = None,
        alpha: float = 0.2,
        beta: float = 2,
        gamma: float = 0.5,
        backward_window_size: int = 3,
        callbacks: Sequence[TaskSchedulerCallback] | None = None,
    ) -> None:
        refuse_given(objective_func=objective_func, load_model_file=load_model_file)
        if strategy not in STRATEGIES:
            help = " or ".join(STRATEGIES)
            raise fail("api", f"there is no strategy {strategy!r}", help=help, kind=ValueError)
        self.tasks = list(tasks)
        self.task_weights = [1.0] * len(self.tasks) if task_weights is None else [float(w) for w in task_weights]
        if len(self.task_weights) != len(self.tasks):
            raise fail("api", f"{len(self.tasks)} tasks have {len(self.task_weights)} weights", kind=ValueError)
        self.strategy = strategy
        self.callbacks = list(callbacks or ())
        self.task_cts = [0] * len(self.tasks)
        """How many rounds each task had."""
        self.ct = 0
        """How many records were measured in all."""
        self.searches = [Search(task, Random(number)) for number, task in enumerate(self.tasks)]
        self._turn = -1
        self._patience: int | None = None
        if load_log_file is not None:
            self.take(load_log_file)

    @property
    def best_costs(self) -> list[float]:
        """Seconds of the fastest kernel of each task; infinite before one is measured."""
        return [search.best for search in self.searches]

    @property
    def measured(self) -> list[int]:
        """How many records of each task were measured."""
        return [len(search.seen) for search in self.searches]

    @property
    def cur_score(self) -> float:
        """The program's seconds: the fastest of each task, times its weight."""
        return sum(cost * weight for cost, weight in zip(self.best_costs, self.task_weights))

    def take(self, log_file: str | Path) -> None:
        """Start from the measurements of a log, those of other tasks left aside."""
        for measured, result in load_records(log_file):
            for search in self.searches:
                if search.task.workload_key == measured.workload_key:
                    search.take(measured.record, result)

    def tune(
        self,
        tune_option: TuningOptions,
        search_policy: str = "default",
        search_policy_params: None = None,
        adaptive_training: bool = False,
        per_task_early_stopping: int | None = None,
    ) -> None:
        """Measure until the trials are spent or nothing is left to try; warns of tasks of which none could be run.

        A task ends after `per_task_early_stopping` (else the option's `early_stopping`) measurements that were not
        faster. `adaptive_training` is about TVM's models and changes nothing.
        """
        refuse_given(search_policy_params=search_policy_params)
        if search_policy not in POLICIES:
            raise fail("api", f"there is no search policy {search_policy!r}", help='"default"', kind=ValueError)
        self._patience = tune_option.early_stopping if per_task_early_stopping is None else per_task_early_stopping
        left = tune_option.num_measure_trials
        share = max(1, min(tune_option.num_measures_per_round, left // max(1, len(self.tasks))))
        with tune_option.runner.opened(tune_option.builder.timeout + tune_option.runner.timeout) as runner:
            while left > 0 and (alive := [i for i, s in enumerate(self.searches) if not s.is_over]):
                self._turn = self._next(alive)
                for told in self.callbacks:
                    told.pre_tune(self, self._turn)
                count = self._round(self.searches[self._turn], min(share, left), tune_option, runner)
                left, self.ct = left - count, self.ct + count
                self.task_cts[self._turn] += 1
                for told in self.callbacks:
                    told.post_tune(self, self._turn)
        for search in self.searches:
            if search.why and not search.measured:
                warnings.warn(f"{search.task.desc}: no candidate could be run: {search.why}", stacklevel=2)

    def _next(self, alive: Sequence[int]) -> int:
        if self.strategy == "round-robin":
            return next((i for i in alive if i > self._turn), alive[0])
        return max(alive, key=self._promise)

    def _promise(self, task: int) -> float:
        """The time of a task's calls: infinite before the first round, less than any other where no record could be
        run.
        """
        search = self.searches[task]
        if search.measured:
            return search.best * self.task_weights[task]
        return -1.0 if search.seen else math.inf

    def _round(self, search: Search, count: int, option: TuningOptions, runner: Runner) -> int:
        """Measure the next records of a task: how many there were."""
        records = search.records(count)
        inputs = [MeasureInput(search.task.workload_key, str(search.task.target), record) for record in records]
        results = [_measured(search.task, record, option, runner) for record in records]
        for record, result in zip(records, results):
            search.take(record, result)
        for told in option.measure_callbacks:
            if isinstance(told, PythonBasedMeasureCallback):
                told.callback(SketchPolicy(search.task), inputs, results)
            else:
                told(inputs, results)
        stopped = self._patience is not None and search.since_best >= self._patience
        search.is_over = not records or stopped
        return len(records)


def _measured(task: Task, record: Record, option: TuningOptions, runner: Runner) -> MeasureResult:
    constant = has_constant_weight(task.func)
    run = Run.of(task.func, task.variant(record), task.target, option.runner.timing, constant)
    times = runner.run(run)
    return MeasureResult(times.seconds, times.error, time.time())
