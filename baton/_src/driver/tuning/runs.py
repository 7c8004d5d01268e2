"""Run one variant of a kernel in another process: the request (`Run`), the answer (`Times`), the `Runner`.

with Runner() as runner:
    times = runner.run(Run.of(kernel, variant, target, Timing(repeat=3)))

A `Trial` compares two records in turn; a `Run` takes any schedule of a kernel, and says how long its calls take. Its
results are held against the rules' own variant, so that what is fast and wrong is an error. A
`LibraryRun` takes what was compiled already.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import field
from typing import Any, NamedTuple, Self

from baton._src.driver.tuning.child import WORKER, Child, NoAnswer
from baton._src.driver.tuning.task import Message
from baton._src.driver.tuning_records.place import Place
from baton._src.ir.target import Target
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.buffer import constant_shape
from baton._src.tir.prim_func import PrimFunc, as_scheduled
from baton._src.tir.text.printer import script

NAME = "main"
TIME_OUT = 30.0
"""Seconds that a run may take, compilation included."""


class Timing(NamedTuple):
    """How calls are timed: `repeat` means of `number` calls, a number that grows until they take `min_repeat_ms`.

    With `from_memory` calls alternate between copies of the arguments that no cache holds.
    """

    number: int = 3
    repeat: int = 1
    min_repeat_ms: int = 0
    from_memory: bool = False


@dataclass(frozen=True)
class Run(Message):
    """Measure the kernel `variant`, which is to compute what `kernel` does, as a `Timing` says.

    `constant`: a convolution whose weight is known when compiling.
    """

    kernel: str
    variant: str
    shapes: list[list[int]]
    target: dict[str, Any]
    place: str
    number: int
    repeat: int
    min_repeat_ms: int
    from_memory: bool
    constant: bool

    @classmethod
    def of(cls, kernel: PrimFunc, variant: PrimFunc, target: Target, timing: Timing, constant: bool = False) -> Run:
        """The run of `variant`. Error `tuning-kernel`: the kernel has open sizes, or parameters that are no tensors."""
        texts, shapes = (script(kernel, NAME), script(as_scheduled(variant), NAME)), known_shapes(kernel)
        place = Place.of(target).target
        return cls(*texts, shapes, target.export(), place, **timing._asdict(), constant=constant)


@dataclass(frozen=True)
class LibraryRun(Message):
    """Measure the function of the library in the file `library`, on tensors of these shapes and dtypes.

    `kernel`: what it is to compute, for `target`; empty where nobody knows.
    """

    library: str
    shapes: list[list[int]]
    dtypes: list[str]
    number: int
    repeat: int
    min_repeat_ms: int
    from_memory: bool
    target: dict[str, Any]
    kernel: str = ""

    @classmethod
    def of(
        cls,
        library: str,
        tensors: Sequence[tuple[str, Sequence[int]]],
        target: Target,
        timing: Timing,
        kernel: PrimFunc | None = None,
    ) -> LibraryRun:
        """The run of a library on tensors, given as dtypes and shapes."""
        text = "" if kernel is None else script(kernel, NAME)
        dtypes, shapes = [dtype for dtype, _ in tensors], [list(shape) for _, shape in tensors]
        return cls(library, shapes, dtypes, **timing._asdict(), target=target.export(), kernel=text)


@dataclass(frozen=True)
class Times(Message):
    """Seconds of a call, for each repetition; or the reason of a failure."""

    seconds: list[float] = field(default_factory=list)
    error: str = ""

    @property
    def mean(self) -> float:
        """The mean over the repetitions; infinite where the run failed."""
        return math.inf if self.error or not self.seconds else statistics.fmean(self.seconds)


def known_shapes(kernel: PrimFunc) -> list[list[int]]:
    """The shapes of a kernel's parameters."""
    found = []
    for param in kernel.params:
        shape = constant_shape(kernel.buffer_map[param]) if param in kernel.buffer_map else None
        if shape is None:
            help = "tune the kernel at one size: PrimFunc.specialize gives it"
            raise fail("tuning-kernel", f"parameter {param.name} is not a tensor of a known shape", help=help)
        found.append([int(n) for n in shape])
    return found


class Runner:
    """A child process that runs variants, one after the other; it is started when it is first needed."""

    def __init__(self, time_out: float | None = None, command: tuple[str, ...] = WORKER) -> None:
        self.time_out = TIME_OUT if time_out is None else time_out
        self._child = Child(command)

    def run(self, run: Run | LibraryRun) -> Times:
        """How long the calls take; a variant that crashes the process or takes too long is an error of its own."""
        line = self._child.answer(run.to_text(), self.time_out)
        return Times(error=line.why) if isinstance(line, NoAnswer) else Times.from_data(json.loads(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *caught: object) -> None:
        self._child.close()
