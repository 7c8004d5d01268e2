"""The texts of one run of a program that computes with their numbers: those the model knows, and those the run adds.

Functions of the machine that look into texts find them here; what they make gets the numbers behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray


class RunTexts:
    """`known` maps the model's texts to their numbers, 0 and up; it is not changed."""

    def __init__(self, known: Mapping[str, int]) -> None:
        self.known = known
        self.new: dict[str, int] = {}

    def numbers(self, texts: Any) -> AnyArray:
        """The numbers of an array of texts, in its shape."""
        array, known, new, first = np.asarray(texts, dtype=object), self.known, self.new, len(self.known)
        found = [known[t] if t in known else new.setdefault(t, first + len(new)) for t in array.reshape(-1).tolist()]
        return np.array(found, np.int64).reshape(array.shape)

    def texts(self, numbers: AnyArray) -> AnyArray:
        """The texts of an array of numbers: objects, in its shape."""
        known = np.array([*self.known, *self.new], dtype=object)
        found = np.empty(numbers.shape, dtype=object)
        found[...] = known[numbers]
        return found


_CURRENT: ContextVar[RunTexts | None] = ContextVar("texts of this run", default=None)


@contextmanager
def running_with(texts: RunTexts) -> Iterator[None]:
    """What runs inside numbers its texts by `texts`."""
    token = _CURRENT.set(texts)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def texts_of_this_run() -> RunTexts:
    """`DiagnosticError` (`value-mismatch`) outside of a run that has texts."""
    found = _CURRENT.get()
    if found is None:
        help = "run it by baton.load(...).run or baton.compile(...).run, which take and give texts"
        raise fail("value-mismatch", "this program looks into texts, of which only numbers are here", help=help)
    return found


__all__ = ["RunTexts", "running_with", "texts_of_this_run"]
