"""Tuning a model task by task (`tvmc.autotuner`), by the tuners of `autotvm` or `auto_scheduler`.

`tvmc.tune` does not go this way: it has baton's own tuner, which needs neither. Scripts that choose their tasks do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from baton._src.driver.tvm_names.tuning.auto_scheduler import programs
from baton._src.driver.tvm_names.tuning.auto_scheduler.options import TuningOptions
from baton._src.driver.tvm_names.tuning.auto_scheduler.scheduler import TaskScheduler
from baton._src.driver.tvm_names.tuning.auto_scheduler.search import Task as SearchTask
from baton._src.driver.tvm_names.tuning.autotvm.callbacks import log_to_file, progress_bar
from baton._src.driver.tvm_names.tuning.autotvm.extract import extract_from_program
from baton._src.driver.tvm_names.tuning.autotvm.records import load_from_file
from baton._src.driver.tvm_names.tuning.autotvm.task import Task
from baton._src.driver.tvm_names.tuning.autotvm.tuners import (
    GATuner,
    GridSearchTuner,
    RandomTuner,
    Tuner,
    XGBTuner,
)
from baton._src.driver.tvm_names.tvmc.errors import raising_tvmc, refuse
from baton._src.driver.tvm_names.tvmc.transform import apply_graph_transforms
from baton._src.ir.module import IRModule

_XGB = "xgb xgb_knob xgb_itervar xgb_curve xgb_rank xgb_rank_knob xgb_rank_itervar xgb_rank_curve xgb_rank_binary"
_XGB_BINARY = "xgb_rank_binary_knob xgb_rank_binary_itervar xgb_rank_binary_curve"
_TUNERS: dict[str, Callable[[Task], Tuner]] = {
    **dict.fromkeys(f"{_XGB} {_XGB_BINARY}".split(), XGBTuner),
    "ga": lambda task: GATuner(task, pop_size=50),
    "random": RandomTuner,
    "gridsearch": GridSearchTuner,
}
"""Tuners by TVM's names for them; the kinds of `xgb` differ in models that there are none of here."""

logger = logging.getLogger("TVMC")


@raising_tvmc
def autotvm_get_tuning_tasks(
    mod: IRModule,
    params: Mapping[str, Any] | None,
    target: Any,
    target_host: Any = None,
    transform_args: Mapping[str, Any] | None = None,
) -> list[Any]:
    """A module's kernels as tasks of `autotvm`, after the changes that `transform_args` asks for."""
    changed = apply_graph_transforms(mod, transform_args, params)
    return list(extract_from_program(changed, params, target, target_host))


@raising_tvmc
def autoscheduler_get_tuning_tasks(
    mod: IRModule,
    params: Mapping[str, Any] | None,
    target: Any,
    target_host: Any = None,
    transform_args: Mapping[str, Any] | None = None,
    hardware_params: Any = None,
    include_simple_tasks: bool = False,
) -> tuple[list[Any], list[int]]:
    """A module's kernels as tasks of `auto_scheduler`, and how many calls of each there are."""
    changed = apply_graph_transforms(mod, transform_args, params)
    tasks, weights = programs.extract_tasks(
        changed, params, target, target_host, hardware_params, include_simple_tasks=include_simple_tasks
    )
    return list(tasks), weights


@raising_tvmc
def schedule_tasks(
    tasks: Sequence[SearchTask],
    task_weights: Sequence[float],
    tuning_options: TuningOptions,
    prior_records: str | Path | None = None,
    log_estimated_latency: bool = False,
) -> None:
    """Tune tasks of `auto_scheduler` together, from `prior_records` on. Nothing estimates how long a program takes."""
    if log_estimated_latency:
        raise refuse("the time of a program is measured, not estimated", "leave log_estimated_latency out")
    TaskScheduler(tasks, task_weights, load_log_file=prior_records).tune(tuning_options)


@raising_tvmc
def tune_tasks(
    tasks: Sequence[Task],
    log_file: str | Path,
    measure_option: dict[str, Any],
    tuner: str,
    trials: int,
    early_stopping: int | None = None,
    tuning_records: str | Path | None = None,
) -> None:
    """Tune tasks of `autotvm` one after the other, each by at most `trials` measurements, which `log_file` collects.

    `tuner` is one of TVM's names: xgb (and its kinds), ga, random, gridsearch. `tuning_records` are measurements to
    start from, if that file is there.
    """
    if not tasks:
        logger.warning("there were no tasks found to be tuned")
        return
    if tuner not in _TUNERS:
        raise refuse(f"invalid tuner: {tuner}", f"one of {', '.join(_TUNERS)}")
    for number, task in enumerate(tasks, 1):
        at_work = _TUNERS[tuner](task)
        if tuning_records and Path(tuning_records).exists():
            at_work.load_history(load_from_file(tuning_records))
        count = min(trials, len(task.config_space))
        shown = progress_bar(count, prefix=f"[Task {number:2d}/{len(tasks):2d}] ")
        at_work.tune(count, measure_option, early_stopping or trials, [shown, log_to_file(log_file)])


@raising_tvmc
def filter_tasks(tasks: Sequence[Any], expr: str) -> tuple[list[Any], bool]:
    """The tasks that a text names ("0", "0,2", "3-5", "all"), and whether it asks for a list of them ("list")."""
    words = expr.split(",")
    named = [word for word in words if word not in ("list", "help")]
    chosen = {number for word in named for number in _numbers(word, len(tasks))}
    kept = [task for number, task in enumerate(tasks) if number in chosen]
    return (kept if named else list(tasks)), len(named) < len(words)


def _numbers(word: str, count: int) -> range:
    """The numbers of tasks that a part of a filter names. Error `tvmc`: there are none of these numbers."""
    first, dash, last = word.partition("-")
    try:
        found = (
            range(count) if word == "all" else range(int(first or 0), int((last or count - 1) if dash else first) + 1)
        )
    except ValueError:
        found = range(0)
    if word != "all" and (word == "-" or not found or found.start < 0 or found.stop > count):
        help_text = "numbers and ranges, as in 0,2 or 3-5; or all, or list"
        raise refuse(f"{word!r} names none of {count} tasks", help_text)
    return found


def gen_task_list(tasks: Sequence[Any], enable_autoscheduler: bool) -> str:
    """The tasks by number, a line each."""
    lines = ["Available Tasks for tuning:"]
    for number, task in enumerate(tasks):
        if enable_autoscheduler:
            lines.append(f"  {number}. {task.desc or 'Unnamed'}")
        else:
            lines.append(f"  {number}. {task.title} (len={len(task.config_space)})")
    return "\n".join(lines)
