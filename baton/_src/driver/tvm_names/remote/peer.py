"""Either end of a session: it calls objects of the other side, and answers the other side's calls.

    {"call": 3, "method": "get_function", "with": arguments}     {"get": 3, "method": "entry_name"}
    {"value": ...}   or   {"error": text, "kinds": ["ValueError"]}

While a call is waited for, the other side may call back: functions are arguments, too. What is data goes by value;
tensors, modules, functions and other objects stay where they are and go by number (`values`).
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import count
from threading import RLock
from typing import Any

from baton._src.driver.tvm_names.remote.errors import RPCError
from baton._src.driver.tvm_names.remote.stubs import ROOT
from baton._src.driver.tvm_names.remote.values import Coder, Reader
from baton._src.driver.tvm_names.remote.wire import Channel

_KINDS: Mapping[str, type[RPCError]] = {
    kind.__name__: type("RPCError", (RPCError, kind), {"__doc__": f"A {kind.__name__} of the other side."})
    for kind in (AttributeError, IndexError, KeyError, NotImplementedError, TypeError, ValueError)
}
"""Errors of the other side that scripts catch by these classes."""


class Peer:
    """One end of a session over `channel`. With a `root`, a server: the other side may call its methods, and those of
    what they return. Without, a client: the other side may call the functions it was given, and nothing else.
    """

    def __init__(self, channel: Channel, root: object = None) -> None:
        self.channel = channel
        self.serves = root is not None
        self.objects: dict[int, Any] = {ROOT: root} if self.serves else {}
        self._dropped: deque[int] = deque()
        """What the next message tells the other side to forget."""
        self._numbers = count(1)
        self._lock = RLock()
        # Nobody may have said `close`: copies of this process, which servers make, hold the socket open as well.
        weakref.finalize(self, channel.close)

    def keep(self, value: object) -> int:
        """Keep an object for the other side; its number."""
        number = next(self._numbers)
        self.objects[number] = value
        return number

    def drop(self, number: int) -> None:
        """Let the other side forget one of its objects, with the next message."""
        self._dropped.append(number)

    def call(self, number: int, method: str, given: Sequence[Any], named: Mapping[str, Any], *, copies: bool) -> Any:
        """What the other side's object `number` returns. `copies`: tensors of this side go by value; else they are an
        error, since what a function writes to a copy would be lost.
        """
        return self._asked({"call": number, "method": method}, (tuple(given), dict(named)), copies=copies)

    def get(self, number: int, name: str) -> Any:
        """An attribute of the other side's object `number`."""
        return self._asked({"get": number, "method": name}, None, copies=False)

    def serve(self) -> None:
        """Answer calls until the connection ends."""
        while True:
            try:
                self._answer(*self.channel.receive())
            except RPCError:
                return

    def _asked(self, head: dict[str, Any], content: object, *, copies: bool) -> Any:
        with self._lock:
            self._send(head, content, copies=copies)
            while True:
                text, arrays = self.channel.receive()
                if "error" in text:
                    kinds = (_KINDS[k] for k in text["kinds"] if k in _KINDS)
                    raise next(kinds, RPCError)(text["error"])
                if "value" in text:
                    self._forget(text)
                    return Reader(self, arrays).value(text["value"])
                self._answer(text, arrays)

    def _send(self, head: dict[str, Any], content: object, *, copies: bool) -> None:
        coder = Coder(self, copies=copies)
        text = {**head, "value" if not head else "with": coder.text(content)}
        gone = [self._dropped.popleft() for _ in range(len(self._dropped))]
        if gone:
            text["dropped"] = gone
        self.channel.send(text, coder.arrays)

    def _forget(self, text: Mapping[str, Any]) -> None:
        for number in text.get("dropped", ()):
            self.objects.pop(number, None)

    def _answer(self, text: Mapping[str, Any], arrays: list[bytearray]) -> None:
        self._forget(text)
        try:
            self._send({}, self._performed(text, arrays), copies=False)
        except Exception as error:  # whatever a function of this side raises, the other side is told
            self._report(error)

    def _report(self, error: Exception) -> None:
        kinds = [k for k in _KINDS if any(base.__name__ == k for base in type(error).__mro__)]
        said = str(error) or type(error).__name__
        self.channel.send({"error": said, "kinds": kinds})

    def _performed(self, text: Mapping[str, Any], arrays: list[bytearray]) -> Any:
        number, method = text["call"] if "call" in text else text["get"], text["method"]
        target = self.objects.get(number)
        if target is None:
            raise RPCError(f"there is no object {number} in this session")
        if method and (not self.serves or (method.startswith("_") and method != "__getitem__")):
            raise RPCError(f"{method!r} is nothing that a session may ask for")
        if "get" in text:
            return getattr(target, method)
        given, named = Reader(self, arrays).value(text["with"])
        return (getattr(target, method) if method else target)(*given, **named)
