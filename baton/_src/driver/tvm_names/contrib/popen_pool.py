"""Run functions in worker processes, which may crash or hang (`tvm.contrib.popen_pool`).

    worker = PopenWorker(); worker.send(function, (1, 2), timeout=5); worker.recv()
    pool = PopenPoolExecutor(max_workers=2); pool.submit(function, 1).result()

Functions, arguments and results travel by `pickle`: functions are those of modules, or of the program itself (which
the process executes once as `__mp_main__`: keep what it does under `if __name__ == "__main__":`).
"""

from __future__ import annotations

import contextlib
import os
import pickle  # noqa: TID251  (messages to a process of our own, no artifacts)
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from enum import IntEnum
from typing import Any

from baton._src.driver.tvm_names.contrib.popen_worker import read_message, write_message
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.processors import usable_processors

_WORKER = "baton._src.driver.tvm_names.contrib.popen_worker"


class StatusKind(IntEnum):
    """How a call ended."""

    RUNNING = 0
    COMPLETE = 1
    EXCEPTION = 2
    TIMEOUT = 3


@dataclass(frozen=True)
class MapResult:
    """The outcome of one call of `map_with_error_catching`: its value, or the exception."""

    status: StatusKind
    value: Any


class PopenWorker:
    """One process, started by the first call, and again after it crashed, hung or served `maximum_uses` calls."""

    def __init__(
        self,
        initializer: Callable[..., Any] | None = None,
        initargs: Sequence[Any] = (),
        maximum_uses: int | None = None,
        stdout: Any = None,
        stderr: Any = None,
    ) -> None:
        if initializer is not None and not callable(initializer):
            raise fail("api", "the initializer must be callable")
        self._first = (initializer, tuple(initargs))
        self._most = maximum_uses
        self._stderr = stderr
        self._process: subprocess.Popen[bytes] | None = None
        self._uses = 0
        self._timer: threading.Timer | None = None
        self._timed_out = False

    def __del__(self) -> None:
        self.kill()

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End the process at once."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            process.wait()

    def join(self, timeout: float | None = None) -> None:
        """Let the process finish and wait for it."""
        if self._process is not None:
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process.wait(timeout)

    def send(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> None:  # fmt: skip
        """Start a call; `recv` waits for its result, at most `timeout` seconds from now."""
        content = pickle.dumps((fn, tuple(args), kwargs or {}))
        if self._most is not None and self._uses >= self._most:
            self.kill()
        if not self.is_alive():
            self._start()
        self._uses += 1
        self._timed_out = False
        self._write(content)
        if timeout is not None:
            self._timer = threading.Timer(timeout, self._expire)
            self._timer.daemon = True
            self._timer.start()

    def recv(self) -> Any:
        """The result of the call. Raises what it raised, `TimeoutError`, or `ChildProcessError` if the process died."""
        process = self._process
        if process is None or process.stdout is None:
            raise fail("api", "nothing was sent to the worker")
        try:
            content = read_message(process.stdout)
        finally:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        if content is None:
            code = process.poll()
            self.kill()
            if self._timed_out:
                raise TimeoutError("the call took too long")
            raise ChildProcessError(f"the process of the worker ended with {code}")
        good, value = pickle.loads(content)  # noqa: S301  (written by our own process)
        if not good:
            raise value
        return value

    def _expire(self) -> None:
        self._timed_out = True
        if self._process is not None:
            self._process.kill()

    def _start(self) -> None:
        self.kill()
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [sys.executable, "-m", _WORKER], stdin=pipe, stdout=pipe, stderr=self._stderr, env=_environment()
        )
        self._uses = 0
        program = getattr(sys.modules["__main__"], "__file__", None)
        self._write(pickle.dumps((program, sys.path, "tvm" in sys.modules)))
        initializer, args = self._first
        if initializer is not None:
            self._write(pickle.dumps((initializer, args, {})))
            self.recv()

    def _write(self, content: bytes) -> None:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the process died: recv says so
            write_message(process.stdin, content)


def _environment() -> dict[str, str]:
    """The environment, with baton found where it is found here."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


class PopenPoolExecutor:
    """Several workers: `submit` gives a `Future`, `map_with_error_catching` results one by one."""

    def __init__(
        self,
        max_workers: int | None = None,
        timeout: float | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: Sequence[Any] = (),
        maximum_process_uses: int | None = None,
        stdout: Any = None,
        stderr: Any = None,
    ) -> None:
        self._threads = ThreadPoolExecutor(max_workers or usable_processors())
        self._timeout = timeout
        self._options = (initializer, initargs, maximum_process_uses, stdout, stderr)
        self._workers: dict[int, PopenWorker] = {}

    def __del__(self) -> None:
        for worker in self._workers.values():
            worker.kill()
        self._threads.shutdown(wait=False)

    def submit(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
        """The call, begun when a worker is free."""
        return self._threads.submit(self._call, fn, args, kwargs)

    def map_with_error_catching(self, fn: Callable[..., Any], iterator: Iterable[Any]) -> Iterator[MapResult]:
        """`fn` of each value, in order; errors are results, too."""
        for future in [self.submit(fn, value) for value in iterator]:
            try:
                yield MapResult(StatusKind.COMPLETE, future.result())
            except TimeoutError as error:
                yield MapResult(StatusKind.TIMEOUT, error)
            except Exception as error:  # whatever the function raised
                yield MapResult(StatusKind.EXCEPTION, error)

    def _call(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        thread = threading.get_ident()
        worker = self._workers.get(thread)
        if worker is None:
            worker = self._workers[thread] = PopenWorker(*self._options)
        worker.send(fn, args, kwargs, self._timeout)
        return worker.recv()


__all__ = ["MapResult", "PopenPoolExecutor", "PopenWorker", "StatusKind"]
