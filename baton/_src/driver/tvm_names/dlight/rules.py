"""Default schedules by rules (`tvm.dlight`): a script's own rules are applied; TVM's decline for CPUs.

    @dl.ScheduleRule.from_callable("vectorised")
    def vectorised(func, target, tunable): ...

    with tvm.target.Target("llvm"):
        module = dl.ApplyDefaultSchedule(vectorised, dl.gpu.Fallback())(module)

TVM's rules for GPUs do nothing for a CPU. Neither does its rule for CPUs here: kernels that no rule has scheduled get
baton's own schedules when they are compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from baton._src.driver.targets import chosen_target
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

Rule = Callable[[PrimFunc, Target, bool], Schedule | list[Schedule] | None]


class ScheduleRule:
    """A rule that schedules kernels: scripts override `apply`, or make one of a function by `from_callable`."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | list[Schedule] | None:
        """The kernel scheduled, a list of candidates if `tunable`, or None where the rule does not apply."""
        raise NotImplementedError(f"{type(self).__name__} has no apply(func, target, tunable)")

    def is_target_available(self, target: Target) -> bool:
        """Whether the rule knows the target."""
        return True

    @classmethod
    def from_callable(cls, name: str) -> Callable[[Rule], ScheduleRule]:
        """Decorate a function `(func, target, tunable) -> schedule or None` as the rule `name`."""

        def decorate(apply: Rule) -> ScheduleRule:
            made: ScheduleRule = type(name, (cls,), {"apply": lambda self, *args: apply(*args)})()
            return made

        return decorate


class GPUScheduleRule(ScheduleRule):
    """One of TVM's rules for GPUs."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> None:
        """None: the rule is not for CPUs."""

    def is_target_available(self, target: Target) -> bool:
        return "gpu" in target.keys


class CPUScheduleRule(ScheduleRule):
    """One of TVM's rules for CPUs."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> None:
        """None: what no rule has scheduled, baton schedules."""

    def is_target_available(self, target: Target) -> bool:
        return "cpu" in target.keys


class GEMV(GPUScheduleRule):
    """Products of a matrix and a vector."""


class LowBatchGEMV(GPUScheduleRule):
    """Products of a matrix and few vectors."""

    def __init__(self, bucket: int = 4) -> None:
        self.bucket = bucket


class Matmul(GPUScheduleRule):
    """Products of matrices."""


class Reduction(GPUScheduleRule):
    """Sums and the like over the last axes."""


class GeneralReduction(GPUScheduleRule):
    """Softmax, norms and other chains of reductions."""


class RMSNorm(GPUScheduleRule):
    """Division by the root mean square."""


class Transpose(GPUScheduleRule):
    """Axes moved."""


class Fallback(GPUScheduleRule):
    """Anything else."""


class CPUGEMV(CPUScheduleRule):
    """Products of a matrix and a vector, `dlight.cpu.GEMV`."""


class ApplyDefaultSchedule(Pass):
    """Schedule each kernel by the first of the rules that applies, for the current target (`with target:`).

    Kernels that are scheduled already, and those that no rule takes, stay as they are.
    """

    guarded: ClassVar[bool] = False

    def __init__(self, *rules: ScheduleRule | Rule) -> None:
        self.rules = rules

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        target = chosen_target(None)
        changed = {}
        for var, func in module.functions.items():
            if isinstance(func, PrimFunc) and not func.attrs.get("tir.is_scheduled"):
                found = self._scheduled(func, target)
                if found is not None:
                    changed[var] = found.with_attr("tir.is_scheduled", 1)
        return module.with_functions({**module.functions, **changed}) if changed else module

    def _scheduled(self, func: PrimFunc, target: Target) -> PrimFunc | None:
        for rule in self.rules:
            found = (rule.apply if isinstance(rule, ScheduleRule) else rule)(func, target, False)
            schedules = found if isinstance(found, list) else [] if found is None else [found]
            if len(schedules) > 1:
                message = f"{type(rule).__name__} gave {len(schedules)} schedules for one kernel"
                raise fail("pass-schedule-rule", message, help="where `tunable` is False, a rule gives one, or None")
            if schedules:
                return _only_kernel(schedules[0])
        return None


def _only_kernel(schedule: Schedule) -> PrimFunc:
    """The kernel of a schedule: rules name it as they like."""
    (kernel,) = (f for f in schedule.mod.functions.values() if isinstance(f, PrimFunc))
    return kernel
