"""Output files that are whole or not there: written beside their place, then renamed."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: str | Path, durable: bool = True) -> Iterator[BinaryIO]:
    """A stream (which can seek) whose contents become the file `path` at the end, unless there is an error.

    Readers see the old file or the whole new one. A link stays one, and the file it leads to is replaced; devices and
    pipes are written to. Unless `durable`, the contents may still be in the system's page cache at the end, and be lost
    in a power failure.
    """
    target = Path(path).resolve()
    kept = target.exists() and not target.is_file()
    try:
        with _copied(target) if kept else _replaced(target, durable) as stream:
            yield stream
    except OSError as error:
        error.filename = error.filename or str(path)  # a full disk is an error without a name
        raise


@contextmanager
def _copied(target: Path) -> Iterator[BinaryIO]:
    with tempfile.TemporaryFile() as stream:
        yield stream
        stream.seek(0)
        with target.open("wb", buffering=0) as device:
            shutil.copyfileobj(stream, device)


@contextmanager
def _replaced(target: Path, durable: bool) -> Iterator[BinaryIO]:
    name = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with name.open("x+b") as stream:  # by `open`, so that the system applies the process's mask of permissions
            yield stream
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        os.replace(name, target)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
