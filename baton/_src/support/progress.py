"""Progress on long work: a step counter a caller may show. Quiet unless someone listens.

    with reporting(show):                        # the command line: a bar; tests: a list
        for number, name in enumerate(names):
            report("compiling kernels", number, len(names), name)

The listener is the calling thread's own, so that compiling in two threads does not mix two bars.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from baton._src.support.dataclass import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """`done` of `total` units of `task` are finished; `item` is what is being worked on (empty at the end)."""

    task: str
    done: int
    total: int
    item: str = ""


Listener = Callable[[Step], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def reporting(listener: Listener | None) -> Iterator[None]:
    """Send steps to `listener` within the `with` block; None makes it quiet."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(task: str, done: int, total: int, item: str = "") -> None:
    """Tell the listener, if there is one."""
    listener = _listener.get()
    if listener is not None:
        listener(Step(task, done, total, item))
