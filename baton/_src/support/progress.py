"""Progress on long work: a step counter a caller may show. Quiet unless someone listens.

    with reporting(show):                        # the command line: a bar; tests: a list
        for name in track("compiling kernels", names):
            ...

The listener is the calling thread's own, so that compiling in two threads does not mix two bars.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

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


def track(task: str, items: Sequence[T] | Iterable[T], name: Callable[[T], str] = str) -> Iterator[T]:
    """`items` one by one, with a step reported before each and one at the end."""
    found = items if isinstance(items, Sequence) else list(items)
    for number, item in enumerate(found):
        report(task, number, len(found), name(item))
        yield item
    report(task, len(found), len(found))
