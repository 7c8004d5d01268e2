"""Tasks: a template with arguments, or a kernel of a program, each with the space of its knobs.

@autotvm.template("tutorial/matmul")
def matmul(n): ...; return s, [A, B, C]
task = autotvm.task.create("tutorial/matmul", args=(64,), target="llvm")
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import field
from typing import Any, ClassVar

from baton._src.driver.targets import chosen_target
from baton._src.driver.tvm_names.tir.analysis import estimate_tir_flops
from baton._src.driver.tvm_names.tuning.autotvm.config import Config, ConfigEntity, ConfigSpace
from baton._src.driver.tvm_names.tuning.autotvm.dispatch import DispatchContext, with_choices
from baton._src.driver.tvm_names.tuning.program_kernels import ProgramKernel
from baton._src.driver.tvm_names.tuning.rule_space import RuleSpace
from baton._src.driver.tvm_names.tuning.serialized import serialized
from baton._src.driver.tvm_names.tuning.workloads import KERNEL, workload_key
from baton._src.ir.target import Target
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.te.apply_schedule import scheduled_prim_func
from baton._src.te.prim_func import create_prim_func
from baton._src.te.schedule import Schedule
from baton._src.tir.prim_func import PrimFunc

_templates: dict[str, Callable[..., Any]] = {}
_config: ContextVar[Config | None] = ContextVar("config", default=None)


def get_config() -> Config:
    """The configuration that the template at work is to use."""
    found = _config.get()
    if found is None:
        raise fail(
            "autotvm-task", "no template is active", help="call get_config in a function decorated with @template"
        )
    return found


def template(task_name: Any, func: Callable[..., Any] | None = None) -> Any:
    """Name a function that gives `(schedule, tensors)`, and that asks `get_config()` for its knobs.

    Called, it uses the configuration in force (`apply_history_best`), else the first value of each knob.
    """

    def decorate(made: Callable[..., Any]) -> Callable[..., Any]:
        _templates[str(task_name)] = made

        @functools.wraps(made)
        def call(*args: Any) -> Any:
            workload = (str(task_name), *serialized(args))
            return _with_config(made, args, DispatchContext.current.query(chosen_target(None), workload))

        return call

    return decorate if func is None else decorate(func)


def _with_config(made: Callable[..., Any], args: Sequence[Any], config: Config) -> Any:
    token = _config.set(config)
    try:
        return made(*args)
    finally:
        _config.reset(token)


@dataclass(repr=False)
class Task:
    """A tuning task. `workload` names it in logs."""

    kwargs: ClassVar[dict[str, Any]] = {}
    """TVM's arguments by name: there are none, neither here nor there."""

    name: str
    args: tuple[Any, ...]
    target: Target
    config_space: ConfigSpace = field(default_factory=ConfigSpace)
    flop: float = 0.0

    @property
    def workload(self) -> tuple[Any, ...]:
        """Its name and arguments."""
        return (self.name, *serialized(self.args))

    @property
    def target_host(self) -> Target | None:
        """The host's target, if the task's own names one."""
        return self.target.host_target

    @property
    def title(self) -> str:
        """The name for people."""
        return self.name

    def __repr__(self) -> str:
        """As TVM prints it."""
        said = f"func_name={self.name}, args={self.args}, kwargs={self.kwargs}, workload={self.workload}"
        return f"Task({said})"

    def variant(self, config: ConfigEntity) -> tuple[PrimFunc, PrimFunc]:
        """The kernel as it is to be computed, and as `config` computes it."""
        raise NotImplementedError


@dataclass(repr=False)
class TemplateTask(Task):
    """A template with arguments."""

    @property
    def func(self) -> Callable[..., Any]:
        """The template."""
        return _templates[self.name]

    def instantiate(self, config: Config) -> Any:
        """`(schedule, tensors)` of a configuration. Error `autotvm-task`: the template gives something else."""
        with self.target:
            made = _with_config(_templates[self.name], self.args, config)
        if not (isinstance(made, (tuple, list)) and len(made) == 2 and isinstance(made[0], Schedule)):
            message = f"the template {self.name} gave a {type(made).__name__}"
            raise fail("autotvm-task", message, help="return schedule, [tensors]", kind=TypeError)
        if isinstance(config, ConfigEntity) and not config.valid():
            said = "; ".join(config.errors)
            raise fail("autotvm-instantiation", f"{self.name} takes no such configuration: {said}", kind=ValueError)
        return made

    def variant(self, config: ConfigEntity) -> tuple[PrimFunc, PrimFunc]:
        schedule, tensors = self.instantiate(config)
        return create_prim_func(list(tensors)), scheduled_prim_func(schedule, list(tensors))


@dataclass(repr=False)
class KernelTask(Task):
    """A kernel of a program; its knobs are what the rule for the target leaves open."""

    func: PrimFunc = field(kw_only=True)

    @property
    def title(self) -> str:
        return str(self.args[0])

    def variant(self, config: ConfigEntity) -> tuple[PrimFunc, PrimFunc]:
        return self.func, with_choices(self.func, config)


def create(task_name: str, args: Sequence[Any], target: Any, target_host: Any = None) -> Task:
    """The task of a template: it is called once, to define its knobs. `target_host` has to be a CPU.

    Error `autotvm-task`: there is no such template.
    """
    if task_name not in _templates:
        known = ", ".join(sorted(_templates)) or "none"
        raise fail("autotvm-task", f"there is no template {task_name!r}", help=f"known: {known}")
    task = TemplateTask(task_name, tuple(args), chosen_target(target, target_host))
    _, tensors = task.instantiate(task.config_space)
    task.flop = task.config_space.flop or _operations(tensors)
    return task


def _operations(tensors: Sequence[Any]) -> float:
    """The floating-point operations of a kernel; 0 (rates are not told then) if they depend on sizes or elements."""
    try:
        return estimate_tir_flops(create_prim_func(list(tensors)))
    except DiagnosticError:
        return 0.0


def args_to_workload(args: Sequence[Any], task_name: str | None = None) -> tuple[Any, ...]:
    """The name of a template with these arguments in logs; without a name, the form of the arguments in logs."""
    return serialized(args) if task_name is None else (task_name, *serialized(args))


def kernel_task(kernel: ProgramKernel, target: Target) -> KernelTask:
    """The task of a program's kernel."""
    task = KernelTask(KERNEL, (kernel.name, workload_key(kernel.func)), target, func=kernel.func)
    for name, offer in RuleSpace(kernel.func, target).offers().items():
        task.config_space.define_knob(name, offer.candidates)
    return task
