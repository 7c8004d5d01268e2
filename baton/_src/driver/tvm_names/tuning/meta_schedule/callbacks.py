"""Callbacks that get the results of each batch: the database, a script's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from baton._src.driver.tvm_names.tuning.meta_schedule.database import Database
from baton._src.driver.tvm_names.tuning.meta_schedule.records import (
    FAILED,
    MeasureCandidate,
    RunnerResult,
    TuningRecord,
)
from baton._src.driver.tvm_names.tuning.meta_schedule.task import TuneContext
from baton._src.support.diagnostics import fail

_OF_MODELS = ("update-cost-model", "remove-build-artifact")
"""TVM's callbacks for what there is none of: models of costs, files of candidates."""


class Scheduling(Protocol):
    """What callbacks read of a task scheduler."""

    tasks: list[TuneContext]
    database: Database | None


class MeasureCallback:
    """Gets the results of every batch of a task. Scripts derive from it and give `apply`."""

    def apply(
        self,
        task_scheduler: Scheduling,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[Any],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        """Use the results of candidates of a task. Building is part of running: failures are in `runner_results`."""
        raise NotImplementedError

    @staticmethod
    def create(kind: Any = "default") -> list[MeasureCallback]:
        """Callbacks by name ("default", "add-to-database"), one callback or a list of them."""
        if isinstance(kind, MeasureCallback):
            return [kind]
        if isinstance(kind, (list, tuple)):
            return [callback for one in kind for callback in MeasureCallback.create(one)]
        if kind in ("default", "add-to-database"):
            return [AddToDatabase()]
        if kind in _OF_MODELS:
            return []
        raise fail("api", f"there is no measure callback {kind!r}", help='"default", or your own', kind=ValueError)


class AddToDatabase(MeasureCallback):
    """Writes a record of every candidate; one that failed took `FAILED` seconds."""

    def apply(
        self,
        task_scheduler: Scheduling,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[Any],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        task, database = task_scheduler.tasks[task_id], task_scheduler.database
        if database is None:
            return
        workload = database.commit_workload(task.module)
        for candidate, result in zip(measure_candidates, runner_results):
            seconds = result.run_secs or [FAILED]
            record = TuningRecord(candidate.sch.trace, workload, seconds, task.target, candidate.args_info)
            database.commit_tuning_record(record)
