"""A child process that answers requests line by line; if it crashes or hangs, only that answer is lost.

child = Child()
line = child.answer(request, seconds=30.0)      the answer, or why there is none
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
import threading
from collections.abc import Sequence

from baton._src.support.dataclass import dataclass

WORKER = (sys.executable, "-m", "baton._src.driver.tuning.worker")
"""The process that measures, as a command."""
READY = "ready\n"
"""What it says first, once it has imported the compiler."""
STARTING = 120.0
"""Seconds that may take, on a machine that others use as well."""


@dataclass(frozen=True)
class NoAnswer:
    """The child did not answer, for the reason `why`."""

    why: str


class Child:
    """The process `command`, which says `READY` when it is and then answers lines. It is started at the first request;
    one that died or took too long is replaced.
    """

    def __init__(self, command: Sequence[str] = WORKER) -> None:
        self.command = tuple(command)
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def answer(self, text: str, seconds: float) -> str | NoAnswer:
        """The child's answer to the line `text`, or `NoAnswer` with the reason after at most `seconds` (and, if it is
        the first one, what starting takes).
        """
        with self._lock:
            found = self._answer(text, seconds)
            if isinstance(found, NoAnswer):
                self._end()
            return found

    def _answer(self, text: str, seconds: float) -> str | NoAnswer:
        process = self._process or self._started()
        if isinstance(process, NoAnswer):
            return process
        assert process.stdin is not None
        try:
            process.stdin.write(text + "\n")
            process.stdin.flush()
        except OSError:
            return NoAnswer("the measuring process cannot be reached")
        return _line(process, seconds)

    def _started(self) -> subprocess.Popen[str] | NoAnswer:
        pipe = subprocess.PIPE
        environment = {**os.environ, "BATON_TUNING": "0"}
        self._process = subprocess.Popen(
            self.command, stdin=pipe, stdout=pipe, text=True, env=environment, encoding="utf-8"
        )
        said = _line(self._process, STARTING)
        if isinstance(said, NoAnswer):
            return NoAnswer(f"the measuring process did not start: {said.why}")
        return self._process if said == READY else NoAnswer(f"the measuring process started with {said!r:.100}")

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
        """End the process."""
        with self._lock:
            self._end()


def _line(process: subprocess.Popen[str], seconds: float) -> str | NoAnswer:
    """The next line that the process writes."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        if not selector.select(seconds):
            return NoAnswer(f"no answer after {seconds:.0f} s")
    line = process.stdout.readline()
    return line if line.endswith("\n") else NoAnswer(f"the measuring process died (status {process.wait()})")
