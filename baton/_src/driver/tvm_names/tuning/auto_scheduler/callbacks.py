"""Callbacks of `TaskScheduler`: told before and after each round of measurements of a task."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

_UNMEASURED = "-"


class Scheduling(Protocol):
    """What callbacks read of a `TaskScheduler`."""

    tasks: list[Any]
    ct: int

    @property
    def best_costs(self) -> Sequence[float]:
        """Seconds of the fastest kernel of each task."""

    @property
    def cur_score(self) -> float:
        """The program's seconds by these."""

    @property
    def measured(self) -> Sequence[int]:
        """How many records of each task were measured."""


class TaskSchedulerCallback:
    """The base: does nothing. `task_id` is the place of the task."""

    def pre_tune(self, task_scheduler: Any, task_id: int) -> None:
        """The round is about to begin."""

    def post_tune(self, task_scheduler: Any, task_id: int) -> None:
        """The round is over."""


class PrintTableInfo(TaskSchedulerCallback):
    """Prints a table before each round: a row for each task, and the program's time."""

    def pre_tune(self, task_scheduler: Scheduling, task_id: int) -> None:
        print(table(task_scheduler, task_id))


def table(scheduler: Scheduling, task_id: int) -> str:
    """The table, with the task that comes next."""
    lines = [f"| {'ID':>3} | {'Task':<40} | {'Latency (ms)':>12} | {'GFLOPS':>9} | {'Trials':>6} |"]
    for place, (task, cost, trials) in enumerate(zip(scheduler.tasks, scheduler.best_costs, scheduler.measured)):
        known = math.isfinite(cost)
        latency = f"{cost * 1e3:.3f}" if known else _UNMEASURED
        speed = f"{task.compute_dag.flop_ct / cost / 1e9:.2f}" if known else _UNMEASURED
        lines.append(f"| {place:>3} | {task.desc[:40]:<40} | {latency:>12} | {speed:>9} | {trials:>6} |")
    return "\n".join([*lines, f"{_whole(scheduler)}  Trials: {scheduler.ct}  Next task: {task_id}"])


class LogEstimatedLatency(TaskSchedulerCallback):
    """Appends a line to a file after each round: seconds spent, the program's time, trials."""

    def __init__(self, log_file: str | Path) -> None:
        self.log_file = Path(log_file)
        self.log_file.write_text("", "utf-8")
        self.started = time.monotonic()

    def post_tune(self, task_scheduler: Scheduling, task_id: int) -> None:
        spent = time.monotonic() - self.started
        with self.log_file.open("a", encoding="utf-8") as file:
            file.write(f"ElapsedTime(s)\t{spent:.0f}\t{_whole(task_scheduler)}\tTrials\t{task_scheduler.ct}\n")


def _whole(scheduler: Scheduling) -> str:
    score = scheduler.cur_score
    return f"EstimatedLatency(ms)\t{score * 1e3:.3f}" if math.isfinite(score) else "EstimatedLatency(ms)\t-"
