"""Who builds and runs candidates: a child process, which compiles a schedule and calls it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from baton._src.driver.tuning.runs import Run, Times, Timing
from baton._src.driver.tuning.runs import Runner as KernelRunner
from baton._src.driver.tvm_names.tuning.meta_schedule.records import MeasureCandidate, RunnerResult
from baton._src.driver.tvm_names.tuning.workloads import has_constant_weight, only_kernel
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir.prim_func import PrimFunc

_OWN = "candidates are built and run by baton's own process, which keeps no files of them"


class EvaluatorConfig(NamedTuple):
    """How a candidate is timed: `repeat` means of `number` calls, which grow until they take `min_repeat_ms`.

    With `enable_cpu_cache_flush` calls alternate between copies of the arguments that no cache holds.
    """

    number: int = 3
    repeat: int = 1
    min_repeat_ms: int = 100
    enable_cpu_cache_flush: bool = False


class LocalBuilder:
    """Compiles candidates in the process that runs them, within `timeout_sec`. `max_workers`: one is all that runs."""

    def __init__(
        self,
        *,
        max_workers: int | None = None,
        timeout_sec: float = 30.0,
        f_build: Any = None,
        f_export: Any = None,
        initializer: Any = None,
    ) -> None:
        _refuse_functions(f_build=f_build, f_export=f_export, initializer=initializer)
        self.max_workers = max_workers
        self.timeout_sec = timeout_sec

    @staticmethod
    def create(kind: Any = "local", *args: Any, **kwargs: Any) -> LocalBuilder:
        """A builder by its name: "local"."""
        found: LocalBuilder = _created(LocalBuilder, "builder", kind, *args, **kwargs)
        return found


class LocalRunner:
    """Runs candidates in a child process. One that takes longer than `timeout_sec` has failed.

    `cooldown_sec` and `alloc_repeat` change nothing: arguments are made once, calls follow each other.
    """

    def __init__(
        self,
        timeout_sec: float = 30.0,
        evaluator_config: EvaluatorConfig | None = None,
        cooldown_sec: float = 0.0,
        alloc_repeat: int = 1,
        f_alloc_argument: Any = None,
        f_run_evaluator: Any = None,
        f_cleanup: Any = None,
        initializer: Any = None,
    ) -> None:
        given = {"f_alloc_argument": f_alloc_argument, "f_run_evaluator": f_run_evaluator, "f_cleanup": f_cleanup}
        _refuse_functions(**given, initializer=initializer)
        self.timeout_sec = timeout_sec
        self.evaluator_config = evaluator_config or EvaluatorConfig()

    @staticmethod
    def create(kind: Any = "local", *args: Any, **kwargs: Any) -> LocalRunner:
        """A runner by its name: "local"."""
        if kind == "rpc":
            raise fail("api", "candidates are run on this machine", help='runner="local"', kind=ValueError)
        found: LocalRunner = _created(LocalRunner, "runner", kind, *args, **kwargs)
        return found


def _created(cls: Any, what: str, kind: Any, *args: Any, **kwargs: Any) -> Any:
    if isinstance(kind, cls):
        return kind
    if kind != "local":
        raise fail("api", f"cannot use the {what} {kind!r}: {_OWN}", help=f'{what}="local"', kind=TypeError)
    return cls(*args, **kwargs)


def _refuse_functions(**given: Any) -> None:
    for name, function in given.items():
        if function is not None:
            raise fail("api", f"{name}: {_OWN}", help="leave it out")


class Measuring(KernelRunner):
    """Runs candidates of tasks as a builder and a runner say, until the `with` block ends."""

    def __init__(self, builder: LocalBuilder, runner: LocalRunner) -> None:
        super().__init__(builder.timeout_sec + runner.timeout_sec)
        self.timing = Timing(*runner.evaluator_config)

    def results(self, module: IRModule, target: Target, candidates: Sequence[MeasureCandidate]) -> list[RunnerResult]:
        """How long each candidate's calls take; those that compute something else than `module` have failed."""
        kernel = only_kernel(module)
        return [_result(self._times(kernel, only_kernel(c.sch.mod), target)) for c in candidates]

    def _times(self, kernel: PrimFunc, way: PrimFunc, target: Target) -> Times:
        try:
            run = Run.of(kernel, way, target, self.timing, has_constant_weight(kernel))
        except DiagnosticError as error:
            return Times(error=str(error))
        return self.run(run)


def _result(times: Times) -> RunnerResult:
    return RunnerResult(None, times.error) if times.error else RunnerResult(times.seconds)
