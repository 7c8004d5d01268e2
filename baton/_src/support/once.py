"""`once`: what a process has one of, made when it is first asked for, by whichever thread asks first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import TypeVar

T = TypeVar("T")


def once(make: Callable[[], T]) -> Callable[[], T]:
    """As `functools.cache`, which lets every thread that asks before the first one is done make one of its own."""
    lock = threading.Lock()
    made: list[T] = []

    def found() -> T:
        with lock:
            if not made:
                made.append(make())
            return made[0]

    return cache(found)
