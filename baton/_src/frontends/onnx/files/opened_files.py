"""Which files a model's tensors were read from, for whoever wants to know whether they changed since."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_noted: ContextVar[set[Path] | None] = ContextVar("opened", default=None)


@contextmanager
def noting_files() -> Iterator[set[Path]]:
    """The set of files that tensors are read from within the `with` block."""
    found: set[Path] = set()
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)


def note_file(path: Path) -> None:
    """Say that `path`, as the model's own path says it, is read."""
    noted = _noted.get()
    if noted is not None:
        noted.add(path)
