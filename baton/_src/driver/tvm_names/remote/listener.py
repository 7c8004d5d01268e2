"""What servers and trackers have in common: they listen at a port, until `terminate`."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self

from baton._src.driver.tvm_names.remote.errors import RPCError


class Listener:
    """Listens at the first free port from `port` to before `port_end`; each connection has a thread of its own. Error:
    `RPCError`, none is free.
    """

    def __init__(self, host: str, port: int, port_end: int, reuse: bool) -> None:
        self._socket = _bound(host, port, port_end, reuse)
        self.host, self.port = host, int(self._socket.getsockname()[1])
        self._thread = threading.Thread(target=self._accept, name=f"{type(self).__name__} {self.port}", daemon=True)

    def start(self) -> None:
        """Accept connections from now on."""
        self._thread.start()

    def connected(self, connection: socket.socket, address: str) -> None:
        """Speak with whoever connected from this address, until that is over."""
        raise NotImplementedError

    def terminate(self) -> None:
        """Listen no more."""
        with suppress(OSError):  # not everywhere can a listening socket be shut down
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def join(self) -> None:
        """Wait until this is terminated."""
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.terminate()

    def _accept(self) -> None:
        while True:
            try:
                connection, address = self._socket.accept()
            except OSError:
                return  # terminated
            threading.Thread(target=self.connected, args=(connection, address[0]), daemon=True).start()


def _bound(host: str, port: int, port_end: int, reuse: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    why = ""
    for number in range(port, max(port + 1, port_end)):
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            if reuse:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, number))
            listener.listen()
            return listener
        except OSError as error:
            listener.close()
            why = str(error.strerror or error)
    raise RPCError(f"cannot listen at {host}, ports {port} to {max(port, port_end - 1)}: {why}")
