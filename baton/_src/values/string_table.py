"""The strings of one run of a program that computes on their numbers: the model's own, and those that the run adds.

The VM's string functions look strings up here; the strings they make get the next numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray


class StringTable:
    """`known` maps the model's strings to their numbers, 0 and up; it is not changed."""

    def __init__(self, known: Mapping[str, int]) -> None:
        self.known = known
        self.new: dict[str, int] = {}

    def numbers(self, strings: object) -> AnyArray:
        """The numbers of an array of strings, in its shape."""
        array, known, new, first = np.asarray(strings, dtype=object), self.known, self.new, len(self.known)
        found = [known[t] if t in known else new.setdefault(t, first + len(new)) for t in array.reshape(-1).tolist()]
        return np.array(found, np.int64).reshape(array.shape)

    def strings(self, numbers: AnyArray) -> AnyArray:
        """The strings of an array of numbers: objects, in its shape."""
        known = np.array([*self.known, *self.new], dtype=object)
        found = np.empty(numbers.shape, dtype=object)
        found[...] = known[numbers]
        return found


_CURRENT: ContextVar[StringTable | None] = ContextVar("strings of this run", default=None)


@contextmanager
def using_strings(strings: StringTable) -> Iterator[None]:
    """Strings in the body are numbered by this table."""
    token = _CURRENT.set(strings)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_strings() -> StringTable:
    """`DiagnosticError` (`value-mismatch`) outside of a run that has strings."""
    found = _CURRENT.get()
    if found is None:
        help = "run it by baton.load(...).run or baton.compile(...).run, which take and give strings"
        raise fail(
            "value-mismatch",
            "this program computes on strings, but was called with the numbers that represent them",
            help=help,
        )
    return found


__all__ = ["StringTable", "current_strings", "using_strings"]
