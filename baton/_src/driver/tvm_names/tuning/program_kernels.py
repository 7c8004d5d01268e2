"""The kernels of a program, as compilation makes them: what there is to tune, and how often a run calls each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from baton._src.driver.tuning.kernels import PREPARED, Collector
from baton._src.driver.tuning.runs import known_shapes
from baton._src.driver.tvm_names.tuning.workloads import CONSTANT_WEIGHT, workload_key
from baton._src.lower.kernel_schedules.choices import consulting
from baton._src.lower.kernel_schedules.schedule import keeps_its_loops
from baton._src.runtime.executable.executable import Executable
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.prim_func import PrimFunc


@dataclass(frozen=True)
class ProgramKernel:
    """A kernel that can be measured by itself; `weight`: how many calls of it the program has."""

    name: str
    func: PrimFunc
    weight: int


def program_kernels(build: Callable[[], Executable]) -> list[ProgramKernel]:
    """The kernels that rules schedule while `build` compiles a program; equal ones are one.

    Those of open sizes, or with parameters that are no tensors, are left out: nobody knows what to call them with.
    """
    collector = Collector()
    with consulting(collector):
        executable = build()
    calls = Counter(step.kernel for plan in executable.natives.values() for step in plan.steps)
    found: dict[str, ProgramKernel] = {}
    for name, func in collector.kernels.items():
        key = workload_key(func)
        if not key or not is_measurable(func):
            continue
        weight = max(1, calls[name] + sum(n for k, n in calls.items() if k.rstrip("_") == name + PREPARED))
        marked = func.with_attr(CONSTANT_WEIGHT, True) if name in collector.constant else func
        known = found.get(key)
        found[key] = ProgramKernel(name, marked, weight + (known.weight if known else 0))
    return list(found.values())


def is_measurable(func: PrimFunc) -> bool:
    """Whether the kernel takes tensors of known shapes, and is not scheduled yet."""
    if func.loops_chosen or keeps_its_loops(func):
        return False
    try:
        known_shapes(func)
    except DiagnosticError:
        return False
    return True
