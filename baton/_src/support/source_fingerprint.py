"""A fingerprint of baton's own source, part of the keys of caches on disk: an edit must never use old results.

By path, size and time of change of every source file, which is how Python itself decides whether its compiled files are
up to date; a few milliseconds for the whole package. A process that runs while files are being edited may hold older
code than what is on disk, so it gets a unique fingerprint and shares no results.
"""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_STARTED = time.time_ns()


@cache
def source_fingerprint(*folders: str) -> str:
    """The fingerprint of the Python files below `folders` of the package (`codegen`, `passes/tir`); of all without."""
    files = sorted({entry for folder in folders or (".",) for entry in _files(str(_ROOT / folder))})
    if any(changed > _STARTED for _, _, changed in files):
        return uuid.uuid4().hex
    return hashlib.sha256(repr(files).encode()).hexdigest()[:32]


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)
            elif entry.name.endswith((".py", ".rly", ".txt")):
                state = entry.stat()
                yield os.path.relpath(entry.path, _ROOT), state.st_size, state.st_mtime_ns
