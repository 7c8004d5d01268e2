"""Measuring candidates with a builder and a runner.

Where both are baton's own, one child process builds and runs; else the builder writes files, and the runner runs them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol, Self

from baton._src.driver.tuning.runs import Run, Times, Timing
from baton._src.driver.tvm_names.tuning.meta_schedule.building import (
    Builder,
    BuilderInput,
    BuilderResult,
    LocalBuilder,
)
from baton._src.driver.tvm_names.tuning.meta_schedule.records import MeasureCandidate, RunnerResult
from baton._src.driver.tvm_names.tuning.meta_schedule.running import (
    LocalRunner,
    Runner,
    RunnerFuture,
    RunnerInput,
    result_of,
)
from baton._src.driver.tvm_names.tuning.workloads import has_constant_weight, only_kernel
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir.prim_func import PrimFunc

Results = tuple[list[BuilderResult], list[RunnerResult]]
"""Of each candidate, how it was built and how it ran."""
_LOOK_AGAIN = 0.005
"""Seconds between looks at a script's future."""


class Measuring(Protocol):
    """Measures candidates of tasks until the `with` block ends."""

    def results(self, module: IRModule, target: Target, candidates: Sequence[MeasureCandidate]) -> Results:
        """The build results of the candidates and the times of their calls."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *caught: object) -> None: ...


def measuring(builder: Builder, runner: Runner) -> Measuring:
    """A measurer with this builder and this runner."""
    if isinstance(builder, LocalBuilder) and isinstance(runner, LocalRunner) and builder.is_plain and runner.is_plain:
        return TogetherMeasuring(builder, runner)
    return StagedMeasuring(builder, runner)


class TogetherMeasuring:
    """One process compiles schedules and calls them; those that compute something else have failed."""

    def __init__(self, builder: LocalBuilder, runner: LocalRunner) -> None:
        self.runner = runner.opened(builder.timeout_sec + runner.timeout_sec)
        self.timing = Timing(*runner.evaluator_config)

    def results(self, module: IRModule, target: Target, candidates: Sequence[MeasureCandidate]) -> Results:
        kernel = only_kernel(module)
        found = [result_of(self._times(kernel, only_kernel(c.sch.mod), target)) for c in candidates]
        return [BuilderResult(None, None) for _ in candidates], found

    def _times(self, kernel: PrimFunc, variant: PrimFunc, target: Target) -> Times:
        try:
            run = Run.of(kernel, variant, target, self.timing, has_constant_weight(kernel))
        except DiagnosticError as error:
            return Times(error=str(error))
        return self.runner.run(run)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *caught: object) -> None:
        self.runner.__exit__(*caught)


class StagedMeasuring:
    """The builder gives files, and the runner runs those it could build."""

    def __init__(self, builder: Builder, runner: Runner) -> None:
        self.builder, self.runner = builder, runner

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *caught: object) -> None:
        """A script's builder and runner end with the script."""

    def results(self, module: IRModule, target: Target, candidates: Sequence[MeasureCandidate]) -> Results:
        built = self.builder.build([BuilderInput(c.sch.mod, target) for c in candidates])
        _check_count("builder", built, candidates)
        paths = [(b.artifact_path, c.args_info) for b, c in zip(built, candidates) if b.artifact_path]
        inputs = [RunnerInput(path, target.kind.name, info) for path, info in paths]
        ran = iter(self._ran(inputs, target, only_kernel(module)))
        return built, [
            next(ran) if b.artifact_path else RunnerResult(None, b.error_msg or "the builder gave no file")
            for b in built
        ]

    def _ran(self, inputs: Sequence[RunnerInput], target: Target, kernel: PrimFunc) -> list[RunnerResult]:
        if isinstance(self.runner, LocalRunner):
            return self.runner.results(inputs, target, kernel)
        futures = self.runner.run(inputs)
        _check_count("runner", futures, inputs)
        return [_awaited(future) for future in futures]


def _awaited(future: RunnerFuture) -> RunnerResult:
    while not future.done():
        time.sleep(_LOOK_AGAIN)
    return future.result()


def _check_count(what: str, given: Sequence[object], asked: Sequence[object]) -> None:
    if len(given) != len(asked):
        raise fail("api", f"the {what} gave {len(given)} results for {len(asked)} candidates", kind=ValueError)
