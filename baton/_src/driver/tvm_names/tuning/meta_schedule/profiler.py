"""`Profiler`: how long each part of tuning takes.

with ms.Profiler() as profiler:
    ms.tune_tir(...)
print(profiler.table())
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Self

_current: ContextVar[Profiler | None] = ContextVar("profiler", default=None)


class Profiler:
    """Seconds by name, added up within its `with` block."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._begin = 0.0
        self._outer: Profiler | None = None

    def __enter__(self) -> Self:
        self._begin, self._outer = time.perf_counter(), _current.get()
        _current.set(self)
        return self

    def __exit__(self, *caught: object) -> None:
        self._add("Total", time.perf_counter() - self._begin)
        _current.set(self._outer)

    def _add(self, name: str, seconds: float) -> None:
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def get(self) -> dict[str, float]:
        """Seconds by name; "Total" once the block has ended."""
        return dict(self._seconds)

    def table(self) -> str:
        """A row for each name, the longest first."""
        rows = sorted(self._seconds.items(), key=lambda row: -row[1])
        return "\n".join([f"{'name':<24} {'seconds':>12}", *(f"{name:<24} {s:>12.3f}" for name, s in rows)])

    @staticmethod
    def current() -> Profiler | None:
        """The profiler whose block this is."""
        return _current.get()

    @staticmethod
    @contextmanager
    def timeit(name: str) -> Iterator[None]:
        """Add the time of a block under a name, if there is a profiler around it."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            profiler = _current.get()
            if profiler is not None:
                profiler._add(name, time.perf_counter() - begin)
