"""Tasks of Relay programs: the kernels of compilation that have tunable choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.driver.relay.executable import as_relay_module, build_executable
from baton._src.driver.targets import chosen_target
from baton._src.driver.tuning_records.in_force import without_best_kernels
from baton._src.driver.tvm_names.tuning.autotvm.task import KernelTask, kernel_task
from baton._src.driver.tvm_names.tuning.program_kernels import program_kernels
from baton._src.driver.wiring import wire


def extract_from_program(
    mod: Any, params: Mapping[str, Any] | None, target: Any, target_host: Any = None, ops: Sequence[Any] | None = None
) -> list[KernelTask]:
    """The kernels of a program that can be measured by themselves.

    `ops` are operators of Relay: only kernels with one of their names in theirs. A kernel whose rule leaves nothing
    open is no task: it has one configuration.
    """
    return extract_from_multiple_program([mod], [params], target, target_host, ops)


def extract_from_multiple_program(
    mods: Sequence[Any],
    params: Sequence[Mapping[str, Any] | None],
    target: Any,
    target_host: Any = None,
    ops: Sequence[Any] | None = None,
) -> list[KernelTask]:
    """The kernels of several programs; equal ones are one. `target_host` has to be a CPU."""
    wire()
    found = chosen_target(target, target_host)
    tasks: dict[str, KernelTask] = {}
    for mod, known in zip(mods, params):
        module = as_relay_module(mod)
        with found, without_best_kernels():
            kernels = program_kernels(lambda: build_executable(module, found, known)[0])  # noqa: B023  # called here
        for kernel in kernels:
            task = kernel_task(kernel, found)
            tasks.setdefault(task.workload[2], task)
    names = None if ops is None else [str(getattr(op, "name", op)).rpartition(".")[2] for op in ops]
    every = [task for task in tasks.values() if len(task.config_space) > 1]
    return [task for task in every if names is None or any(name in task.title for name in names)]
