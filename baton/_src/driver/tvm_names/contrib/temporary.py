"""`tvm.contrib.utils`: temporary folders, deleted with their handles; paths."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar


class TempDirectory:
    """A temporary folder, removed when the object is, or at `remove()`; also a context manager.

    A folder named by `custom_path`, or made with `keep_for_debug`, stays.
    """

    _keeps: ClassVar[bool] = False

    def __init__(self, custom_path: str | None = None, keep_for_debug: bool | None = None) -> None:
        self.temp_dir = custom_path or tempfile.mkdtemp(prefix="baton-")
        os.makedirs(self.temp_dir, exist_ok=True)
        stays = custom_path or (self._keeps if keep_for_debug is None else keep_for_debug)
        self._removal = None if stays else weakref.finalize(self, shutil.rmtree, self.temp_dir, ignore_errors=True)

    @classmethod
    @contextmanager
    def set_keep_for_debug(cls, set_to: bool = True) -> Iterator[None]:
        """Folders made within `with` stay, or with `set_to=False` do not, where nothing else is said."""
        before, TempDirectory._keeps = TempDirectory._keeps, set_to
        try:
            yield
        finally:
            TempDirectory._keeps = before

    @property
    def path(self) -> Path:
        """The path of the folder."""
        return Path(self.temp_dir)

    def relpath(self, name: str) -> str:
        """The path of `name` in the folder."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        """The names of the directory's entries."""
        return os.listdir(self.temp_dir)

    def remove(self) -> None:
        """Delete the folder, unless it was given by the user."""
        if self._removal is not None:
            self._removal()

    def __truediv__(self, name: str | Path) -> Path:
        return self.path / name

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


def tempdir(custom_path: str | None = None, keep_for_debug: bool | None = None) -> TempDirectory:
    """A new temporary folder, or a handle of the folder given, which stays."""
    return TempDirectory(custom_path, keep_for_debug)


def is_source_path(path: str) -> bool:
    """Whether this is the path of a source, not source code: a file that is there, or one line with an ending."""
    if os.path.exists(path):
        return True
    _, point, ending = path.rpartition(".")
    return "\n" not in path and bool(point) and ending.strip() == ending


def which(exec_name: str) -> str | None:
    """The path of a program found on `$PATH`; None if there is none."""
    return shutil.which(exec_name)
