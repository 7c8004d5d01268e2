"""`SearchTask`: a computation to be scheduled, named by the function that makes it, or a kernel of a program.

@auto_scheduler.register_workload
def matmul(n): ...; return [A, B, C]
task = auto_scheduler.SearchTask(func=matmul, args=(64,), target="llvm")
task.tune(auto_scheduler.TuningOptions(num_measure_trials=10, measure_callbacks=[auto_scheduler.RecordToFile(log)]))
schedule, args = task.apply_best(log)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from baton._src.driver.targets import chosen_target
from baton._src.driver.tvm_names.tuning.auto_scheduler.compute_dag import ComputeDAG, KernelDAG
from baton._src.driver.tvm_names.tuning.auto_scheduler.options import TuningOptions
from baton._src.driver.tvm_names.tuning.auto_scheduler.policies import SketchPolicy
from baton._src.driver.tvm_names.tuning.auto_scheduler.records import load_best_record
from baton._src.driver.tvm_names.tuning.auto_scheduler.scheduler import TaskScheduler
from baton._src.driver.tvm_names.tuning.auto_scheduler.workload_registry import made_workload, make_workload_key
from baton._src.driver.tvm_names.tuning.refused import refuse_given
from baton._src.driver.tvm_names.tuning.rule_space import RuleSpace
from baton._src.driver.tvm_names.tuning.workloads import KERNEL, workload_key
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import Record
from baton._src.support.diagnostics import fail
from baton._src.te.prim_func import create_prim_func
from baton._src.te.schedule import Schedule
from baton._src.te.tensor import PlaceholderOp, Tensor
from baton._src.tir.prim_func import CHOICES, PrimFunc


class Tunable:
    """The base of both kinds of tasks: a kernel, and the choices its rule leaves open. `workload_key` names it in
    logs.
    """

    def __init__(self, workload_key: str, desc: str, func: PrimFunc, target: Target) -> None:
        self.workload_key, self.desc, self.func, self.target = workload_key, desc, func, target
        self.hardware_params: Any = None
        self.layout_rewrite_option: Any = None

    @property
    def target_host(self) -> Target | None:
        """The host's target, if the task's own names one."""
        return self.target.host_target

    @property
    def space(self) -> RuleSpace:
        """The choices that the rule leaves open."""
        return RuleSpace(self.func, self.target)

    def variant(self, record: Record) -> PrimFunc:
        """The kernel with the answers of a record."""
        return self.func.with_attr(CHOICES, dict(record))

    def tune(
        self,
        tuning_options: TuningOptions,
        search_policy: SketchPolicy | str | None = None,
        adaptive_training: bool = False,
    ) -> None:
        """Measure what the rule leaves open. There is one way to search; a `SketchPolicy` says which logs it starts
        from. Error `api`: the policy is for another task.
        """
        logs: list[str | Path] = []
        if isinstance(search_policy, SketchPolicy):
            if search_policy.task is not self:
                raise fail("api", f"the policy is for {search_policy.task.desc}, not {self.desc}", kind=ValueError)
            logs, search_policy = search_policy.logs, None
        scheduler = TaskScheduler([self])
        for log in logs:
            scheduler.take(log)
        scheduler.tune(tuning_options, search_policy or "default", adaptive_training=adaptive_training)

    def print_best(self, log_file: str | Path, print_mode: str = "schedule") -> str:
        """Python that makes the fastest schedule in a log, on a `tir.Schedule` of the computation."""
        if print_mode != "schedule":
            raise fail("auto-scheduler", f"print_mode {print_mode!r} is for GPUs", help='print_mode="schedule"')
        return f"sch.schedule_by_rule(decision={dict(self.best_record(log_file))!r})"

    def best_record(self, log_file: str | Path) -> Record:
        """The answers of the fastest measurement. Error `auto-scheduler`: the log has none that could be run."""
        found, _ = load_best_record(log_file, self.workload_key)
        if found is None:
            raise fail("auto-scheduler", f"{log_file} has no valid record of {self.desc}", help="tune it first")
        return found.record


class SearchTask(Tunable):
    """See the module. `target_host` is a CPU; `hardware_params` and `layout_rewrite_option` change nothing."""

    def __init__(
        self,
        func: Any = None,
        args: Sequence[Any] | None = None,
        compute_dag: None = None,
        workload_key: str | None = None,
        target: Any = None,
        target_host: Any = None,
        hardware_params: Any = None,
        layout_rewrite_option: Any = None,
        task_inputs: None = None,
        task_inputs_overwrite: bool = False,
        task_inputs_save_to_file: bool = False,
        desc: str = "",
    ) -> None:
        refuse_given(compute_dag=compute_dag, task_inputs=task_inputs)
        if func is None and workload_key is None:
            help = "SearchTask(func=..., args=...), of a registered function"
            raise fail("auto-scheduler", "the task has no func and no workload_key", help=help)
        key = make_workload_key(func, args or ()) if workload_key is None else workload_key
        self.tensors: list[Tensor] = made_workload(key)
        self.compute_dag = ComputeDAG(self.tensors)
        super().__init__(
            key, desc or json.loads(key)[0], create_prim_func(self.tensors), chosen_target(target, target_host)
        )
        self.hardware_params, self.layout_rewrite_option = hardware_params, layout_rewrite_option

    def apply_best(
        self, log_file: str | Path, include_compatible: bool = False, layout_rewrite_option: Any = None
    ) -> tuple[Schedule, list[Tensor]]:
        """`(schedule, tensors)` of the fastest record in a log, for `tvm.build`; the other options change nothing.

        Error `auto-scheduler`: the log has none of this task that could be run.
        """
        outputs: list[Any] = [tensor.op for tensor in self.tensors if not isinstance(tensor.op, PlaceholderOp)]
        return Schedule(outputs, answers=self.best_record(log_file)), list(self.tensors)


class KernelTask(Tunable):
    """A kernel of a program."""

    def __init__(self, name: str, func: PrimFunc, target: Target) -> None:
        super().__init__(json.dumps([KERNEL, workload_key(func)]), name, func, target)
        self.compute_dag = KernelDAG(func)

    def apply_best(
        self, log_file: str | Path, include_compatible: bool = False, layout_rewrite_option: Any = None
    ) -> None:
        """Kernels of programs have no te schedule: `ApplyHistoryBest(log)` puts their records in force."""
        help = f"with ApplyHistoryBest({str(log_file)!r}): build it"
        raise fail("auto-scheduler", f"{self.desc} is a kernel of a program", help=help)


def create_task(
    func: Any, args: Sequence[Any], target: Any, target_host: Any = None, hardware_params: Any = None
) -> SearchTask:
    """TVM's older spelling of `SearchTask`."""
    return SearchTask(func=func, args=args, target=target, target_host=target_host, hardware_params=hardware_params)
