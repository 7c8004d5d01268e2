"""Messages between processes: a JSON text, and the bytes of arrays behind it.

    4 bytes  length of the text          the text says how many bytes each array has
    n bytes  the text
    ...      the arrays, one after the other

Nothing is a pickle: what arrives is data, and what it stands for is `peer`'s business.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from baton._src.driver.tvm_names.remote.errors import RPCError, RPCSessionTimeoutError

_LENGTH = struct.Struct("<I")
LARGEST_TEXT = 1 << 26
"""Bytes: a longer text is not one of ours."""
LARGEST_ARRAY = 1 << 40
GREETING = "baton-rpc 1"
"""What either side says first, with its key: other protocols, and other versions of this one, are told apart."""


class Channel:
    """Messages over a connected socket. Methods raise `RPCError` when the other side is gone or says nonsense."""

    def __init__(self, connected: socket.socket) -> None:
        # A message is answered before the next one is sent: waiting for more to send would only delay it.
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.ends: float | None = None
        """When the other side ends the session, by `time.monotonic`; None if it does not."""
        self._socket = connected
        self._reader = connected.makefile("rb")

    def send(self, text: Any, arrays: Sequence[bytes | memoryview] = ()) -> None:
        """Send a message: anything JSON can express, and bytes."""
        sizes = [memoryview(a).nbytes for a in arrays]
        head = json.dumps([text, sizes], separators=(",", ":")).encode()
        try:
            self._socket.sendall(_LENGTH.pack(len(head)) + head)
            for each in arrays:
                self._socket.sendall(each)
        except (OSError, ValueError) as error:
            raise self._closed(str(error)) from error

    def receive(self) -> tuple[Any, list[bytearray]]:
        """The next message."""
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        if length > LARGEST_TEXT:
            raise RPCError("what arrived is no message of baton's RPC")
        try:
            text, sizes = json.loads(bytes(self._read(length)))
            wanted = [int(size) for size in sizes]
        except (ValueError, TypeError) as error:
            raise RPCError("what arrived is no message of baton's RPC") from error
        if any(not 0 <= size <= LARGEST_ARRAY for size in wanted):
            raise RPCError(f"a message announces arrays of {wanted} bytes")
        return text, [self._read(size) for size in wanted]

    def _read(self, count: int) -> bytearray:
        found = bytearray(count)
        view = memoryview(found)
        while len(view):
            try:
                got = self._reader.readinto(view)
            except (OSError, ValueError) as error:
                raise self._closed(str(error)) from error
            if not got:
                raise self._closed("the other side closed it")
            view = view[got:]
        return found

    def _closed(self, why: str) -> RPCError:
        if self.ends is not None and time.monotonic() >= self.ends:
            return RPCSessionTimeoutError("the session has ended, as was asked for: session_timeout")
        return RPCError(f"the connection is closed: {why}")

    def close(self) -> None:
        """Close the connection; a thread that waits for a message gets an error."""
        with suppress(OSError):  # it is closed already
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def connected(host: str, port: int) -> Channel:
    """A channel to a server. Error: `RPCError`, nobody listens there."""
    try:
        return Channel(socket.create_connection((host, port)))
    except OSError as error:
        raise RPCError(f"cannot connect to {host}:{port}: {error.strerror or error}") from error
