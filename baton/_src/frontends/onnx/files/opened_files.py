"""Record the files from which a model's tensors are read, with their state then, so that changes can be detected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from baton._src.support.file_digest import State, file_state

_noted: ContextVar[dict[Path, State] | None] = ContextVar("opened", default=None)


@contextmanager
def noting_files() -> Iterator[dict[Path, State]]:
    """The files that tensors are read from within the `with` block, with the state of each before it was first read."""
    found: dict[Path, State] = {}
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)


def note_file(path: Path) -> None:
    """Record that `path`, as written in the model's own path, is about to be read."""
    noted = _noted.get()
    if noted is not None and path not in noted:
        noted[path] = file_state(path)
