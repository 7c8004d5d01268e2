"""The hash of a file's contents, as fast as the machine allows: in blocks, on all cores, without copying.

SHA-256 of the blocks' SHA-256 digests and the length. Processors hash 1.5-2 GB a second and core; nothing is sampled.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BLOCK = 8 << 20


def file_digest(path: Path) -> str:
    """In hexadecimal. Raises `OSError` for files that cannot be read."""
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if size <= BLOCK:
            return _whole([_block(stream.read())], size)
        with mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ) as mapped:
            view = memoryview(mapped)
            try:
                with ThreadPoolExecutor(os.cpu_count() or 1) as pool:  # hashing lets other threads run
                    blocks = list(pool.map(lambda at: _block(view[at : at + BLOCK]), range(0, size, BLOCK)))
            finally:
                view.release()
            return _whole(blocks, size)


def _block(content: bytes | memoryview) -> bytes:
    try:
        return hashlib.sha256(content).digest()
    finally:
        if isinstance(content, memoryview):
            content.release()


def _whole(blocks: list[bytes], size: int) -> str:
    return hashlib.sha256(b"".join(blocks) + size.to_bytes(8, "little")).hexdigest()
