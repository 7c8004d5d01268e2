"""`runtime.load_module`: load what `export_library` wrote."""

from __future__ import annotations

import dataclasses
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from baton._src.driver.c_module import CSourceModule
from baton._src.driver.kernel_module import KERNELS, KernelModule, loaded_kernels
from baton._src.driver.model.load import attach_operators
from baton._src.driver.relay.build import GraphExecutorFactory
from baton._src.runtime.executable.c_files import is_archive, is_shared_library, unpacked
from baton._src.runtime.executable.executable import Executable, load_executable
from baton._src.runtime.native.c_library import CLibrary
from baton._src.runtime.native.shared_library import SharedLibrary
from baton._src.support.diagnostics import fail

Module = Executable | KernelModule | GraphExecutorFactory | CSourceModule | SharedLibrary
"""The classes that hold compiled code, for `isinstance` and annotations."""


def load_module(path: str | Path, fmt: str = "") -> Any:
    """Load the library at `path` as the object that wrote it: a factory (``lib["default"](device)``) of `relay.build`,
    kernels of `tvm.build`, an executable of `relax.build`. So are shared libraries of C code, and archives of it
    (`.tar`), which the system's compiler compiles. A missing file is a ValueError as well, as in TVM.
    """
    if not Path(path).exists():
        raise fail("file-missing", f"cannot read {path}: No such file or directory", kind=ValueError)
    if is_archive(Path(path)):
        return _compiled(Path(path))
    if is_shared_library(Path(path)) and not zipfile.is_zipfile(path):
        return SharedLibrary(Path(path))
    return _as_written(load_executable(path))


def _compiled(path: Path) -> Any:
    """What an archive of C code holds, compiled."""
    with tempfile.TemporaryDirectory() as folder:
        library, program = unpacked(path, Path(folder))
        if program is None:
            return SharedLibrary(library)
        opened = CLibrary(library)
        return _as_written(dataclasses.replace(load_executable(program), c_library=lambda: opened))


def _as_written(loaded: Executable) -> Any:
    """The object that wrote an executable."""
    executable = attach_operators(loaded, "llvm")
    if executable.facts.get("kind") == KERNELS:
        return loaded_kernels(executable)
    if executable.facts.get("kind") == "graph":
        return GraphExecutorFactory(executable, {}, str(executable.facts.get("mod_name", "default")))
    return executable
