"""Files of lines that several processes append to at once."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def alone_with(path: Path) -> Iterator[BinaryIO]:
    """The file, made if it is missing, to read and to append to: others who ask wait until the `with` block ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as stream:
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(stream, fcntl.LOCK_EX)
        stream.seek(0)
        yield stream


def append_line(stream: BinaryIO, line: str) -> None:
    """Write a line at the end; the one before it may have been left without an end of its own."""
    size = stream.seek(0, os.SEEK_END)
    if size:
        stream.seek(size - 1)
        line = line if stream.read(1) == b"\n" else f"\n{line}"
    stream.write(f"{line}\n".encode())
