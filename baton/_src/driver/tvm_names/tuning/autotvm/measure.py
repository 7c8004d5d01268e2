"""Measuring configurations, in a child process."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Self

from baton._src.driver.tuning.runs import Run, Runner, Timing
from baton._src.driver.tvm_names.remote.measuring import RemoteRunner, Servers
from baton._src.driver.tvm_names.tuning.autotvm.config import ConfigEntity
from baton._src.driver.tvm_names.tuning.autotvm.task import Task
from baton._src.driver.tvm_names.tuning.refused import refuse_given
from baton._src.driver.tvm_names.tuning.workloads import has_constant_weight
from baton._src.ir.target import Target
from baton._src.support.diagnostics import BatonError, fail


class MeasureErrorNo(IntEnum):
    """The outcome of a measurement."""

    NO_ERROR = 0
    INSTANTIATION_ERROR = 1
    COMPILE_HOST = 2
    COMPILE_DEVICE = 3
    RUNTIME_DEVICE = 4
    WRONG_ANSWER = 5
    BUILD_TIMEOUT = 6
    RUN_TIMEOUT = 7
    UNKNOWN_ERROR = 8


class MeasureInput(NamedTuple):
    """The input of a measurement: a configuration of a task."""

    target: Target
    task: Task
    config: ConfigEntity


class MeasureResult(NamedTuple):
    """Seconds of a call, repetition by repetition, or a text that says why there are none; when it was measured."""

    costs: tuple[Any, ...]
    error_no: int
    all_cost: float
    timestamp: float

    @property
    def mean(self) -> float:
        """The mean seconds; infinite where nothing was measured."""
        return statistics.fmean(self.costs) if self.error_no == 0 else math.inf


class LocalBuilder:
    """Configurations are compiled by the process that runs them, one at a time, within `timeout` seconds.

    `n_parallel`, `do_fork` and `runtime` change nothing.
    """

    def __init__(
        self,
        timeout: float = 10,
        n_parallel: int | None = None,
        build_kwargs: None = None,
        build_func: str = "default",
        do_fork: bool = False,
        runtime: Any = None,
    ) -> None:
        refuse_given(build_kwargs=build_kwargs)
        if build_func != "default":
            raise fail("api", "configurations are compiled by baton's own process", help="leave build_func out")
        self.timeout = timeout


class LocalRunner:
    """Configurations are run one after the other: `repeat` means of `number` calls, within `timeout` seconds.

    There are no pauses: `cooldown_interval` changes nothing.
    """

    def __init__(
        self,
        timeout: float = 10,
        number: int = 4,
        repeat: int = 3,
        min_repeat_ms: int = 0,
        cooldown_interval: float = 0.1,
        enable_cpu_cache_flush: bool = False,
        module_loader: None = None,
    ) -> None:
        refuse_given(module_loader=module_loader)
        self.timeout = timeout
        self.timing = Timing(number, repeat, min_repeat_ms, enable_cpu_cache_flush)

    def opened(self, seconds: float) -> Runner:
        """What runs a configuration within so many seconds."""
        return Runner(seconds)


class RPCRunner(LocalRunner):
    """Configurations are compiled and run on a server of this `key`, one after the other; the tracker at `host` and
    `port` knows which is free. Other parameters are those of `LocalRunner`; `n_parallel` changes nothing.
    """

    def __init__(
        self,
        key: str,
        host: str,
        port: int,
        priority: int = 1,
        timeout: float = 10,
        n_parallel: int | None = None,
        number: int = 4,
        repeat: int = 3,
        min_repeat_ms: int = 0,
        cooldown_interval: float = 0.1,
        enable_cpu_cache_flush: bool = False,
        module_loader: None = None,
    ) -> None:
        super().__init__(
            timeout, number, repeat, min_repeat_ms, cooldown_interval, enable_cpu_cache_flush, module_loader
        )
        self.servers = Servers(key, host, port, priority)

    def opened(self, seconds: float) -> Runner:
        return RemoteRunner(self.servers, seconds)


def measure_option(builder: Any, runner: Any) -> dict[str, Any]:
    """Options for measuring configurations: a LocalBuilder (or "local") and a LocalRunner or RPCRunner."""
    found = {
        "builder": LocalBuilder() if builder == "local" else builder,
        "runner": LocalRunner() if runner == "local" else runner,
    }
    for name, cls in (("builder", LocalBuilder), ("runner", LocalRunner)):
        if not isinstance(found[name], cls):
            raise fail("api", f"{found[name]!r} is no {cls.__name__}", help="LocalBuilder, LocalRunner and RPCRunner")
    return found


class Measuring:
    """Measures configurations of a task until the `with` block ends."""

    def __init__(self, option: dict[str, Any]) -> None:
        self.runner: Runner = option["runner"].opened(option["builder"].timeout + option["runner"].timeout)
        self.timing: Timing = option["runner"].timing

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *caught: object) -> None:
        self.runner.__exit__(*caught)

    def results(self, inputs: Sequence[MeasureInput]) -> list[MeasureResult]:
        """The results, in order; what fails costs that configuration only."""
        return [self._result(one) for one in inputs]

    def _result(self, inp: MeasureInput) -> MeasureResult:
        begin = time.time()
        made = _run_of(inp, self.timing)
        if isinstance(made, MeasureResult):
            return made
        times = self.runner.run(made)
        spent = time.time() - begin
        if not times.error:
            return MeasureResult(tuple(times.seconds), MeasureErrorNo.NO_ERROR, spent, time.time())
        return MeasureResult((times.error,), _error_number(times.error), spent, time.time())


class MeasureBatch:
    """A function of a batch of inputs that measures them, in order, in a child process."""

    n_parallel = 1
    attach_objects = None

    def __init__(self, option: dict[str, Any]) -> None:
        self.option = option

    def __call__(self, measure_inputs: Sequence[MeasureInput]) -> list[MeasureResult]:
        with Measuring(self.option) as measuring:
            return measuring.results(measure_inputs)


def create_measure_batch(task: Task, option: dict[str, Any]) -> MeasureBatch:
    """A function that measures configurations of a task as given by `measure_option`, outside of a tuner."""
    if not isinstance(task, Task):
        raise fail("api", f"{task!r} is not a task", help="autotvm.task.create makes tasks", kind=TypeError)
    return MeasureBatch(option)


def _run_of(inp: MeasureInput, timing: Timing) -> Run | MeasureResult:
    """The run of a configuration; the result, if its template makes no schedule of it."""
    try:
        kernel, variant = inp.task.variant(inp.config)
        return Run.of(kernel, variant, inp.target, timing, has_constant_weight(kernel))
    except BatonError as error:
        return MeasureResult((str(error),), MeasureErrorNo.INSTANTIATION_ERROR, 0.0, time.time())


def _error_number(error: str) -> MeasureErrorNo:
    if "tuning-results" in error:
        return MeasureErrorNo.WRONG_ANSWER
    return MeasureErrorNo.RUN_TIMEOUT if error.startswith("no answer") else MeasureErrorNo.RUNTIME_DEVICE


Callback = Callable[[Any, Sequence[MeasureInput], Sequence[MeasureResult]], None]
"""Gets each batch: the tuner, what was measured, and the results."""
