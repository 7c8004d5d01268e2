"""`runtime.load_module`: load what `export_library` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from baton._src.driver.kernel_module import KERNELS, KernelModule, loaded_kernels
from baton._src.driver.model.load import attach_operators
from baton._src.driver.relay.build import GraphExecutorFactory
from baton._src.runtime.executable.executable import Executable, load_executable
from baton._src.support.diagnostics import fail

Module = Executable | KernelModule | GraphExecutorFactory
"""The classes that hold compiled code, for `isinstance` and annotations."""


def load_module(path: str | Path, fmt: str = "") -> Any:
    """Load the library at `path` as the object that wrote it: a factory (``lib["default"](device)``) of `relay.build`,
    kernels of `tvm.build`, an executable of `relax.build`. A missing file is a ValueError as well, as in TVM.
    """
    if not Path(path).exists():
        raise fail("file-missing", f"cannot read {path}: No such file or directory", kind=ValueError)
    executable = attach_operators(load_executable(path), "llvm")
    if executable.facts.get("kind") == KERNELS:
        return loaded_kernels(executable)
    if executable.facts.get("kind") == "graph":
        return GraphExecutorFactory(executable, {}, str(executable.facts.get("mod_name", "default")))
    return executable
