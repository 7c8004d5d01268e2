"""Record the files from which a model's tensors were read, so that later changes can be detected."""

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
    """Record that `path`, as written in the model's own path, is read."""
    noted = _noted.get()
    if noted is not None:
        noted.add(path)
