"""`runtime.load_module`: what `export_library` wrote, ready to run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from baton._src.driver.load import attach_operators
from baton._src.driver.relay_build import GraphExecutorFactory
from baton._src.runtime.executable import Executable, load_executable

Module = Executable


def load_module(path: str | Path, fmt: str = "") -> Any:
    """The library at `path`: a factory (``lib["default"](device)``) if `relay.build` made it, else an executable."""
    executable = attach_operators(load_executable(path), "llvm")
    if executable.facts.get("kind") == "graph":
        return GraphExecutorFactory(executable, {}, str(executable.facts.get("mod_name", "default")))
    return executable
