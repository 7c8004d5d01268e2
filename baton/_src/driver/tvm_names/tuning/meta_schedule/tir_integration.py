"""Tuning kernels: `tune_tir`, and the best schedule that it found, `compile_tir`."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from baton._src.driver.targets import chosen_target
from baton._src.driver.tvm_names.tuning.meta_schedule.database import Database
from baton._src.driver.tvm_names.tuning.meta_schedule.spaces import SpaceGenerator
from baton._src.driver.tvm_names.tuning.meta_schedule.strategies import SearchStrategy
from baton._src.driver.tvm_names.tuning.meta_schedule.task import TuneContext
from baton._src.driver.tvm_names.tuning.meta_schedule.tune import tune_tasks
from baton._src.driver.tvm_names.tuning.workloads import normalized
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule


def tune_tir(
    mod: IRModule | PrimFunc,
    target: Any,
    work_dir: str | Path,
    max_trials_global: int,
    *,
    space: Any = "post-order-apply",
    strategy: Any = "evolutionary",
    num_tuning_cores: int | str = "physical",
    seed: int | None = None,
    special_space: Mapping[str, Any] | None = None,
    **options: Any,
) -> Database:
    """Measure schedules of a kernel, or of each kernel of a module, and give the database of all that was measured.

    `special_space` has spaces for kernels by name; a kernel whose space is None is left out. `options` are those of
    `tune_tasks`.
    """
    wire()
    module = mod if isinstance(mod, IRModule) else normalized(mod)
    kernels = {v.name_hint: f for v, f in module.functions.items() if isinstance(f, PrimFunc)}
    random_state = random.Random(seed)
    tasks = []
    for name, kernel in sorted(kernels.items()):
        own = (special_space or {}).get(name, space)
        if own is not None:
            tasks.append(
                TuneContext(
                    kernel,
                    target=target,
                    space_generator=SpaceGenerator.create(own).clone(),
                    search_strategy=SearchStrategy.create(strategy).clone(),
                    task_name=name,
                    rand_state=random_state.getrandbits(31),
                    num_threads=num_tuning_cores,
                )
            )
    return tune_tasks(
        tasks=tasks,
        task_weights=[1.0] * len(tasks),
        work_dir=work_dir,
        max_trials_global=max_trials_global,
        **options,
    )


def compile_tir(database: Database, mod: IRModule | PrimFunc, target: Any) -> Schedule | None:
    """The fastest schedule known of a kernel, to be built: `tvm.build(schedule.mod, target=target)`; None if there is
    none.
    """
    wire()
    return database.query_schedule(normalized(mod), chosen_target(target), "main")
