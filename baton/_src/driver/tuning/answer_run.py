"""Answering a `Run` in this process: compile the way, hold its results against the kernel's, measure it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from baton._src.driver.targets import chosen_target
from baton._src.driver.tir.build import build
from baton._src.driver.tuning.runs import NAME, Run, Times
from baton._src.driver.tuning.task import Task
from baton._src.driver.tuning.trial import copies, difference, made, made_up
from baton._src.driver.tuning_records.place import Place
from baton._src.ir.target import Target
from baton._src.runtime.timing import measure
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import CHOICES, PrimFunc
from baton._src.tir.text.parser import parse_text
from baton._src.values.tensor import AnyArray, NDArray


@dataclass(frozen=True)
class _Compiled:
    """A way of computing a kernel: what is called, with which values for the kernel's arguments."""

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
    """What the kernel that was run last computes: ways of the same kernel come one after the other."""

    _kept: dict[str, list[AnyArray]] = field(default_factory=dict)

    def results(self, run: Run, target: Target, arrays: Sequence[AnyArray]) -> list[AnyArray]:
        """What the rules' way of computing the kernel makes of the arguments."""
        if run.kernel not in self._kept:
            self._kept = {run.kernel: _compiled(parse_text(run.kernel), run, target).results(arrays)}
        return self._kept[run.kernel]


def ran(run: Run, references: References) -> Times:
    """How long calls take; `DiagnosticError`: the task is for another machine, or results differ."""
    target = chosen_target(Target(run.target))
    if Place.of(target).target != run.place:
        raise fail("tuning-machine", "this machine is not the one the kernel is tuned for", help="use workers like it")
    kernel = parse_text(run.kernel)
    arrays = made_up(kernel, run.shapes)
    way = _compiled(parse_text(run.way), run, target)
    expected = references.results(run, target, arrays)
    # The weight that Winograd's way reads is another array: results are those arguments that keep their shapes.
    pairs = [(a, b) for a, b in zip(expected, way.results(arrays)) if a.shape == b.shape]
    apart = max((difference(a, b, way.by_winograd) for a, b in pairs), default=0.0)
    if apart > 1.0:
        raise fail("tuning-results", f"the results are {apart:.1f} times further apart than rounding allows")
    calls = cycle([_call(way, arrays) for _ in range(copies(arrays, target) if run.from_memory else 1)])
    found = measure(lambda: next(calls)(), run.number, run.repeat, run.min_repeat_ms)
    return Times(list(found.results))


def _compiled(func: PrimFunc, run: Run, target: Target) -> _Compiled:
    if not run.constant or func.attrs.get("tir.is_scheduled"):
        module: Any = build(func, target)
        return _Compiled(module, lambda arrays: [NDArray(a.copy()) for a in arrays])
    task = Task(NAME, "", "", run.shapes, [], True, run.target, run.place, target.num_cores)
    way = made(func.without_attr(CHOICES), task, func.attrs.get(CHOICES, {}), target)
    return _Compiled(way.kernel, way.arguments, way.plan is not None)


def _call(way: _Compiled, arrays: Sequence[AnyArray]) -> Callable[[], Any]:
    values = way.arguments(arrays)
    return lambda: way.call(*values)
