"""The hash of a file's contents, as fast as the machine allows: in blocks, on all cores, without copying.

SHA-256 of the blocks' SHA-256 digests and the length. Processors hash 1.5-2 GB a second and core; nothing is sampled.

`known_digest` does not read a large file again if its identity, length and times of last change are the same (the
criterion of Git and build tools). The change time (ctime) cannot be set by programs, and every write updates it, with
two exceptions: changes within one tick of the clock, and memory maps, whose later writes to a page count only once the
page was written back (half a minute). Both are ruled out by requiring that the change time lie `SETTLED` back when the
file is hashed. Only files on this machine's disks are remembered: file systems in memory never write back, and remote
ones report changes late.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from baton._src.support.processors import usable_processors
from baton._src.support.whole_file import whole_file

BLOCK = 8 << 20
WORTHWHILE = 4 << 20
"""Bytes of a file from which on its hash is worth remembering."""
SETTLED = 60.0
"""Seconds since the last change from which on the next one is sure to show."""
_LASTING = ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "overlay")
"""File systems of this machine's disks, as Linux calls them, which write maps back and keep times themselves."""

State = tuple[int, ...]
"""What `file_state` tells."""


def file_digest(path: Path) -> str:
    """In hexadecimal. Raises `OSError` for files that cannot be read."""
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if size <= BLOCK:
            return _whole([_block(stream.read())], size)
        with mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ) as mapped:
            view = memoryview(mapped)
            try:
                with ThreadPoolExecutor(usable_processors()) as pool:  # hashing lets other threads run
                    blocks = list(pool.map(lambda at: _block(view[at : at + BLOCK]), range(0, size, BLOCK)))
            finally:
                view.release()
            return _whole(blocks, size)


def known_digest(path: Path, memory: Path) -> str:
    """The digest of a file; remembered in the folder `memory` until the file changes.

    Raises `OSError` for files that cannot be read. Problems with `memory` are no errors.
    """
    begun = time.time()
    state = file_state(path)
    place = memory / hashlib.sha256(os.fsencode(path.resolve())).hexdigest()
    worthwhile = os.name == "posix" and state[2] >= WORTHWHILE
    if worthwhile:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            record = json.loads(place.read_bytes())
            if tuple(record["state"]) == state:
                return str(record["digest"])
    found = file_digest(path)
    if worthwhile and begun - max(state[3:]) / 1e9 > SETTLED and file_state(path) == state and _is_on_disk(path):
        with contextlib.suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(place, durable=False) as stream:
                stream.write(json.dumps({"state": state, "digest": found}).encode())
    return found


def file_state(path: Path) -> State:
    """Which file it is, its length, its times of change."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _is_on_disk(path: Path) -> bool:
    """Whether the file is on one of `_LASTING`; False if the system does not tell."""
    best, kind = -1, ""
    with contextlib.suppress(OSError):
        resolved = path.resolve()
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            place, _, facts = line.partition(" - ")
            point = place.split(" ")[4].replace(r"\040", " ")
            if len(point) > best and resolved.is_relative_to(point):
                best, kind = len(point), facts.split(" ")[0]
    return kind in _LASTING


def _block(content: bytes | memoryview) -> bytes:
    try:
        return hashlib.sha256(content).digest()
    finally:
        if isinstance(content, memoryview):
            content.release()


def _whole(blocks: list[bytes], size: int) -> str:
    return hashlib.sha256(b"".join(blocks) + size.to_bytes(8, "little")).hexdigest()
