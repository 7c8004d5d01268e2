"""`tvm.rpc.Server`: lets scripts elsewhere upload libraries to this machine and run them.

Whoever can connect can run code here, as in TVM: keys tell servers apart, they are no passwords. A server therefore
listens to this machine alone unless it is given another host, and belongs in networks whose users are trusted.

Each session is a process of its own, a copy of this one (a thread with `no_fork`, or where there are no such copies): a
library that crashes ends its session, not the server.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from baton._src.codegen.llvm.forking import can_fork, forked
from baton._src.driver.artifacts import load_module
from baton._src.driver.tvm_names.contrib.temporary import TempDirectory
from baton._src.driver.tvm_names.remote.errors import RPCError
from baton._src.driver.tvm_names.remote.listener import Listener
from baton._src.driver.tvm_names.remote.peer import Peer
from baton._src.driver.tvm_names.remote.services import Services
from baton._src.driver.tvm_names.remote.tracker import Announcement
from baton._src.driver.tvm_names.remote.wire import GREETING, Channel


class Server(Listener):
    """A server that listens at the first free port from `port` to before `port_end`, until `terminate`.

    `key` is what clients ask for; with `tracker_addr`, (host, port), the server offers itself there under that key.
    `load_library` names libraries, separated by colons, whose functions sessions find; `custom_addr` is the address
    that the tracker tells clients. `server_init_callback` is called before the first session. `timeout` ends sessions
    after so many seconds. Errors: `RPCError` if no port is free or the tracker does not answer; `is_proxy` is refused.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 9091,
        port_end: int = 9199,
        is_proxy: bool = False,
        tracker_addr: tuple[str, int] | None = None,
        key: str = "",
        load_library: str | None = None,
        custom_addr: str | None = None,
        silent: bool = False,
        no_fork: bool = False,
        server_init_callback: Callable[[], object] | None = None,
        reuse_addr: bool = True,
        timeout: float | None = None,
    ) -> None:
        if is_proxy:
            raise RPCError("there are no proxies: let the server listen at an address that clients reach")
        self.key, self.silent, self.timeout = key, silent, timeout
        self.forks = can_fork() and not no_fork
        self.libraries = [load_module(path) for path in (load_library or "").split(":") if path]
        if server_init_callback is not None:
            server_init_callback()
        super().__init__(host, port, port_end, reuse_addr)
        self._sessions: set[int] = set()
        self._announced = None
        if tracker_addr is not None:
            try:
                self._announced = Announcement(tracker_addr, key, self.port, custom_addr)
            except RPCError:
                self.terminate()
                raise
        self._say(f"listening at {host}:{self.port}")
        self.start()

    def terminate(self) -> None:
        """Listen no more, and end all sessions."""
        super().terminate()
        if self._announced is not None:
            self._announced.close()
        for pid in tuple(self._sessions):
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(pid, signal.SIGTERM)

    def _say(self, message: str) -> None:
        if not self.silent:
            print(f"rpc server: {message}", file=sys.stderr, flush=True)

    def connected(self, connection: socket.socket, address: str) -> None:
        if self._announced is not None:
            self._announced.count(1)
        with TempDirectory() as files:  # removed here: a session may end in the middle of anything
            if self.forks:
                self._in_process(connection, address, files)
            else:
                self._serve(connection, address, files)
        if self._announced is not None:
            self._announced.count(-1)

    def _in_process(self, connection: socket.socket, address: str, files: TempDirectory) -> None:
        """Serve a client in a copy of this process."""
        pid = forked()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._socket.close()
            try:
                self._serve(connection, address, files)
            finally:
                os._exit(0)
        connection.close()
        self._sessions.add(pid)
        os.waitpid(pid, 0)
        self._sessions.discard(pid)

    def _serve(self, connection: socket.socket, address: str, files: TempDirectory) -> None:
        channel = Channel(connection)
        try:
            greeting, _ = channel.receive()
            seconds = self._greeted(channel, greeting)
        except RPCError:
            channel.close()
            return
        if seconds is not None:
            self._end_after(channel, seconds)
            self._say(f"a session from {address}")
            services = Services(files, self.libraries)
            Peer(channel, services).serve()
            services.close()
            self._say(f"the session from {address} ended")
        channel.close()

    def _greeted(self, channel: Channel, greeting: Any) -> float | None:
        """How many seconds the session may last (0: as long as it likes); None: it is refused."""
        known = isinstance(greeting, dict) and greeting.get("greeting") == GREETING
        if not known:
            channel.send({"error": f"this is a server of {GREETING}"})
            return None
        if greeting.get("key") != self.key:
            channel.send({"error": f"the server's key is not {greeting.get('key')!r}"})
            return None
        channel.send({"greeting": GREETING})
        asked = float(greeting.get("seconds") or 0)
        return min(filter(None, (asked, self.timeout or 0)), default=0.0)

    def _end_after(self, channel: Channel, seconds: float) -> None:
        if seconds <= 0:
            return

        def end() -> None:
            channel.close()
            if self.forks:
                os._exit(0)  # whatever the session is computing

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
