"""Where measurements run: in a child process, or on the workers of a Dask cluster, each with its own child process.

with measurer(address=None) as ask:
    outcomes = ask.all(trials)          one for each, in order; what went wrong is in the outcome
"""

from __future__ import annotations

import atexit
import contextlib
import json
import threading
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Protocol

from baton._src.driver.tuning.child import WORKER, Child, NoAnswer
from baton._src.driver.tuning.task import Outcome, Trial
from baton._src.support.diagnostics import fail

TIME_OUT = 30.0
"""Seconds that a trial may take beyond those it measures: two compilations."""
PATIENCE = 10.0
"""Seconds to wait for a scheduler of Dask, and for its first worker."""


class Measurer(Protocol):
    """Measures trials."""

    def all(self, trials: Sequence[Trial]) -> list[Outcome]:
        """The outcomes, in the order of the trials."""

    def close(self) -> None:
        """Let go of processes and connections."""


class LocalMeasurer:
    """A child process, one trial after the other: side by side they would disturb each other."""

    def __init__(self, time_out: float = TIME_OUT, command: Sequence[str] = WORKER) -> None:
        self.time_out = time_out
        self.child = Child(command)

    def all(self, trials: Sequence[Trial]) -> list[Outcome]:
        return [self.one(trial) for trial in trials]

    def one(self, trial: Trial) -> Outcome:
        """The outcome of a trial."""
        line = self.child.answer(trial.to_text(), trial.seconds + self.time_out)
        return Outcome(error=line.why) if isinstance(line, NoAnswer) else Outcome.from_data(json.loads(line))

    def close(self) -> None:
        self.child.close()


_here: list[LocalMeasurer] = []
"""The measuring child of this process, where it is a worker of a cluster."""
_starting = threading.Lock()


def measured_on_worker(text: str) -> str:
    """Runs on a worker of the cluster: takes a trial as text, returns its outcome as text."""
    with _starting:
        if not _here:
            _here.append(LocalMeasurer())
            atexit.register(_here[0].close)
    return _here[0].one(Trial.from_data(json.loads(text))).to_text()


class DaskMeasurer:
    """Measures on the workers of a Dask cluster, which need baton and the same kind of machine as this one."""

    def __init__(self, address: Any) -> None:
        try:
            distributed = import_module("distributed")
        except ImportError as error:
            raise fail("tuning-dask", "Dask is not installed", help="pip install 'baton[tune]'") from error
        try:
            self.client: Any = distributed.Client(address, timeout=f"{PATIENCE}s")
        except (OSError, ValueError, TimeoutError) as error:
            raise fail("tuning-dask", f"no Dask scheduler answers at {address}: {error}") from error
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            self.client.close()
            help = f"start one: dask worker {address} --nthreads 1"
            raise fail("tuning-dask", f"no worker has joined the Dask scheduler at {address}", help=help) from error

    def all(self, trials: Sequence[Trial]) -> list[Outcome]:
        futures = [self.client.submit(measured_on_worker, trial.to_text(), pure=False) for trial in trials]
        # As long as one worker may need for all: if the last one is lost, nobody answers any more.
        end = time.monotonic() + sum(trial.seconds + TIME_OUT for trial in trials)
        return [self._outcome(future, end) for future in futures]

    def _outcome(self, future: Any, end: float) -> Outcome:
        try:
            return Outcome.from_data(json.loads(future.result(timeout=max(end - time.monotonic(), 0.1))))
        except TimeoutError:
            future.cancel()
            return Outcome(error="no worker of the cluster answered")
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
