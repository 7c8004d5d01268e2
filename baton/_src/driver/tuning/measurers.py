"""Who measures: a child process of this one, or the workers of a Dask cluster, each with a child process of its own.

with measurer(address=None) as ask:
    outcomes = ask.all(trials)          one for each, in order; what went wrong is in the outcome
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import selectors
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Protocol

from baton._src.driver.tuning.task import Outcome, Trial
from baton._src.support.diagnostics import fail

TIME_OUT = 30.0
"""Seconds that a trial may take beyond those it measures: two compilations."""
_WORKER = "baton._src.driver.tuning.worker"


class Measurer(Protocol):
    """Measures trials."""

    def all(self, trials: Sequence[Trial]) -> list[Outcome]:
        """The outcomes, in the order of the trials."""

    def close(self) -> None:
        """Let go of processes and connections."""


class LocalMeasurer:
    """A child process, one trial after the other: side by side they would disturb each other."""

    def __init__(self, time_out: float = TIME_OUT, command: Sequence[str] = (sys.executable, "-m", _WORKER)) -> None:
        self.time_out = time_out
        self.command = tuple(command)
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def all(self, trials: Sequence[Trial]) -> list[Outcome]:
        return [self.one(trial) for trial in trials]

    def one(self, trial: Trial) -> Outcome:
        """The outcome of a trial; a child that dies or takes too long is replaced."""
        with self._lock:
            line = self._answer(trial.to_text(), trial.seconds + self.time_out)
            if isinstance(line, Outcome):
                self._end()
                return line
            return Outcome.from_data(json.loads(line))

    def _answer(self, text: str, seconds: float) -> str | Outcome:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(text + "\n")
            process.stdin.flush()
        except OSError:
            return Outcome(error="the measuring process cannot be reached")
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                return Outcome(error=f"no answer after {seconds:.0f} s")
        line = process.stdout.readline()
        if not line.endswith("\n"):
            return Outcome(error=f"the measuring process died (status {process.wait()})")
        return line

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            pipe = subprocess.PIPE
            environment = {**os.environ, "BATON_TUNING": "0"}
            self._process = subprocess.Popen(
                self.command, stdin=pipe, stdout=pipe, text=True, env=environment, encoding="utf-8"
            )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    if stream is not None:
                        stream.close()

    def close(self) -> None:
        with self._lock:
            self._end()


_here: list[LocalMeasurer] = []
"""The measuring child of this process, where it is a worker of a cluster."""
_starting = threading.Lock()


def measured_on_worker(text: str) -> str:
    """What a worker of a cluster is asked: a trial as text, its outcome as text."""
    with _starting:
        if not _here:
            _here.append(LocalMeasurer())
            atexit.register(_here[0].close)
    return _here[0].one(Trial.from_data(json.loads(text))).to_text()


class DaskMeasurer:
    """The workers of a Dask cluster: they have to have baton installed, and be machines like this one."""

    def __init__(self, address: Any) -> None:
        try:
            distributed = import_module("distributed")
        except ImportError as error:
            raise fail("tuning-dask", "Dask is not installed", help="pip install 'baton[tune]'") from error
        try:
            self.client: Any = distributed.Client(address, timeout="10s")
        except (OSError, ValueError, TimeoutError) as error:
            raise fail("tuning-dask", f"no Dask scheduler answers at {address}: {error}") from error

    def all(self, trials: Sequence[Trial]) -> list[Outcome]:
        futures = [self.client.submit(measured_on_worker, trial.to_text(), pure=False) for trial in trials]
        return [self._outcome(future) for future in futures]

    def _outcome(self, future: Any) -> Outcome:
        try:
            return Outcome.from_data(json.loads(future.result()))
        except Exception as error:  # a lost worker, whatever it died of, costs one candidate
            return Outcome(error=f"{type(error).__name__}: {error}"[:500])

    def close(self) -> None:
        self.client.close()


@contextlib.contextmanager
def measurer(address: Any = None) -> Iterator[Measurer]:
    """Who measures: this machine, or the cluster whose scheduler is at `address`."""
    found: Measurer = LocalMeasurer() if address is None else DaskMeasurer(address)
    try:
        yield found
    finally:
        found.close()
