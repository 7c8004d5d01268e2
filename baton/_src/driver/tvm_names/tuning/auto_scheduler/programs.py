"""Tasks of Relay programs, and logs in force when they are compiled."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from baton._src.driver.relay.executable import as_relay_module, build_executable
from baton._src.driver.targets import chosen_target
from baton._src.driver.tuning_records.in_force import BestKernels, without_best_kernels
from baton._src.driver.tvm_names.tuning.auto_scheduler.records import Measured, fastest, load_records
from baton._src.driver.tvm_names.tuning.auto_scheduler.task import KernelTask
from baton._src.driver.tvm_names.tuning.program_kernels import program_kernels
from baton._src.driver.tvm_names.tuning.refused import refuse_given
from baton._src.driver.tvm_names.tuning.workloads import KERNEL, workload_key
from baton._src.driver.wiring import wire
from baton._src.tir.prim_func import CHOICES, PrimFunc
from baton._src.transform.context import PassContext


def extract_tasks(
    mod: Any,
    params: Mapping[str, Any] | None,
    target: Any,
    target_host: Any = None,
    hardware_params: Any = None,
    include_simple_tasks: bool = False,
    dump_workload_to_dag_log: None = None,
    opt_level: int = 3,
    other_targets: None = None,
) -> tuple[list[KernelTask], list[int]]:
    """The kernels of a program, and how many calls of each it has.

    Kernels whose rule leaves nothing open are left out unless `include_simple_tasks`. `target_host` is a CPU;
    `hardware_params` changes nothing.
    """
    refuse_given(dump_workload_to_dag_log=dump_workload_to_dag_log, other_targets=other_targets)
    wire()
    module, found = as_relay_module(mod), chosen_target(target, target_host)
    with found, PassContext(opt_level=opt_level), without_best_kernels():
        kernels = program_kernels(lambda: build_executable(module, found, params)[0])
    pairs = [(KernelTask(kernel.name, kernel.func, found), kernel.weight) for kernel in kernels]
    kept = [(task, weight) for task, weight in pairs if include_simple_tasks or task.space.offers()]
    return [task for task, _ in kept], [weight for _, weight in kept]


class ApplyHistoryBest(BestKernels):
    """The fastest records of logs (paths, or pairs of inputs and results), in force within the `with` block.

    A record belongs to what a kernel computes, on any target: `include_compatible` changes nothing.
    """

    def __init__(
        self, records: str | Path | Iterable[Measured], n_lines: int | None = None, include_compatible: bool = False
    ) -> None:
        pairs = list(load_records(records) if isinstance(records, (str, Path)) else records)
        self._best = fastest(pairs if n_lines is None else pairs[:n_lines])

    def best(self, func: PrimFunc) -> PrimFunc | None:
        """The kernel with the answers of its fastest record; None if there is none."""
        found = self._best.get(json.dumps([KERNEL, workload_key(func)]))
        return None if found is None else func.with_attr(CHOICES, dict(found[0].record))
