"""The tunable kernels of a program, as they were before scheduling, and the time a run spends in each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from baton._src.driver.model.model import Model
from baton._src.driver.tuning.task import Task
from baton._src.driver.tuning_records.place import Place
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import Record
from baton._src.runtime.native.native_plan import Step
from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.runtime.vm.engine import Engine
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.dataclass import dataclass
from baton._src.tir.buffer import constant_shape
from baton._src.tir.kernel_digest import kernel_digest
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.text.printer import script
from baton._src.values.tensor import AnyArray, NDArray

RUNS = 3
"""Profiles, of which each kernel's best time counts."""
PREPARED = "_winograd"
"""What the names of kernels whose weights were transformed end in."""


@dataclass
class Collector:
    """Collects the kernels that schedule rules ask about, while a program is compiled with the rules' own choices."""

    kernels: dict[str, PrimFunc] = field(default_factory=dict)
    constant: set[str] = field(default_factory=set)
    """Convolutions whose weight is known when compiling."""

    def __call__(self, name: str, func: PrimFunc, prepared: bool) -> Record:
        self.kernels[name] = func
        if prepared:
            self.constant.add(name)
        return {}


@dataclass
class Spent:
    """What runs showed of a kernel: seconds of all its calls in a run, their number, shapes of its parameters."""

    seconds: float
    calls: int
    shapes: list[list[int]]
    writes: list[int]


def spent(model: Model, inputs: Sequence[Any], threads: int) -> dict[str, Spent]:
    """By kernel what runs of `model` spend in it. Only kernels of native functions are seen."""
    steps = {step.kernel: step for plan in model.executable.natives.values() for step in plan.steps}
    machine = VirtualMachine(model.executable)
    best: dict[str, Spent] = {}
    pool = thread_pool()
    pool.have(threads)
    with model.entered(inputs) as values, pool.limited(threads):
        machine[model.function](*values)
        for _ in range(RUNS):
            for kernel, found in _one_run(machine, model, values, steps).items():
                if kernel not in best or found.seconds < best[kernel].seconds:
                    best[kernel] = found
    return best


def _one_run(
    machine: VirtualMachine, model: Model, values: tuple[NDArray, ...], steps: Mapping[str, Step]
) -> dict[str, Spent]:
    found: dict[str, Spent] = {}

    def hook(kernel: str, name: str, run: Callable[[], None], tensors: Sequence[AnyArray]) -> None:
        begin = time.perf_counter()
        run()
        seconds = time.perf_counter() - begin
        if kernel not in found:
            order = [k for k in steps[kernel].order if k >= 0]
            shapes = [list(tensors[k].shape) for k in order]
            found[kernel] = Spent(0.0, 0, shapes, [i for i, k in enumerate(order) if k in steps[kernel].writes])
        found[kernel].seconds += seconds
        found[kernel].calls += 1

    engine = Engine(model.executable, machine.engine.functions)
    engine.kernel_hook = hook
    engine.invoke(model.executable.function_index[model.function], values)
    return found


def tasks(collector: Collector, costs: Mapping[str, Spent], target: Target, threads: int) -> list[tuple[Task, Spent]]:
    """The kernels that can be measured by themselves, those first in which a run spends most."""
    place = Place.of(target, threads)
    found: dict[str, tuple[Task, Spent]] = {}
    for name, func in collector.kernels.items():
        cost = costs.get(name) or next((c for n, c in costs.items() if n.rstrip("_") == name + PREPARED), None)
        digest = kernel_digest(func)
        shapes = None if cost is None else _shapes(func, cost)
        if cost is None or digest is None or shapes is None:
            continue
        if digest.name in found:  # the same kernel under another name
            found[digest.name][1].seconds += cost.seconds
            found[digest.name][1].calls += cost.calls
            continue
        facts = (name in collector.constant, target.export(), place.target, threads)
        task = Task(name, digest.name, script(func, name), shapes, cost.writes, *facts)
        found[digest.name] = (task, cost)
    return sorted(found.values(), key=lambda pair: -pair[1].seconds)


def _shapes(func: PrimFunc, cost: Spent) -> list[list[int]] | None:
    """The shapes of the parameters; None if one is not a tensor or its shape is unknown."""
    if any(param not in func.buffer_map for param in func.params) or len(cost.shapes) != len(func.params):
        return None
    found = []
    for param, seen in zip(func.params, cost.shapes):
        fixed = constant_shape(func.buffer_map[param])
        if fixed is None and len(seen) != len(func.buffer_map[param].shape):
            return None
        found.append(list(seen) if fixed is None else list(fixed))
    return found
