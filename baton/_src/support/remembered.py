"""`remembered`: what was found out about an object that never changes, kept as long as the object lives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
Found = TypeVar("Found")


def remembered(question: Callable[[T], Found]) -> Callable[[T], Found]:
    """A question about one object, equal to no other, that is asked again and again by those who do not know of each
    other. The answer must not hold the object, which would live for ever.
    """
    answers: WeakKeyDictionary[Any, Found] = WeakKeyDictionary()

    @wraps(question)
    def ask(about: T) -> Found:
        try:
            return answers[about]
        except KeyError:
            answers[about] = found = question(about)
            return found

    return ask
