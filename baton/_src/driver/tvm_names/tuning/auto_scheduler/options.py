"""Options of measuring: how candidates are compiled and run, how many, and which callbacks get the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from baton._src.driver.tuning.runs import Runner, Timing
from baton._src.driver.tvm_names.remote.measuring import RemoteRunner, Servers
from baton._src.driver.tvm_names.tuning.auto_scheduler.records import MeasureInput, MeasureResult, save_records
from baton._src.support.diagnostics import fail


class PythonBasedMeasureCallback:
    """A callback of the script's own: a class that derives from this one and has a method `callback`."""

    def callback(self, policy: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Gets what was measured, and the results; `policy` is a `SketchPolicy` for the task."""
        raise NotImplementedError(f"{type(self).__name__} has no method callback(policy, inputs, results)")


Callback = PythonBasedMeasureCallback | Callable[[Sequence[MeasureInput], Sequence[MeasureResult]], None]
"""What is told each round of measurements; a function gets the inputs and the results."""


class RecordToFile(PythonBasedMeasureCallback):
    """Appends each measurement to a log, which is there even if nothing is measured."""

    def __init__(self, filename: str | Path) -> None:
        self.filename = Path(filename)
        self.filename.parent.mkdir(parents=True, exist_ok=True)
        self.filename.touch()

    def callback(self, policy: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Write the measurements, whatever made them."""
        save_records(self.filename, inputs, results)


class LocalBuilder:
    """Candidates are compiled by the process that runs them, one at a time, within `timeout` seconds."""

    def __init__(self, timeout: float = 15, n_parallel: int | None = None, build_func: str = "default") -> None:
        if build_func != "default":
            raise fail("api", "candidates are compiled by baton's own process", help="leave build_func out")
        self.timeout = timeout


class LocalRunner:
    """Candidates are run one after the other: `repeat` means of `number` calls, within `timeout` seconds.

    `cooldown_interval` and `device` change nothing: there are no pauses, and one CPU.
    """

    def __init__(
        self,
        timeout: float = 10,
        number: int = 3,
        repeat: int = 1,
        min_repeat_ms: int = 100,
        cooldown_interval: float = 0.0,
        enable_cpu_cache_flush: bool = False,
        device: int = 0,
    ) -> None:
        self.timeout = timeout
        self.timing = Timing(number, repeat, min_repeat_ms, enable_cpu_cache_flush)

    def opened(self, seconds: float) -> Runner:
        """What runs a candidate within so many seconds."""
        return Runner(seconds)


class RPCRunner(LocalRunner):
    """Candidates are compiled and run on a server of this `key`, one after the other; the tracker at `host` and `port`
    knows which is free. Other parameters are those of `LocalRunner`; `n_parallel` changes nothing.
    """

    def __init__(
        self,
        key: str,
        host: str,
        port: int,
        priority: int = 1,
        n_parallel: int = 1,
        timeout: float = 10,
        number: int = 3,
        repeat: int = 1,
        min_repeat_ms: int = 100,
        cooldown_interval: float = 0.0,
        enable_cpu_cache_flush: bool = False,
        device: int = 0,
    ) -> None:
        super().__init__(timeout, number, repeat, min_repeat_ms, cooldown_interval, enable_cpu_cache_flush, device)
        self.servers = Servers(key, host, port, priority)

    def opened(self, seconds: float) -> Runner:
        return RemoteRunner(self.servers, seconds)


class TuningOptions:
    """The number of measurements, how to measure, and the callbacks for the results. `verbose` has no effect: nothing
    is printed.
    """

    def __init__(
        self,
        num_measure_trials: int = 0,
        early_stopping: int | None = None,
        num_measures_per_round: int = 64,
        verbose: int = 1,
        builder: LocalBuilder | str = "local",
        runner: LocalRunner | str = "local",
        measure_callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.num_measure_trials = num_measure_trials
        self.early_stopping = early_stopping
        self.num_measures_per_round = max(1, num_measures_per_round)
        builder = LocalBuilder() if builder == "local" else builder
        runner = LocalRunner() if runner == "local" else runner
        if not isinstance(builder, LocalBuilder) or not isinstance(runner, LocalRunner):
            raise fail("api", "nothing else measures candidates", help="LocalBuilder, LocalRunner and RPCRunner do")
        self.builder, self.runner = builder, runner
        self.measure_callbacks = list(measure_callbacks or ())
