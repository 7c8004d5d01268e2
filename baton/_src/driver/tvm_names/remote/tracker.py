"""`tvm.rpc.Tracker`: tells scripts which of many servers is free.

Servers stay connected and say whether a session is open; scripts ask for a server of a key and wait until one is free:
those of higher priority first, then those who asked first.

    {"offer": key, "port": 9091, "address": null}   {"busy": true}      a server's
    {"request": key, "priority": 1}  {"summary": true}                  a script's
    {"server": [host, port]}         {"servers": [...], "waiting": {key: 2}}
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from dataclasses import field
from typing import Any

from baton._src.driver.tvm_names.remote.errors import RPCError
from baton._src.driver.tvm_names.remote.listener import Listener
from baton._src.driver.tvm_names.remote.wire import GREETING, Channel, connected
from baton._src.support.dataclass import dataclass

GRACE = 10.0
"""Seconds that a script has to begin its session before the server counts as free again."""
CHECKED = 0.5
"""Seconds between looks at servers whose scripts did not come."""


@dataclass(eq=False)
class _Offer:
    """A server: what it is asked for by, where it is, and until when it counts as taken."""

    channel: Channel
    key: str
    host: str
    port: int
    busy: bool = False
    taken_until: float = 0.0

    @property
    def is_free(self) -> bool:
        return not self.busy and time.monotonic() >= self.taken_until


@dataclass(eq=False)
class _Request:
    """A script that waits for a server."""

    channel: Channel
    key: str
    priority: int


@dataclass(eq=False)
class _Market:
    """Servers, and scripts that wait for them."""

    offers: list[_Offer] = field(default_factory=list)
    requests: list[_Request] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def match(self) -> None:
        """Give free servers to those who wait."""
        with self.lock:
            for request in sorted(self.requests, key=lambda r: -r.priority):
                offer = next((o for o in self.offers if o.key == request.key and o.is_free), None)
                if offer is None:
                    continue
                self.requests.remove(request)
                try:
                    request.channel.send({"server": [offer.host, offer.port]})
                except RPCError:
                    continue  # it does not wait any more
                offer.taken_until = time.monotonic() + GRACE

    def leave(self, channel: Channel) -> None:
        """A connection ended: its server and requests are gone."""
        with self.lock:
            self.offers = [o for o in self.offers if o.channel is not channel]
            self.requests = [r for r in self.requests if r.channel is not channel]

    def summary(self) -> dict[str, Any]:
        """All servers, and how many scripts wait by key."""
        with self.lock:
            servers = [{"key": o.key, "addr": [o.host, o.port], "free": o.is_free} for o in self.offers]
            keys = sorted({r.key for r in self.requests})
            return {"servers": servers, "waiting": {k: sum(r.key == k for r in self.requests) for k in keys}}


class Tracker(Listener):
    """A tracker at the first free port from `port` to before `port_end`, until `terminate`."""

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 9190,
        port_end: int = 9199,
        silent: bool = False,
        reuse_addr: bool = True,
        timeout: float | None = None,
    ) -> None:
        del silent, timeout  # it says nothing, and waits for nobody
        super().__init__(host, port, port_end, reuse_addr)
        self._market, self._channels, self._ended = _Market(), set[Channel](), threading.Event()
        self.start()
        threading.Thread(target=self._look, daemon=True).start()

    def terminate(self) -> None:
        """Listen no more, and end all connections."""
        self._ended.set()
        super().terminate()
        for channel in tuple(self._channels):
            channel.close()

    def _look(self) -> None:
        while not self._ended.wait(CHECKED):
            if self._market.requests:
                self._market.match()

    def connected(self, connection: socket.socket, address: str) -> None:
        channel = Channel(connection)
        self._channels.add(channel)
        try:
            while True:
                message, _ = channel.receive()
                self._heard(channel, address, message)
                self._market.match()
        except (RPCError, KeyError, TypeError, ValueError):
            pass  # it left, or speaks another language
        self._market.leave(channel)
        self._channels.discard(channel)
        channel.close()

    def _heard(self, channel: Channel, address: str, message: Any) -> None:
        market = self._market
        if message.get("greeting") != GREETING:
            raise RPCError(f"this is a tracker of {GREETING}")
        with market.lock:
            if "offer" in message:
                host = message.get("address") or address
                market.offers.append(_Offer(channel, str(message["offer"]), host, int(message["port"])))
            elif "busy" in message:
                for offer in (o for o in market.offers if o.channel is channel):
                    offer.busy, offer.taken_until = bool(message["busy"]), 0.0
            elif "request" in message:
                market.requests.append(_Request(channel, str(message["request"]), int(message["priority"])))
            else:
                channel.send(market.summary())


class Announcement:
    """A server's connection to a tracker: open as long as the server may be asked for."""

    def __init__(self, address: tuple[str, int], key: str, port: int, custom: str | None) -> None:
        self._channel, self._sessions, self._lock = connected(*address), 0, threading.Lock()
        self._channel.send({"greeting": GREETING, "offer": key, "port": port, "address": custom})

    def count(self, change: int) -> None:
        """A session began (1) or ended (-1)."""
        with self._lock:
            self._sessions += change
            with suppress(RPCError):  # the tracker is gone: who knows the address can still connect
                self._channel.send({"greeting": GREETING, "busy": self._sessions > 0})

    def close(self) -> None:
        """Withdraw the offer."""
        self._channel.close()
