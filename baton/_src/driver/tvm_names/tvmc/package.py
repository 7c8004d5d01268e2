"""`TVMCPackage`: what `compile` wrote, ready to run here or to be taken along."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

from baton._src.driver.artifacts import load_module
from baton._src.driver.relay.build import GraphExecutorFactory
from baton._src.driver.tvm_names.contrib.temporary import TempDirectory
from baton._src.driver.tvm_names.tvmc.errors import raising_tvmc, refuse
from baton._src.support.tar_files import untar

_LIBRARIES = ("mod.so", "mod.tar")
_MADE_BY = "tvmc compile makes packages for this machine"


class TVMCPackage:
    """A package by its path: `lib_path` is the library taken out of it, `graph` its kernels as JSON, `params` the
    parameters as bytes."""

    type = "classic"
    executor_type = "graph"

    @raising_tvmc
    def __init__(self, package_path: str | Path, project_dir: str | Path | None = None) -> None:
        if project_dir is not None:
            raise refuse("baton generates code for processes, not for bare devices", "leave out project_dir")
        self._tmp_dir = TempDirectory()
        self.package_path = str(package_path)
        self.import_package(self.package_path)

    def import_package(self, package_path: str | Path) -> None:
        """Take the parts out of the archive. `TVMCException` if they are not there, or lead out of it."""
        if not Path(package_path).is_file():
            raise refuse(f"there is no package {str(package_path)!r}", f"paths are relative to {Path.cwd()}")
        try:
            untar(str(package_path), self._tmp_dir.temp_dir)
        except (OSError, tarfile.TarError) as error:
            raise refuse(f"{str(package_path)!r} is not an archive that could be a package", _MADE_BY) from error
        if Path(self._tmp_dir.relpath("metadata.json")).exists():
            raise refuse(f"{str(package_path)!r} is in Model Library Format, code for bare devices", _MADE_BY)
        found = [name for name in _LIBRARIES if Path(self._tmp_dir.relpath(name)).is_file()]
        if not found:
            raise refuse(f"there is no library in the package {str(package_path)!r}", _MADE_BY)
        self.lib_name = found[0]
        self.lib_path = self._tmp_dir.relpath(self.lib_name)
        self.graph = self._part("mod.json").decode()
        self.params = bytearray(self._part("mod.params"))

    def _part(self, name: str) -> bytes:
        try:
            return Path(self._tmp_dir.relpath(name)).read_bytes()
        except OSError as error:
            raise refuse(f"there is no {name} in the package {self.package_path!r}", _MADE_BY) from error

    def factory(self) -> GraphExecutorFactory:
        """The library, loaded. Libraries that another compiler made are refused."""
        found: Any = load_module(self.lib_path)
        if not isinstance(found, GraphExecutorFactory):
            raise refuse(f"the library in {self.package_path!r} holds no model", _MADE_BY)
        return found
