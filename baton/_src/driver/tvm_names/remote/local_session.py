"""`tvm.rpc.LocalSession`: an RPC session to this process itself, with which scripts for boards are tried out.

Files are uploaded to a folder of the session, and loaded from there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from baton._src.driver.artifacts import load_module
from baton._src.driver.tvm_names.contrib.temporary import TempDirectory
from baton._src.driver.tvm_names.devices import cpu, device
from baton._src.driver.tvm_names.registry import get_global_func
from baton._src.support.diagnostics import fail
from baton._src.values.device import Device


class LocalSession:
    """A session whose devices and functions are this process's own."""

    def __init__(self, files: TempDirectory | None = None) -> None:
        self._folder = files or TempDirectory()

    def _path(self, name: str) -> Path:
        """The path of an uploaded file; names cannot refer to other places."""
        if Path(name).name != name:
            raise fail("api", f"{name!r} is not the name of an uploaded file", help="give the name without folders")
        return Path(self._folder.relpath(name))

    def _found(self, name: str) -> Path:
        path = self._path(name)
        if not path.exists():
            known = ", ".join(sorted(self._folder.listdir())) or "nothing"
            raise fail("file-missing", f"{name!r} was not uploaded", help=f"uploaded: {known}")
        return path

    def upload(self, data: str | bytes | bytearray, target: str | None = None) -> None:
        """Keep a file, given by its path or as bytes, under its own name or `target`."""
        if isinstance(data, (bytes, bytearray)):
            if target is None:
                raise fail("api", "uploaded bytes need a name", help="upload(data, target='lib.tar')", kind=ValueError)
            self._path(target).write_bytes(data)
        else:
            self._path(target or Path(data).name).write_bytes(Path(data).read_bytes())

    def download(self, path: str) -> bytearray:
        """The contents of an uploaded file."""
        return bytearray(self._found(path).read_bytes())

    def remove(self, path: str) -> None:
        """Delete an uploaded file."""
        self._found(path).unlink()

    def load_module(self, path: str) -> Any:
        """The library in an uploaded file."""
        return load_module(self._found(path))

    def get_function(self, name: str) -> Any:
        """A registered function."""
        return get_global_func(name)

    def device(self, dev_type: str, dev_id: int = 0) -> Device:
        """A device of this machine."""
        return device(dev_type, dev_id)

    def cpu(self, dev_id: int = 0) -> Device:
        """The CPU."""
        return cpu(dev_id)
