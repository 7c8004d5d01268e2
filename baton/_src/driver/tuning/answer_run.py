"""Answer a `Run` in this process: compile the variant, compare its results with the kernel's, measure it.

A `LibraryRun` is answered likewise, by what its file holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from itertools import cycle
from typing import Any

from baton._src.driver.artifacts import load_module
from baton._src.driver.targets import chosen_target
from baton._src.driver.tir.build import build
from baton._src.driver.tuning.runs import NAME, LibraryRun, Run, Times
from baton._src.driver.tuning.task import Task
from baton._src.driver.tuning.trial import ALLOWED, WINOGRAD_ALLOWED, copies, difference, made, made_up, made_up_arrays
from baton._src.driver.tuning_records.place import Place
from baton._src.ir.target import Target
from baton._src.runtime.timing import measure
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import CHOICES, PrimFunc
from baton._src.tir.text.parser import parse_text
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray, NDArray

Results = Sequence[AnyArray]
"""All arguments of a kernel after a call."""


@dataclass(frozen=True)
class _Compiled:
    """A variant of a kernel: what is called, with which values for the kernel's arguments."""

    call: Callable[..., Any]
    arguments: Callable[[Sequence[AnyArray]], list[NDArray]]
    by_winograd: bool = False

    def results(self, arrays: Sequence[AnyArray]) -> list[AnyArray]:
        """All arguments after a call."""
        values = self.arguments(arrays)
        self.call(*values)
        return [value.data for value in values]


@dataclass
class References:
    """What the kernel that was run last computes: variants of the same kernel come one after the other."""

    _kept: dict[str, list[AnyArray]] = field(default_factory=dict)

    def results(self, kernel: str, compiled: Callable[[PrimFunc], _Compiled], arrays: Sequence[AnyArray]) -> Results:
        """What the rules' own variant makes of the arguments."""
        if kernel not in self._kept:
            self._kept = {kernel: compiled(parse_text(kernel)).results(arrays)}
        return self._kept[kernel]


def ran(run: Run, references: References) -> Times:
    """How long calls take; `DiagnosticError`: the task is for another machine, or results differ."""
    target = chosen_target(Target(run.target))
    if Place.of(target).target != run.place:
        raise fail(
            "tuning-machine",
            "this machine is not of the kind the kernel is tuned for",
            help="use workers of the same kind",
        )
    arrays = made_up(parse_text(run.kernel), run.shapes)
    variant = _compiled(parse_text(run.variant), run, target)
    _check(variant, arrays, references.results(run.kernel, lambda kernel: _compiled(kernel, run, target), arrays))
    return _times(run, variant, arrays, target)


def ran_library(run: LibraryRun, references: References) -> Times:
    """How long calls of the library's function take; `DiagnosticError`: it cannot be loaded, or results differ."""
    target = chosen_target(Target(run.target))
    arrays = made_up_arrays([DataType(dtype) for dtype in run.dtypes], run.shapes)
    variant = _called(load_module(run.library))
    if run.kernel:
        _check(variant, arrays, references.results(run.kernel, lambda kernel: _called(build(kernel, target)), arrays))
    return _times(run, variant, arrays, target)


def _check(variant: _Compiled, arrays: Sequence[AnyArray], expected: Results) -> None:
    # The weight that Winograd's variant reads is another array: results are those arguments that keep their shapes.
    pairs = [(a, b) for a, b in zip(expected, variant.results(arrays)) if a.shape == b.shape]
    allowed = WINOGRAD_ALLOWED if variant.by_winograd else ALLOWED
    apart = max((difference(a, b, allowed) for a, b in pairs), default=0.0)
    if apart > 1.0:
        raise fail("tuning-results", f"the results are {apart:.1f} times further apart than rounding allows")


def _times(run: Run | LibraryRun, variant: _Compiled, arrays: Sequence[AnyArray], target: Target) -> Times:
    calls = cycle([_call(variant, arrays) for _ in range(copies(arrays, target) if run.from_memory else 1)])
    found = measure(lambda: next(calls)(), run.number, run.repeat, run.min_repeat_ms)
    return Times(list(found.results))


def _called(module: Any) -> _Compiled:
    return _Compiled(module, lambda arrays: [NDArray(a.copy()) for a in arrays])


def _compiled(func: PrimFunc, run: Run, target: Target) -> _Compiled:
    if not run.constant or func.attrs.get("tir.is_scheduled"):
        return _called(build(func, target))
    task = Task(NAME, "", "", run.shapes, [], True, run.target, run.place, target.num_cores)
    variant = made(func.without_attr(CHOICES), task, func.attrs.get(CHOICES, {}), target)
    return _Compiled(variant.kernel, variant.arguments, variant.plan is not None)


def _call(variant: _Compiled, arrays: Sequence[AnyArray]) -> Callable[[], Any]:
    values = variant.arguments(arrays)
    return lambda: variant.call(*values)
