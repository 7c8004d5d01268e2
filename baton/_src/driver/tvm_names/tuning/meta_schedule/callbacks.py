"""Callbacks that get the results of each batch: the database, a script's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from baton._src.driver.tvm_names.tuning.meta_schedule.building import BuilderResult, remove_artifact
from baton._src.driver.tvm_names.tuning.meta_schedule.cost_models import CostModel
from baton._src.driver.tvm_names.tuning.meta_schedule.database import Database
from baton._src.driver.tvm_names.tuning.meta_schedule.records import (
    FAILED,
    MeasureCandidate,
    RunnerResult,
    TuningRecord,
)
from baton._src.driver.tvm_names.tuning.meta_schedule.task import TuneContext
from baton._src.support.diagnostics import fail


class Scheduling(Protocol):
    """The interface of a task scheduler for callbacks."""

    @property
    def tasks(self) -> list[TuneContext]:
        """The tasks to tune."""

    @property
    def database(self) -> Database | None:
        """The database for the records."""

    @property
    def cost_model(self) -> CostModel | None:
        """The model that predicts which candidates are worth measuring."""


class MeasureCallback:
    """Gets the results of every batch of a task. Scripts derive from it and give `apply`."""

    def apply(
        self,
        task_scheduler: Scheduling,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        """Use the results of candidates of a task."""
        raise NotImplementedError

    @staticmethod
    def create(kind: Any = "default") -> list[MeasureCallback]:
        """Callbacks by name ("default": all of baton's own), one callback or a list of them."""
        if isinstance(kind, MeasureCallback):
            return [kind]
        if isinstance(kind, (list, tuple)):
            return [callback for one in kind for callback in MeasureCallback.create(one)]
        if kind == "default":
            return [make() for make in _KINDS.values()]
        if isinstance(kind, str) and kind in _KINDS:
            return [_KINDS[kind]()]
        help = f"default, {', '.join(_KINDS)}, or your own"
        raise fail("api", f"there is no measure callback {kind!r}", help=help, kind=ValueError)


class AddToDatabase(MeasureCallback):
    """Writes a record of every candidate; one that failed took `FAILED` seconds."""

    def apply(
        self,
        task_scheduler: Scheduling,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
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


class RemoveBuildArtifact(MeasureCallback):
    """Removes the files of candidates."""

    def apply(
        self,
        task_scheduler: Scheduling,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        for result in builder_results:
            remove_artifact(result)


class UpdateCostModel(MeasureCallback):
    """Gives the results of candidates that could be built to the model of costs."""

    def apply(
        self,
        task_scheduler: Scheduling,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        if task_scheduler.cost_model is None:
            return
        built = [place for place, result in enumerate(builder_results) if result.error_msg is None]
        task_scheduler.cost_model.update(
            task_scheduler.tasks[task_id],
            [measure_candidates[place] for place in built],
            [runner_results[place] for place in built],
        )


_KINDS: dict[str, Callable[[], MeasureCallback]] = {
    "add-to-database": AddToDatabase,
    "remove-build-artifact": RemoveBuildArtifact,
    "update-cost-model": UpdateCostModel,
}
