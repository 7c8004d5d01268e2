"""Runners run and time object files. A custom one derives from `Runner` and defines `run`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from baton._src.driver.artifacts import load_module
from baton._src.driver.targets import chosen_target
from baton._src.driver.tuning.runs import LibraryRun, Times, Timing
from baton._src.driver.tuning.runs import Runner as ChildRunner
from baton._src.driver.tuning.trial import made_up_arrays
from baton._src.driver.tvm_names.remote.measuring import RemoteRunner, Servers
from baton._src.driver.tvm_names.remote.session import RPCSession, TrackerSession, connect_tracker
from baton._src.driver.tvm_names.tuning.meta_schedule.building import function_of
from baton._src.driver.tvm_names.tuning.meta_schedule.kinds import created
from baton._src.driver.tvm_names.tuning.meta_schedule.records import RunnerResult, TensorInfo
from baton._src.driver.tvm_names.tuning.refused import refuse_given
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
        return created(Runner, "runner", {"local": LocalRunner, "rpc": RPCRunner}, kind, *args, **kwargs)


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
            with self.opened(self.timeout_sec) as child:
                return [result_of(child.run(self._request(one, target, kernel))) for one in runner_inputs]
        if self.initializer is not None:
            self.initializer()
        return [self._run_here(one) for one in runner_inputs]

    def opened(self, seconds: float) -> ChildRunner:
        """What runs a candidate within so many seconds, if the runner is plain."""
        return ChildRunner(seconds)

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


class RPCConfig(NamedTuple):
    """The tracker that knows servers, and their key; where nothing is given, as TVM_TRACKER_HOST, TVM_TRACKER_PORT and
    TVM_TRACKER_KEY say.
    """

    tracker_host: str | None = None
    tracker_port: int | str | None = None
    tracker_key: str | None = None
    session_priority: int = 1
    session_timeout_sec: int = 10

    def servers(self) -> Servers:
        """The servers. Error (`api`): nothing says where the tracker is."""
        found = {}
        for name, given in (("host", self.tracker_host), ("port", self.tracker_port), ("key", self.tracker_key)):
            found[name] = str(given or os.environ.get(f"TVM_TRACKER_{name.upper()}", ""))
            if not found[name]:
                help = f"RPCConfig(tracker_{name}=...), or set TVM_TRACKER_{name.upper()}"
                raise fail("api", f"nothing says what the tracker's {name} is", help=help, kind=ValueError)
        return Servers(found["key"], found["host"], int(found["port"]), self.session_priority)

    def connect_tracker(self) -> TrackerSession:
        """A connection to the tracker."""
        servers = self.servers()
        return connect_tracker(servers.host, servers.port)

    def connect_server(self) -> RPCSession:
        """A session on one of the servers."""
        return self.servers().request(self.session_timeout_sec)

    def count_num_servers(self, allow_missing: bool = True) -> int:
        """How many servers of the key the tracker knows; without `allow_missing`, none is an error."""
        key = f"server:{self.servers().key}"
        count: int = sum(server["key"] == key for server in self.connect_tracker().summary()["server_info"])
        if not count and not allow_missing:
            raise fail("api", f"the tracker knows no server of the key {key!r}", help="start one: rpc_server --key")
        return count


class RPCRunner(LocalRunner):
    """Runs candidates on a server of those that `rpc_config` tells of; other parameters are those of `LocalRunner`.

    `max_workers` changes nothing: candidates are run one after the other. Functions of a script's that take part
    (`f_create_session`, ...) are refused.
    """

    def __init__(
        self,
        rpc_config: RPCConfig | None = None,
        evaluator_config: EvaluatorConfig | None = None,
        cooldown_sec: float = 0.0,
        alloc_repeat: int = 1,
        f_create_session: None = None,
        f_upload_module: None = None,
        f_alloc_argument: None = None,
        f_run_evaluator: None = None,
        f_cleanup: None = None,
        max_workers: int | None = None,
        initializer: None = None,
    ) -> None:
        refuse_given(
            f_create_session=f_create_session,
            f_upload_module=f_upload_module,
            f_alloc_argument=f_alloc_argument,
            f_run_evaluator=f_run_evaluator,
            f_cleanup=f_cleanup,
            initializer=initializer,
        )
        self.rpc_config = rpc_config or RPCConfig()
        self.servers = self.rpc_config.servers()
        super().__init__(self.rpc_config.session_timeout_sec, evaluator_config, cooldown_sec, alloc_repeat)

    def opened(self, seconds: float) -> ChildRunner:
        return RemoteRunner(self.servers, seconds)


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
