"""`SearchTask`: a computation to be scheduled, named by the function that makes it, or a kernel of a program.

@auto_scheduler.register_workload
def matmul(n): ...; return [A, B, C]
task = auto_scheduler.SearchTask(func=matmul, args=(64,), target="llvm")
task.tune(auto_scheduler.TuningOptions(num_measure_trials=10, measure_callbacks=[auto_scheduler.RecordToFile(log)]))
schedule, args = task.apply_best(log)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from baton._src.driver.targets import chosen_target
from baton._src.driver.tvm_names.tuning.auto_scheduler.records import best_record
from baton._src.driver.tvm_names.tuning.auto_scheduler.search import TaskScheduler
from baton._src.driver.tvm_names.tuning.autotvm.task import serialized
from baton._src.driver.tvm_names.tuning.rule_space import RuleSpace
from baton._src.driver.tvm_names.tuning.workloads import CONSTANT_WEIGHT, workload_key
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import Record
from baton._src.support.diagnostics import fail
from baton._src.te.prim_func import create_prim_func
from baton._src.te.schedule import Schedule
from baton._src.te.tensor import PlaceholderOp, Tensor
from baton._src.tir.prim_func import CHOICES, PrimFunc

KERNEL = "baton.kernel"
"""The name of workloads that are kernels of programs, in logs."""
_workloads: dict[str, Callable[..., Sequence[Tensor]]] = {}


def register_workload(func_name: Any, f: Callable[..., Any] | None = None, override: bool = False) -> Any:
    """Name a function that gives the tensors of a computation, inputs and outputs; bare, it takes its own name."""
    if callable(func_name):
        return _register(func_name.__name__, func_name, override)
    if f is not None:
        return _register(func_name, f, override)
    return lambda function: _register(func_name, function, override)


def _register(name: str, function: Callable[..., Any], override: bool) -> Callable[..., Any]:
    if name in _workloads and not override:
        help = "pass override=True to replace it"
        raise fail("auto-scheduler", f"a workload {name!r} is registered already", help=help)
    _workloads[name] = function
    return function


def make_workload_key(func: Any, args: Sequence[Any]) -> str:
    """The name of a workload and its arguments as one text."""
    name = func if isinstance(func, str) else func.__name__
    if name not in _workloads:
        help = "@auto_scheduler.register_workload names it"
        raise fail("auto-scheduler", f"{name!r} is no registered workload", help=help)
    return json.dumps([name, *serialized(args)])


class SearchTask:
    """See the module. `workload_key` names it in logs."""

    def __init__(
        self,
        func: Any = None,
        args: Sequence[Any] | None = None,
        compute_dag: Any = None,
        workload_key: str | None = None,
        target: Any = None,
        target_host: Any = None,
        hardware_params: Any = None,
        layout_rewrite_option: Any = None,
        task_inputs: Any = None,
        task_inputs_overwrite: bool = False,
        task_inputs_save_to_file: bool = False,
        desc: str = "",
    ) -> None:
        for name, given in (("compute_dag", compute_dag), ("task_inputs", task_inputs)):
            if given is not None:
                raise fail("auto-scheduler", f"{name} is not implemented", help="give func and args")
        self.workload_key = make_workload_key(func, args or ()) if workload_key is None else workload_key
        name, *self._args = json.loads(self.workload_key)
        if name not in _workloads:
            raise fail("auto-scheduler", f"{name!r} is no registered workload")
        self.tensors = list(_workloads[name](*(tuple(a) if isinstance(a, list) else a for a in self._args)))
        self.target = chosen_target(target)
        self.desc = desc or name
        self.func = create_prim_func(self.tensors)

    @property
    def space(self) -> RuleSpace:
        """What the rule leaves open."""
        return RuleSpace(self.func, self.target, self.constant)

    @property
    def constant(self) -> bool:
        """Whether it is a convolution whose weight is known when compiling."""
        return bool(self.func.attrs.get(CONSTANT_WEIGHT))

    def tune(self, tuning_options: Any, search_policy: Any = None, adaptive_training: bool = False) -> None:
        """Measure what the rule leaves open. There is one way to search: a policy may only be the default."""
        TaskScheduler([self]).tune(tuning_options, search_policy or "default")

    def apply_best(self, log_file: Any, include_compatible: bool = False, layout_rewrite_option: Any = None) -> Any:
        """`(schedule, tensors)` of the fastest record in a log, for `tvm.build`.

        Error `auto-scheduler`: the log has none of this task that could be run.
        """
        outputs: list[Any] = [tensor.op for tensor in self.tensors if not isinstance(tensor.op, PlaceholderOp)]
        return Schedule(outputs, answers=self._best(log_file)), list(self.tensors)

    def print_best(self, log_file: Any, print_mode: str = "schedule") -> str:
        """Python that makes the fastest schedule in a log, on a `tir.Schedule` of the computation."""
        if print_mode != "schedule":
            raise fail("auto-scheduler", f"print_mode {print_mode!r} is for GPUs", help='print_mode="schedule"')
        return f"sch.schedule_by_rule(decision={dict(self._best(log_file))!r})"

    def _best(self, log_file: Any) -> Record:
        found = best_record(log_file, self.workload_key)
        if found is None:
            raise fail("auto-scheduler", f"{log_file} has no valid record of {self.desc}", help="tune it first")
        return found

    def way(self, record: Record) -> PrimFunc:
        """The kernel with the answers of a record."""
        return self.func.with_attr(CHOICES, dict(record))


class KernelTask(SearchTask):
    """A kernel of a program."""

    def __init__(self, name: str, func: PrimFunc, target: Target) -> None:
        self.workload_key = json.dumps([KERNEL, workload_key(func)])
        self.target, self.desc, self.func, self.tensors = target, name, func, []

    def apply_best(self, log_file: Any, include_compatible: bool = False, layout_rewrite_option: Any = None) -> Any:
        """Kernels of programs have no te schedule: `ApplyHistoryBest(log)` puts their records in force."""
        raise fail(
            "auto-scheduler", f"{self.desc} is a kernel of a program", help="with ApplyHistoryBest(log): build it"
        )


def create_task(func: Any, args: Sequence[Any], target: Any, target_host: Any = None, **_others: Any) -> SearchTask:
    """TVM's older spelling of `SearchTask`."""
    return SearchTask(func=func, args=args, target=target)
