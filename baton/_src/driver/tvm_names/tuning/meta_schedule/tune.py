"""`tune_tasks`: several kernels in turn, a batch of candidates at a time, until the trials are spent."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from baton._src.driver.tuning.runs import known_shapes
from baton._src.driver.tvm_names.tuning.meta_schedule.building import Builder
from baton._src.driver.tvm_names.tuning.meta_schedule.callbacks import MeasureCallback
from baton._src.driver.tvm_names.tuning.meta_schedule.cost_models import CostModel
from baton._src.driver.tvm_names.tuning.meta_schedule.database import Database, check_equality
from baton._src.driver.tvm_names.tuning.meta_schedule.databases import JSONDatabase
from baton._src.driver.tvm_names.tuning.meta_schedule.kinds import created
from baton._src.driver.tvm_names.tuning.meta_schedule.measuring import Measuring, measuring
from baton._src.driver.tvm_names.tuning.meta_schedule.profiler import Profiler
from baton._src.driver.tvm_names.tuning.meta_schedule.running import Runner
from baton._src.driver.tvm_names.tuning.meta_schedule.task import TuneContext
from baton._src.driver.tvm_names.tuning.workloads import only_kernel
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.progress import report


@dataclass
class TaskRecord:
    """The progress of a task."""

    ctx: TuneContext
    task_weight: float
    is_terminated: bool = False
    is_tried: bool = False
    """Whether candidates were measured."""
    best: float = math.inf
    why: str = ""
    """Why the last candidate that failed did."""


class TaskScheduler:
    """Chooses the task to measure next in each round: here in order."""

    def __init__(self) -> None:
        self.tasks_: list[TaskRecord] = []
        self.database_: Database | None = None
        self.cost_model_: CostModel | None = None
        self._turn = -1

    @property
    def tasks(self) -> list[TuneContext]:
        """The tasks to tune."""
        return [record.ctx for record in self.tasks_]

    @property
    def database(self) -> Database | None:
        """The database for the records."""
        return self.database_

    @property
    def cost_model(self) -> CostModel | None:
        """The model that predicts which candidates are worth measuring."""
        return self.cost_model_

    @staticmethod
    def create(kind: Any = "gradient", *args: Any, **kwargs: Any) -> TaskScheduler:
        """A scheduler by its name: "round-robin", or "gradient"."""
        return created(TaskScheduler, "task scheduler", _KINDS, kind, *args, **kwargs)

    def tune(
        self,
        tasks: Sequence[TuneContext],
        task_weights: Sequence[float],
        max_trials_global: int,
        max_trials_per_task: int,
        num_trials_per_iter: int,
        builder: Builder,
        runner: Runner,
        measure_callbacks: Sequence[MeasureCallback],
        database: Database | None,
        cost_model: CostModel | None = None,
    ) -> None:
        """Measure until the trials are spent, or nothing is left to try; warns of tasks whose candidates all failed.

        Error `tuning-kernel`: a kernel takes something else than tensors of known shapes.
        """
        for task in tasks:
            known_shapes(only_kernel(task.module))
        self.tasks_ = [TaskRecord(task, weight) for task, weight in zip(tasks, task_weights)]
        self.database_, self.cost_model_, self._turn = database, cost_model, -1
        for task in tasks:
            task.pre_tuning(max_trials_per_task, num_trials_per_iter, None, database, cost_model)
        left = max_trials_global
        with measuring(builder, runner) as measure:
            while left > 0 and (alive := [i for i, record in enumerate(self.tasks_) if not record.is_terminated]):
                number = self._turn = self.next_task(alive)
                left -= self._batch(number, left, measure, measure_callbacks)
                report("tuning", max_trials_global - left, max_trials_global)
        for record in self.tasks_:
            record.ctx.post_tuning()
            if record.why and not math.isfinite(record.best):
                warnings.warn(f"{record.ctx.task_name}: no candidate could be run: {record.why}", stacklevel=4)

    def _batch(self, number: int, left: int, measure: Measuring, callbacks: Sequence[MeasureCallback]) -> int:
        """Measure the next candidates of a task, at most `left`: how many there were."""
        record = self.tasks_[number]
        task = record.ctx
        with Profiler.timeit("propose"):
            candidates = list(task.generate_measure_candidates() or [])[:left]
        if not candidates:
            record.is_terminated = True
            return 0
        with Profiler.timeit("build and run"):
            built, results = measure.results(task.module, task.target, candidates)
        task.notify_runner_results(candidates, results)
        with Profiler.timeit("callbacks"):
            for callback in callbacks:
                callback.apply(self, number, candidates, built, results)
        record.is_tried = True
        seconds = [math.fsum(r.run_secs) / len(r.run_secs) for r in results if r.run_secs]
        record.best = min([record.best, *seconds])
        for result in results:
            if result.error_msg:
                record.why = result.error_msg
                task.logger.warning("%s: a candidate failed: %s", task.task_name, result.error_msg)
        task.logger.info("%s: %.3f us", task.task_name, record.best * 1e6)
        return len(candidates)

    def next_task(self, alive: Sequence[int]) -> int:
        """The number of the task to measure: the next one after that which was last."""
        return next((i for i in alive if i > self._turn), alive[0])


class RoundRobin(TaskScheduler):
    """The tasks one after the other."""


class GradientBased(TaskScheduler):
    """First each task once, then that whose kernel takes most of the program: its best time, times its weight.

    `alpha`, `window_size` and `seed` are of TVM's predictions and change nothing.
    """

    def __init__(self, *, alpha: float = 0.2, window_size: int = 3, seed: int = -1) -> None:
        super().__init__()

    def next_task(self, alive: Sequence[int]) -> int:
        return max(alive, key=self._promise)

    def _promise(self, task: int) -> float:
        """The time of a task's calls: infinite before the first batch, less than any other where no candidate ran."""
        record = self.tasks_[task]
        if math.isfinite(record.best):
            return record.best * record.task_weight
        return -1.0 if record.is_tried else math.inf


_KINDS: dict[str, Callable[..., TaskScheduler]] = {"round-robin": RoundRobin, "gradient": GradientBased}


def tune_tasks(
    *,
    tasks: Sequence[TuneContext],
    task_weights: Sequence[float],
    work_dir: str | Path,
    max_trials_global: int,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 64,
    builder: Any = "local",
    runner: Any = "local",
    database: Any = "json",
    cost_model: Any = "xgb",
    measure_callbacks: Any = "default",
    task_scheduler: Any = "gradient",
    module_equality: str = "structural",
    post_optimization: bool = False,
) -> Database:
    """Measure schedules of the tasks, and give the database of all that was measured.

    A "json" database lies in `work_dir`. `post_optimization` is TVM's and refused.
    """
    check_equality(module_equality)
    if post_optimization:
        help = "raise max_trials_global: the search itself tries neighbours of the fastest"
        raise fail("api", "post_optimization is not implemented", help=help, kind=NotImplementedError)
    if len(tasks) != len(task_weights):
        raise fail("api", f"{len(tasks)} tasks have {len(task_weights)} weights", kind=ValueError)
    found = JSONDatabase(work_dir=work_dir) if database == "json" else Database.create(database)
    scheduler = TaskScheduler.create(task_scheduler)
    scheduler.tune(
        tasks,
        task_weights,
        max_trials_global,
        max_trials_global if max_trials_per_task is None else max_trials_per_task,
        num_trials_per_iter,
        Builder.create(builder),
        Runner.create(runner),
        MeasureCallback.create(measure_callbacks),
        found,
        CostModel.create(cost_model),
    )
    return found
