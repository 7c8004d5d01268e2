"""Measuring candidates on servers that a tracker knows: they are sent there as they are to a child process here.

The server compiles a candidate for itself, holds its results against those of the rules' own schedule, and times it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from baton._src.driver.tuning.runs import LibraryRun, Run, Runner, Times
from baton._src.driver.tvm_names.remote.errors import RPCError
from baton._src.driver.tvm_names.remote.session import RPCSession, connect_tracker
from baton._src.support.dataclass import dataclass


@dataclass(frozen=True)
class Servers:
    """Servers of one key, and the tracker that knows them."""

    key: str
    host: str
    port: int
    priority: int = 1

    def request(self, seconds: float = 0) -> RPCSession:
        """A session on one of them, once it is free. Error: `RPCError`, the tracker does not answer."""
        tracker = connect_tracker(self.host, self.port)
        try:
            return tracker.request(self.key, self.priority, seconds)
        finally:
            tracker.close()


class RemoteRunner(Runner):
    """Runs variants on one of the servers, which is asked for when the first one is to run."""

    def __init__(self, servers: Servers, time_out: float) -> None:
        super().__init__(time_out)
        self._servers = servers
        self._session: RPCSession | None = None

    def run(self, run: Run | LibraryRun) -> Times:
        """How long the calls take there; a server that is gone is an error of this variant, and another one is asked
        for next.
        """
        try:
            self._session = self._session or self._servers.request()
            if isinstance(run, LibraryRun):
                self._session.upload(run.library)
                run = replace(run, library=Path(run.library).name)
            line = self._session.measured(run.to_text(), self.time_out)
        except RPCError as error:
            self._session = None
            return Times(error=f"RPCRunner: {error}")
        return Times.from_data(json.loads(line))

    def __exit__(self, *caught: object) -> None:
        if self._session is not None:
            self._session.close()
