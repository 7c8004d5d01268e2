"""A cache of compiled objects on disk, so that each kernel is compiled once per machine.

It is in `$BATON_CACHE_DIR`, else `$XDG_CACHE_HOME/baton`, else `~/.cache/baton`; `BATON_CACHE=0` turns it off,
`BATON_CACHE_PROGRAMS` limits the MB of whole programs kept next to the objects (`driver.compile.program_cache`). An
entry is one file named by the hash of everything that determines its content, with a checksum inside: a damaged one
counts as missing and is rewritten. Files are written under a temporary name and renamed, so readers never see a partial
entry. When the folder exceeds its limit, the least recently used entries are deleted.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from baton._src.support.cache_folder import cache_folder
from baton._src.support.dataclass import dataclass
from baton._src.support.whole_file import whole_file

MAGIC = b"BATONKRN1\n"
DEFAULT_CAP = 512 << 20
DEFAULT_PROGRAMS = 4 << 30


@dataclass(frozen=True)
class CacheOptions:
    """Where compiled objects and programs are kept, and how many bytes of each; if `folder` is None, nowhere."""

    folder: Path | None
    cap: int = DEFAULT_CAP
    programs: int = DEFAULT_PROGRAMS

    @staticmethod
    def from_environment(environment: Mapping[str, str] | None = None) -> CacheOptions:
        """The options that the environment variables set."""
        env = os.environ if environment is None else environment
        if env.get("BATON_CACHE", "1").strip().lower() in ("0", "off", "false", "no"):
            return CacheOptions(None)
        said = env.get("BATON_CACHE_PROGRAMS", "").strip()
        programs = int(said) << 20 if said.isdecimal() else DEFAULT_PROGRAMS
        return CacheOptions(cache_folder(env), programs=programs)


def checked_by_environment() -> bool:
    """Whether BATON_CHECKED makes checked builds the default."""
    return os.environ.get("BATON_CHECKED", "") not in ("", "0")


class ObjectCache:
    """Objects by key. Problems with the disk are never errors: the cache then holds nothing."""

    def __init__(self, options: CacheOptions) -> None:
        self.options = options
        self._written = 0

    def get(self, key: str) -> bytes | None:
        """The object stored under `key`, if it exists and is intact."""
        if self.options.folder is None:
            return None
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        start = len(MAGIC) + 32
        content = data[start:]
        if not data.startswith(MAGIC) or hashlib.sha256(content).digest() != data[len(MAGIC) : start]:
            return None
        with contextlib.suppress(OSError):  # a read-only cache can still be read
            os.utime(path)
        return content

    def put(self, key: str, content: bytes) -> None:
        """Store an object."""
        folder = self.options.folder
        if folder is None:
            return
        try:
            path = self._path(key)
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path, durable=False) as file:
                file.write(MAGIC + hashlib.sha256(content).digest() + content)
        except OSError:
            return
        self._written += len(content)
        if self._written > self.options.cap // 64:
            self._written = 0
            self.trim()

    def trim(self) -> None:
        """Delete what was not used for longest until the folder is within its cap."""
        if self.options.folder is not None:
            trim(self.options.folder / "objects", "*/*", self.options.cap)

    def _path(self, key: str) -> Path:
        assert self.options.folder is not None
        return self.options.folder / "objects" / key[:2] / key


def trim(folder: Path, pattern: str, cap: int) -> None:
    """Delete the files that were not used for longest until those that match take at most `cap` bytes."""
    entries = []
    for path in folder.glob(pattern):
        with contextlib.suppress(OSError):
            state = path.stat()
            entries.append((state.st_mtime, state.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= cap:
            break
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size
