"""Runners run and time object files. A custom one derives from `Runner` and defines `run`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from baton._src.driver.artifacts import load_module
from baton._src.driver.targets import chosen_target
from baton._src.driver.tuning.runs import LibraryRun, Times, Timing
from baton._src.driver.tuning.runs import Runner as ChildRunner
from baton._src.driver.tuning.trial import made_up_arrays
from baton._src.driver.tvm_names.tuning.meta_schedule.building import function_of
from baton._src.driver.tvm_names.tuning.meta_schedule.kinds import created
from baton._src.driver.tvm_names.tuning.meta_schedule.records import RunnerResult, TensorInfo
from baton._src.ir.target import Target
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.device import CPU, Device
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray


class EvaluatorConfig(NamedTuple):
    """How a candidate is timed: `repeat` means of `number` calls; the number grows until they take `min_repeat_ms`.

    With `enable_cpu_cache_flush` calls alternate between copies of the arguments that no cache holds.
    """

    number: int = 3
    repeat: int = 1
    min_repeat_ms: int = 100
    enable_cpu_cache_flush: bool = False


@dataclass(frozen=True)
class RunnerInput:
    """A candidate's file, the kind of its target, and what its kernel takes."""

    artifact_path: str
    device_type: str
    args_info: Sequence[TensorInfo]


class RunnerFuture:
    """A result that may not be there yet: functions that say whether it is, and give it. Scripts may derive from it."""

    def __init__(
        self, f_done: Callable[[], bool] | None = None, f_result: Callable[[], RunnerResult] | None = None
    ) -> None:
        self._f_done, self._f_result = f_done, f_result

    def done(self) -> bool:
        """Whether the result is there."""
        return self._f_done is None or bool(self._f_done())

    def result(self) -> RunnerResult:
        """The result."""
        if self._f_result is None:
            raise fail("api", "the future has no result", help="RunnerFuture(f_done, f_result)", kind=ValueError)
        return self._f_result()


class Runner:
    """Runs candidates."""

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        """A future for each candidate, in order."""
        raise NotImplementedError

    @staticmethod
    def create(kind: Any = "local", *args: Any, **kwargs: Any) -> Runner:
        """A runner by its name, "local"; or the runner itself."""
        if kind == "rpc":
            raise fail("api", "candidates are run on this machine", help='runner="local"', kind=ValueError)
        return created(Runner, "runner", {"local": LocalRunner}, kind, *args, **kwargs)


class LocalRunner(Runner):
    """Runs candidates in a child process; one that takes longer than `timeout_sec` has failed.

    `f_alloc_argument(device, args_info, alloc_repeat)` gives lists of arguments, `f_run_evaluator(library, device,
    evaluator_config, repeated_args)` seconds, `f_cleanup()` is called in the end, and `initializer()` in the beginning.
    They are functions or names of registered ones; given any, candidates are run in this process, where nothing
    interrupts them. `cooldown_sec` changes nothing: calls follow each other.
    """

    def __init__(
        self,
        timeout_sec: float = 30.0,
        evaluator_config: EvaluatorConfig | None = None,
        cooldown_sec: float = 0.0,
        alloc_repeat: int = 1,
        f_alloc_argument: Callable[..., Any] | str | None = None,
        f_run_evaluator: Callable[..., Any] | str | None = None,
        f_cleanup: Callable[[], None] | str | None = None,
        initializer: Callable[[], None] | None = None,
    ) -> None:
        self.timeout_sec = timeout_sec
        self.evaluator_config = evaluator_config or EvaluatorConfig()
        self.alloc_repeat = alloc_repeat
        self.f_alloc_argument = function_of(f_alloc_argument, _default_arguments)
        self.f_run_evaluator = function_of(f_run_evaluator, _default_evaluator)
        self.f_cleanup = function_of(f_cleanup, _default_cleanup)
        self.initializer = initializer
        given = (f_alloc_argument, f_run_evaluator, f_cleanup, initializer)
        self.is_plain = all(one is None for one in given)
        """Whether nothing of a script's takes part, so that another process can do the same."""

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        return [finished(result) for result in self.results(runner_inputs, chosen_target(None), None)]

    def results(
        self, runner_inputs: Sequence[RunnerInput], target: Target, kernel: PrimFunc | None
    ) -> list[RunnerResult]:
        """The results; in the child process, candidates that compute something else than `kernel` have failed."""
        if self.is_plain:
            with ChildRunner(self.timeout_sec) as child:
                return [result_of(child.run(self._request(one, target, kernel))) for one in runner_inputs]
        if self.initializer is not None:
            self.initializer()
        return [self._run_here(one) for one in runner_inputs]

    def _request(self, one: RunnerInput, target: Target, kernel: PrimFunc | None) -> LibraryRun:
        tensors = [(info.dtype, info.shape) for info in one.args_info]
        return LibraryRun.of(one.artifact_path, tensors, target, Timing(*self.evaluator_config), kernel)

    def _run_here(self, one: RunnerInput) -> RunnerResult:
        try:
            library = load_module(one.artifact_path)
            arguments = self.f_alloc_argument(CPU, [info.as_json() for info in one.args_info], self.alloc_repeat)
            seconds = self.f_run_evaluator(library, CPU, self.evaluator_config, arguments)
            return RunnerResult([float(s) for s in seconds])
        except Exception as error:  # of a script's function: it costs this candidate
            return RunnerResult(None, f"LocalRunner: {type(error).__name__}: {error}")
        finally:
            self.f_cleanup()


def finished(result: RunnerResult) -> RunnerFuture:
    """A future whose result is there."""
    return RunnerFuture(lambda: True, lambda: result)


def result_of(times: Times) -> RunnerResult:
    """The answer of a child process as a result."""
    return RunnerResult(None, times.error) if times.error else RunnerResult(times.seconds)


def _default_arguments(device: Device, args_info: Sequence[Any], alloc_repeat: int) -> list[list[NDArray]]:
    infos = [TensorInfo.from_json(info) for info in args_info]
    arrays = made_up_arrays([DataType(info.dtype) for info in infos], [info.shape for info in infos])
    return [[NDArray(a.copy()) for a in arrays] for _ in range(alloc_repeat)]


def _default_evaluator(
    library: Any, device: Device, config: EvaluatorConfig, repeated_args: Sequence[Sequence[NDArray]]
) -> list[float]:
    evaluator = library.time_evaluator(library.entry_name, device, config.number, config.repeat, config.min_repeat_ms)
    return [seconds for args in repeated_args for seconds in evaluator(*args).results]


def _default_cleanup() -> None:
    """Nothing is left behind."""
