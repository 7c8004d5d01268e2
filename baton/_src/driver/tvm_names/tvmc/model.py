"""`TVMCModel`: a Relay module with its parameters, to compile, tune, show and keep."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from baton._src.driver.relay.build import GraphExecutorFactory
from baton._src.driver.tvm_names.contrib.temporary import TempDirectory
from baton._src.driver.tvm_names.node_json import load_json, save_json
from baton._src.driver.tvm_names.tvmc.errors import raising_tvmc, refuse
from baton._src.ir.module import IRModule
from baton._src.runtime.param_dict import load_param_dict, save_param_dict
from baton._src.support.tar_files import untar

_MODULE, _PARAMS, _RECORDS, _PACKAGE = "model.json", "model.params", "tuning_records", "model_package.tar"


class TVMCModel:
    """What was imported, or read back from what `save` wrote (`model_path`).

    `mod` and `params` may be replaced by the user.
    """

    def __init__(
        self, mod: IRModule | None = None, params: Mapping[str, Any] | None = None, model_path: str | Path | None = None
    ) -> None:
        if model_path is None and (mod is None or params is None):
            raise refuse("Either mod and params must be provided or a path to a previously saved TVMCModel")
        self._tmp_dir = TempDirectory()
        self.lib_path: str | None = None
        if model_path is not None:
            self.load(model_path)
        elif mod is not None:
            self.mod, self.params = mod, dict(params or {})

    def save(self, model_path: str | Path) -> None:
        """Write an archive (`.tar`) of the module, its parameters, and the tuning records and the package that were
        made for it without naming a place."""
        parts = {_MODULE: save_json(self.mod).encode(), _PARAMS: save_param_dict(self.params)}
        with tarfile.open(model_path, "w") as archive:
            for name, content in parts.items():
                add_bytes(archive, name, content)
            for path in (self.default_tuning_records_path(), self.default_package_path()):
                if Path(path).exists():
                    archive.add(path, Path(path).name)

    @raising_tvmc
    def load(self, model_path: str | Path) -> None:
        """Become what `save` wrote."""
        if not Path(model_path).is_file():
            raise refuse(f"there is no saved model {str(model_path)!r}", f"paths are relative to {Path.cwd()}")
        try:
            untar(str(model_path), self._tmp_dir.temp_dir)
            text, params = (Path(self._tmp_dir.relpath(n)).read_bytes() for n in (_MODULE, _PARAMS))
        except (OSError, tarfile.TarError) as error:
            raise refuse(f"{str(model_path)!r} is not a saved TVMCModel", "TVMCModel.save writes one") from error
        self.mod = load_json(text.decode())
        self.params = load_param_dict(params)

    def default_tuning_records_path(self) -> str:
        """Where `tune` remembers what it found, if it is not told where; kept by `save`."""
        return self._tmp_dir.relpath(_RECORDS)

    def default_package_path(self) -> str:
        """Where `compile` writes the package, if it is not told where; kept by `save`."""
        return self._tmp_dir.relpath(_PACKAGE)

    @raising_tvmc
    def export_package(
        self,
        executor_factory: GraphExecutorFactory,
        package_path: str | Path | None = None,
        cross: Any = None,
        cross_options: str | None = None,
        output_format: str = "so",
    ) -> str:
        """Write what was built as a package, an archive of the library, the graph and the parameters; its path.

        `output_format` says how the library in it is called, "so" or "tar": both are files of baton's own. What was
        built for "c" is compiled for "so", and packed as it is for "tar".
        """
        check_packaging(cross, cross_options, output_format)
        path = str(package_path or self.default_package_path())
        lib_name = f"mod.{output_format}"
        self.lib_path = self._tmp_dir.relpath(lib_name)
        executor_factory.export_library(self.lib_path)
        with tarfile.open(path, "w") as archive:
            archive.add(self.lib_path, lib_name)
            add_bytes(archive, "mod.json", executor_factory.get_graph_json().encode())
            add_bytes(archive, "mod.params", save_param_dict(executor_factory.get_params()))
        return path

    def summary(self, file: TextIO | None = None) -> None:
        """Print the program."""
        print(self.mod, file=file)


def check_model(given: Any, verb: str) -> None:
    """Refuse to `verb` what is no `TVMCModel`."""
    if not isinstance(given, TVMCModel):
        raise refuse(f"cannot {verb} a {type(given).__name__}", "tvmc.load gives a TVMCModel")


def check_packaging(cross: Any, cross_options: Any, output_format: str) -> None:
    """Refuse packages that need another compiler or are in another format than baton's own."""
    if cross or cross_options:
        raise refuse("libraries are written without a compiler", "leave out the cross compiler and its options")
    if output_format not in ("so", "tar"):
        said = f"a package cannot be written in the format {output_format!r}"
        if output_format == "mlf":
            said += ": baton generates code for processes, not for bare devices, and has no Model Library Format"
        raise refuse(said, 'give output_format "so" or "tar"')


def add_bytes(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    """Add a file to an archive."""
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))
