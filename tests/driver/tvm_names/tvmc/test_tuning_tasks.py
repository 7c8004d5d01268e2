"""`tvmc.autotuner`: models tuned task by task, as scripts that choose their tasks do it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import auto_scheduler, autotvm, relay
from baton.driver import tvmc
from baton.driver.tvmc import autotuner

TASKS = [SimpleNamespace(title=name, desc=name, config_space=range(3)) for name in "abcd"]
MEASURING = autotvm.measure_option(autotvm.LocalBuilder(), autotvm.LocalRunner(number=1, repeat=1))


def layer() -> tuple[Any, dict[str, Any]]:
    x, w = relay.var("x", shape=(4, 32)), relay.var("w", shape=(48, 32))
    weights = np.random.default_rng(0).random((48, 32), np.float32)
    return tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w))), {"w": tvm.nd.array(weights)}


def test_tasks_of_autotvm(tmp_path: Path) -> None:
    """Guards autotvm_get_tuning_tasks and tune_tasks, which were missing: the log is in force afterwards."""
    mod, params = layer()
    tasks = autotuner.autotvm_get_tuning_tasks(mod, params, "llvm -num-cores=1")
    log = tmp_path / "tasks.log"
    autotuner.tune_tasks(tasks, log, MEASURING, "random", 2)
    found = list(autotvm.record.load_from_file(log))
    assert [one.task.workload for one, _ in found] == [task.workload for task in tasks for _ in range(2)]
    autotuner.tune_tasks(tasks, log, MEASURING, "xgb_rank", 1, tuning_records=log)
    assert len(list(autotvm.record.load_from_file(log))) == len(found) + len(tasks)
    with pytest.raises(tvmc.TVMCException, match="invalid tuner: annealing"):
        autotuner.tune_tasks(tasks, log, MEASURING, "annealing", 2)
    autotuner.tune_tasks([], log, MEASURING, "random", 2)


def test_tasks_of_auto_scheduler(tmp_path: Path) -> None:
    """Guards autoscheduler_get_tuning_tasks and schedule_tasks, which were missing."""
    mod, params = layer()
    tasks, weights = autotuner.autoscheduler_get_tuning_tasks(mod, params, "llvm -num-cores=1")
    assert len(tasks) == len(weights) == 1
    log = tmp_path / "tasks.json"
    options = auto_scheduler.TuningOptions(2, measure_callbacks=[auto_scheduler.RecordToFile(log)])
    autotuner.schedule_tasks(tasks, weights, options)
    assert len(list(auto_scheduler.load_records(log))) == 2
    with pytest.raises(tvmc.TVMCException, match="measured, not estimated"):
        autotuner.schedule_tasks(tasks, weights, options, log_estimated_latency=True)


@pytest.mark.parametrize(
    ("text", "kept", "lists"),
    [
        ("all", "abcd", False),
        ("list", "abcd", True),
        ("0", "a", False),
        ("0,2", "ac", False),
        ("1-2,1,list", "bc", True),
        ("2-", "cd", False),
        ("-1", "ab", False),
    ],
)
def test_filters_of_tasks(text: str, kept: str, lists: bool) -> None:
    """Guards TVM's texts that choose tasks; the order of tasks stays."""
    found, asked = autotuner.filter_tasks(TASKS, text)
    assert ("".join(task.title for task in found), asked) == (kept, lists)


@pytest.mark.parametrize("text", ["4", "2-9", "3-1", "-", "", "first"])
def test_filters_that_name_no_task(text: str) -> None:
    """Guards filters that would leave tasks out in silence."""
    with pytest.raises(tvmc.TVMCException, match="names none of 4 tasks"):
        autotuner.filter_tasks(TASKS, text)


def test_lists_of_tasks() -> None:
    """Guards what `--tasks list` prints."""
    assert autotuner.gen_task_list(TASKS[:1], False) == "Available Tasks for tuning:\n  0. a (len=3)"
    assert autotuner.gen_task_list(TASKS[1:2], True) == "Available Tasks for tuning:\n  0. b"
