"""`tvm.rpc.connect`: a session on another machine.

remote = rpc.connect("192.168.0.7", 9090)
remote.upload("lib.tar")
kernel = remote.load_module("lib.tar")
x = baton.nd.array(numpy_array, remote.cpu())
kernel(x, y)
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from baton._src.driver.tvm_names.devices import device
from baton._src.driver.tvm_names.remote.errors import RPCError
from baton._src.driver.tvm_names.remote.peer import Peer
from baton._src.driver.tvm_names.remote.stubs import ROOT, RemoteDevice
from baton._src.driver.tvm_names.remote.wire import GREETING, connected
from baton._src.support.diagnostics import fail


class RPCSession:
    """A session of a server. Methods raise `RPCError` when the server is gone or raised an error."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def _ask(self, method: str, *args: Any) -> Any:
        return self._peer.call(ROOT, method, args, {}, copies=False)

    def get_function(self, name: str) -> Any:
        """A function that is registered there."""
        return self._ask("get_function", name)

    def upload(self, data: str | Path | bytes | bytearray, target: str | None = None) -> None:
        """Send a file, given by its path or as bytes, to be kept there under its own name or `target`."""
        if not isinstance(data, (bytes, bytearray)):
            target, data = target or Path(data).name, Path(data).read_bytes()
        elif target is None:
            raise fail("api", "uploaded bytes need a name", help="upload(data, target='lib.tar')", kind=ValueError)
        self._ask("upload", data, target)

    def download(self, path: str) -> bytearray:
        """The contents of an uploaded file."""
        return bytearray(self._ask("download", path))

    def remove(self, path: str) -> None:
        """Delete an uploaded file."""
        self._ask("remove", path)

    def load_module(self, path: str) -> Any:
        """The library in an uploaded file; its functions run there."""
        return self._ask("load_module", path)

    def device(self, dev_type: int | str, dev_id: int = 0) -> RemoteDevice:
        """A device of that machine."""
        found = device(dev_type, dev_id)
        return RemoteDevice(found.device_type, found.device_id, self._peer)

    def cpu(self, dev_id: int = 0) -> RemoteDevice:
        """The CPU of that machine."""
        return self.device("cpu", dev_id)

    def measured(self, request: str, seconds: float) -> str:
        """The answer of that machine's measuring process to a request of `tuning.runs`."""
        return str(self._ask("measured", request, seconds))

    def close(self) -> None:
        """End the session."""
        self._peer.channel.close()


def connect(
    url: str,
    port: int,
    key: str = "",
    session_timeout: float = 0,
    session_constructor_args: Any = None,
    enable_logging: bool = False,
) -> RPCSession:
    """A session on the server at `url` and `port` that has this `key`; it ends after `session_timeout` seconds, if that
    is not 0. Errors: `RPCError` if nobody listens there, or one with another key. Sessions through others
    (`session_constructor_args`) are refused.
    """
    if session_constructor_args:
        raise RPCError("sessions through other sessions are not supported: connect to the server itself")
    del enable_logging  # there is nothing to log
    channel = connected(url, port)
    channel.send({"greeting": GREETING, "key": key, "seconds": session_timeout})
    answer, _ = channel.receive()
    if not isinstance(answer, dict) or answer.get("greeting") != GREETING:
        channel.close()
        said = answer.get("error") if isinstance(answer, dict) else "no greeting"
        raise RPCError(f"{url}:{port}: {said}")
    if session_timeout > 0:
        channel.ends = time.monotonic() + session_timeout
    return RPCSession(Peer(channel))


class TrackerSession:
    """A connection to a tracker, which knows which servers are free."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._channel = connected(host, port)

    def close(self) -> None:
        """End the connection."""
        self._channel.close()

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self._channel.send({"greeting": GREETING, **message})
        answer, _ = self._channel.receive()
        return dict(answer)

    def request(
        self,
        key: str,
        priority: int = 1,
        session_timeout: float = 0,
        max_retry: int = 5,
        session_constructor_args: Any = None,
    ) -> RPCSession:
        """A session on a server of this key, once one is free: requests of higher `priority` first. A server that does
        not answer is asked for again, `max_retry` times. Error: `RPCError`.
        """
        for left in reversed(range(max(1, max_retry))):
            host, port = self._ask({"request": key, "priority": priority})["server"]
            try:
                return connect(host, port, key, session_timeout, session_constructor_args)
            except RPCError:
                if not left:
                    raise
        raise AssertionError("unreachable")

    def request_and_run(
        self,
        key: str,
        func: Callable[[RPCSession], Any],
        priority: int = 1,
        session_timeout: float = 0,
        max_retry: int = 2,
    ) -> Any:
        """What `func` returns, called with a session; once more, `max_retry` times in all, if the session breaks."""
        for left in reversed(range(max(1, max_retry))):
            try:
                return func(self.request(key, priority, session_timeout))
            except RPCError:
                if not left:
                    raise
        raise AssertionError("unreachable")

    def summary(self) -> dict[str, Any]:
        """`server_info`: where each server is, and its key; `queue_info`: by key, how many servers are free and how
        many scripts wait.
        """
        found = self._ask({"summary": True})
        servers, waiting = found["servers"], found["waiting"]
        queues = {
            key: {"free": sum(s["free"] for s in servers if s["key"] == key), "pending": waiting.get(key, 0)}
            for key in sorted({*waiting, *(s["key"] for s in servers)})
        }
        info = [{"key": f"server:{s['key']}", "addr": s["addr"]} for s in servers]
        return {"server_info": info, "queue_info": queues}

    def text_summary(self) -> str:
        """The summary as text."""
        found = self.summary()
        lines = ["Server List", "-" * 28, "server-address           key", "-" * 28]
        lines += [f"{':'.join(map(str, s['addr'])):<24} {s['key']}" for s in found["server_info"]]
        lines += ["-" * 28, "", "Queue Status", "-" * 32, "key               total  free  pending", "-" * 32]
        for key, queue in found["queue_info"].items():
            total = sum(s["key"] == f"server:{key}" for s in found["server_info"])
            lines.append(f"{key:<17} {total:<6} {queue['free']:<5} {queue['pending']}")
        return "\n".join([*lines, "-" * 32, ""])


def connect_tracker(url: str, port: int) -> TrackerSession:
    """A connection to the tracker at `url` and `port`. Error: `RPCError`, nobody listens there."""
    return TrackerSession(url, port)


def request_remote(
    device_key: str, host: str | None = None, port: int | None = None, priority: int = 1, timeout: float = 60
) -> RPCSession:
    """A session of at most `timeout` seconds on a server of this key; the tracker is at `host` and `port`, else where
    TVM_TRACKER_HOST and TVM_TRACKER_PORT say. Error: `RPCError`.
    """
    host = host or os.environ.get("TVM_TRACKER_HOST", "127.0.0.1")
    tracker = connect_tracker(host, port or int(os.environ.get("TVM_TRACKER_PORT", "9190")))
    return tracker.request(device_key, priority=priority, session_timeout=timeout)


def check_remote(
    device_key: str, host: str | None = None, port: int | None = None, priority: int = 100, timeout: float = 10
) -> bool:
    """Whether a server of this key is free within `timeout` seconds."""
    found: list[RPCSession] = []

    def request() -> None:
        with suppress(RPCError):
            found.append(request_remote(device_key, host, port, priority, timeout))

    thread = threading.Thread(target=request, daemon=True)
    thread.start()
    thread.join(timeout)
    for session in found:
        session.close()
    return bool(found)
