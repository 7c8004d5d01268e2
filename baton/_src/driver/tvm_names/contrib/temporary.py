"""`tvm.contrib.utils.tempdir`: a folder that goes away with its handle."""

from __future__ import annotations

import os
import tempfile
from typing import Any


class TempDirectory:
    """A temporary folder, removed when the object is, or at `remove()`; also a context manager."""

    def __init__(self, custom_path: str | None = None) -> None:
        self._handle = None if custom_path else tempfile.TemporaryDirectory(prefix="baton-")
        if custom_path:
            os.makedirs(custom_path, exist_ok=True)
        self.temp_dir = custom_path or (self._handle.name if self._handle else "")

    @property
    def path(self) -> str:
        """Where the folder is."""
        return self.temp_dir

    def relpath(self, name: str) -> str:
        """The path of `name` in the folder."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        return os.listdir(self.temp_dir)

    def remove(self) -> None:
        """Delete the folder, unless it was given by the user."""
        if self._handle is not None:
            self._handle.cleanup()

    def __truediv__(self, name: str) -> str:
        return self.relpath(name)

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


def tempdir(custom_path: str | None = None, keep_for_debug: bool = False) -> TempDirectory:
    """A new temporary folder, or a handle of the folder given, which stays."""
    return TempDirectory(tempfile.mkdtemp(prefix="baton-") if keep_for_debug and custom_path is None else custom_path)
