"""Measure one trial in this process: compile both variants of the kernel, compare their results, time them alternately.

Each variant gets its own copies of the same arguments, as many as it takes to leave the second-level cache: weights
come from memory in a program, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import cycle
from typing import Any

import numpy as np

from baton._src.codegen.llvm.cache import CacheOptions
from baton._src.codegen.llvm.module import CompileOptions, compile_kernels
from baton._src.driver.tuning.task import Outcome, Task, Trial
from baton._src.driver.tuning_records.place import Place
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import Choices, Record, using
from baton._src.lower.kernel_schedules.convolution.winograd.choice import candidate, chosen
from baton._src.lower.kernel_schedules.convolution.winograd.plan import Winograd
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.kernel_schedules.shared.stages import Declined
from baton._src.lower.relax_to_vm.kernel_arguments import kernel_signature
from baton._src.runtime.native.kernel_function import KernelFunction
from baton._src.runtime.native.library import load
from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.text.parser import parse_text
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray, NDArray

COPIES = 32
MOST_BYTES = 256 << 20
KEPT = 3
SAMPLE = 2e-4
"""Seconds that one measurement should take, so that reading the clock does not count."""
ALLOWED = {"float64": 1e-12, "float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}
"""How far two variants may be apart, relative to the largest result: other orders of summation."""
WINOGRAD_ALLOWED = {name: max(most, 1e-4) for name, most in ALLOWED.items()}


@dataclass(frozen=True)
class Variant:
    """A compiled kernel, and what it wants of the task's arguments."""

    kernel: KernelFunction
    rule: str
    choices: Choices
    plan: Winograd | None = None
    place: int = -1

    def arguments(self, arrays: Sequence[AnyArray]) -> list[NDArray]:
        """Copies of the arguments, the weight as this variant reads it."""
        found = [a.copy() for a in arrays]
        if self.plan is not None:
            weight = np.empty(self.plan.weight_shape(), arrays[self.place].dtype)
            self.plan.write_weights(weight, arrays[self.place])
            found[self.place] = weight
        return [NDArray(a) for a in found]


@dataclass
class Variants:
    """Makes variants, and keeps the latest: what is best so far is asked for again and again."""

    _kept: dict[tuple[str, str], Variant] = field(default_factory=dict)

    def of(self, func: PrimFunc, task: Task, record: Record, target: Target) -> Variant:
        """The variant of a task with `record`."""
        key = (task.to_text(), repr(sorted(record.items())))
        found = self._kept.pop(key, None) or made(func, task, record, target)
        self._kept[key] = found
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return found


def measured(trial: Trial, variants: Variants) -> Outcome:
    """The outcome of a trial; `DiagnosticError` for a task that is not for this machine."""
    task = trial.task
    target = Target(task.target)
    if Place.of(target, task.threads).target != task.place:
        raise fail(
            "tuning-machine",
            "this machine is not of the kind the model is tuned for",
            help="use workers of the same kind",
        )
    func = parse_text(task.text)
    both = [variants.of(func, task, record, target) for record in (trial.base, trial.other)]
    arrays = made_up(func, task.shapes)
    pool = thread_pool()
    pool.have(task.threads)
    with pool.limited(task.threads):
        distance = apart(both, arrays, task.writes)
        calls = [_calls(variant, arrays, target) for variant in both]
        base, other = _interleaved(calls[0], calls[1], trial.seconds)
    offered = {n: (o.default, list(o.candidates)) for n, o in both[1].choices.offered.items()}
    return Outcome(base, other, distance, offered, both[1].rule)


@dataclass(frozen=True)
class Scheduled:
    """A kernel as a rule schedules it with a record, and what the rule left open meanwhile."""

    func: PrimFunc
    rule: str
    choices: Choices
    plan: Winograd | None = None
    place: int = -1


def scheduled(func: PrimFunc, constant: bool, record: Record, target: Target) -> Scheduled:
    """The kernel with `record`; Winograd's variant where that is chosen, as TransformWeights does."""
    with using(Choices(record)) as choices:
        found = candidate(func) if constant else Declined("not constant")
        plan = Declined("") if isinstance(found, Declined) else chosen(found, target)
        if isinstance(found, Declined) or isinstance(plan, Declined):
            decision = decide(func, target)
            return Scheduled(decision.func, decision.rule, choices)
        return Scheduled(found.scheduled(plan, target), "winograd", choices, plan, found.place)


def made(func: PrimFunc, task: Task, record: Record, target: Target) -> Variant:
    """The kernel with `record`, compiled."""
    found = scheduled(func, task.constant, record, target)
    options = CompileOptions(workers=1, cache=CacheOptions(None))
    library = load(compile_kernels({task.name: found.func}, target, options).code)
    kernel = KernelFunction(kernel_signature(task.name, found.func), library.address(task.name), library)
    return Variant(kernel, found.rule, found.choices, found.plan, found.place)


def made_up(func: PrimFunc, shapes: Sequence[Sequence[int]]) -> list[AnyArray]:
    """Arguments of a kernel, as `made_up_arrays` has them."""
    return made_up_arrays([func.buffer_map[param].dtype for param in func.params], shapes)


def made_up_arrays(dtypes: Sequence[DataType], shapes: Sequence[Sequence[int]]) -> list[AnyArray]:
    """Numbers around zero for floats, small indices for integers; the same in every process."""
    random = np.random.default_rng(0)
    found: list[AnyArray] = []
    for dtype, shape in zip(dtypes, shapes):
        if dtype.is_float:
            found.append(random.standard_normal(tuple(shape)).astype(dtype.numpy))
        else:
            found.append(random.integers(0, 2, tuple(shape)).astype(np.bool_ if dtype.is_bool else dtype.numpy))
    return found


def apart(variants: Sequence[Variant], arrays: Sequence[AnyArray], writes: Sequence[int]) -> float:
    """How far the results of variants are apart, 1.0 being what is allowed."""
    results = []
    for variant in variants:
        values = variant.arguments(arrays)
        variant.kernel(*values)
        results.append([values[i].data for i in writes])
    allowed = ALLOWED if all(v.plan is None for v in variants) else WINOGRAD_ALLOWED
    return max((difference(a, b, allowed) for a, b in zip(*results)), default=0.0)


def difference(first: Any, second: Any, allowed: Mapping[str, float] = ALLOWED) -> float:
    """How far two arrays are apart, 1.0 being what is allowed by dtype; infinite where NaNs or integers differ."""
    if first.dtype.name not in allowed:
        return 0.0 if np.array_equal(first, second) else float("inf")
    a, b = first.astype(np.float64), second.astype(np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    a, b = a[finite], b[finite]
    largest = float(np.abs(a).max(initial=0.0))
    most = float(np.abs(a - b).max(initial=0.0))
    return most / (largest * allowed[first.dtype.name]) if largest > 0 else float(most > 0)


def _calls(variant: Variant, arrays: Sequence[AnyArray], target: Target) -> list[Callable[[], None]]:
    """The kernel on several copies of its arguments."""
    return [variant.kernel.bound(*variant.arguments(arrays)) for _ in range(copies(arrays, target))]


def copies(arrays: Sequence[AnyArray], target: Target) -> int:
    """How many copies of the arguments it takes to leave the second-level cache."""
    size = max(1, sum(a.nbytes for a in arrays))
    return max(1, min(COPIES, 4 * target.cpu.l2_bytes // size, MOST_BYTES // size))


def _interleaved(
    base: list[Callable[[], None]], other: list[Callable[[], None]], seconds: float
) -> tuple[list[float], list[float]]:
    """Seconds of a call, in rounds of one sample each; which one comes first alternates."""
    sources = [cycle(base), cycle(other)]
    for source in sources:
        _sample(source, 2)
    number = max(1, min(10_000, int(SAMPLE / max(_sample(sources[0], 3), 1e-8))))
    found: tuple[list[float], list[float]] = ([], [])
    until = time.perf_counter() + seconds
    while len(found[0]) < FEWEST_ROUNDS or (time.perf_counter() < until and len(found[0]) < MOST_ROUNDS):
        order = (0, 1) if len(found[0]) % 2 == 0 else (1, 0)
        for which in order:
            found[which].append(_sample(sources[which], number))
    return found


FEWEST_ROUNDS, MOST_ROUNDS = 7, 400


def _sample(calls: Any, number: int) -> float:
    begin = time.perf_counter()
    for _ in range(number):
        next(calls)()
    return (time.perf_counter() - begin) / number
