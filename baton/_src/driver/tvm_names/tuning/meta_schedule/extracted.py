"""`ExtractedTask`: a kernel of a program, to be tuned; how tasks become contexts, and how these are tuned."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from baton._src.driver.tvm_names.tuning.meta_schedule.database import Database
from baton._src.driver.tvm_names.tuning.meta_schedule.spaces import SpaceGenerator
from baton._src.driver.tvm_names.tuning.meta_schedule.strategies import SearchStrategy
from baton._src.driver.tvm_names.tuning.meta_schedule.task import TuneContext
from baton._src.driver.tvm_names.tuning.meta_schedule.tune import tune_tasks
from baton._src.driver.tvm_names.tuning.program_kernels import ProgramKernel
from baton._src.driver.tvm_names.tuning.workloads import normalized
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.support.dataclass import dataclass


@dataclass
class ExtractedTask:
    """A kernel as `main` of `mod` (and of `dispatched[0]`); `weight`: how many calls of it the program has."""

    task_name: str
    mod: IRModule
    target: Target
    dispatched: list[IRModule]
    weight: int


def extracted_task(kernel: ProgramKernel, target: Target) -> ExtractedTask:
    """The task of a kernel."""
    module = normalized(kernel.func)
    return ExtractedTask(kernel.name, module, target, [module], kernel.weight)


def extracted_tasks_to_tune_contexts(
    extracted_tasks: Sequence[ExtractedTask],
    work_dir: str | Path,
    space: Any = "post-order-apply",
    strategy: Any = "evolutionary",
    num_threads: int | str = "physical",
    seed: int | None = None,
) -> tuple[list[TuneContext], list[float]]:
    """The tasks as contexts, and their weights. TVM keeps logs in `work_dir`; here nothing is written there."""
    random_state = random.Random(seed)
    tasks = [
        TuneContext(
            task.dispatched[0],
            target=task.target,
            space_generator=SpaceGenerator.create(space).clone(),
            search_strategy=SearchStrategy.create(strategy).clone(),
            task_name=task.task_name,
            rand_state=random_state.getrandbits(31),
            num_threads=num_threads,
        )
        for task in extracted_tasks
    ]
    return tasks, [float(task.weight) for task in extracted_tasks]


def tune_extracted(
    extracted_tasks: Sequence[ExtractedTask],
    work_dir: str | Path,
    *,
    space: Any = "post-order-apply",
    strategy: Any = "evolutionary",
    num_tuning_cores: int | str = "physical",
    seed: int | None = None,
    **options: Any,
) -> Database:
    """Measure schedules of the tasks; `options` are those of `tune_tasks`."""
    tasks, weights = extracted_tasks_to_tune_contexts(
        extracted_tasks, work_dir, space, strategy, num_tuning_cores, seed
    )
    return tune_tasks(tasks=tasks, task_weights=weights, work_dir=work_dir, **options)
