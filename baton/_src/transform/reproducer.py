"""Reproducers of failing passes: a file with the module and the passes still to run, to be attached to a report.

The file is text: a header of `// key: value` lines, then the module as its language prints it. That text reads back
(`script.from_source`, `relay.parse`), and each `// pipeline:` line is the constructor call of a pass.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.support.cache_folder import cache_folder


def write_reproducer(
    name: str, module: IRModule, remaining: Sequence[Any], error: BaseException, directory: str = ""
) -> str:
    """Write the file. Returns a sentence for the error message: its path, or why there is none. Never raises."""
    try:
        content = reproducer_text(name, module, remaining, error)
        folder = Path(directory) if directory else default_directory()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.baton"
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".", suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
        os.replace(temporary, path)
        return f"reproducer: {path}"
    except Exception as problem:  # reporting must not hide the error that is being reported
        return f"no reproducer could be written: {type(problem).__name__}: {problem}"


def reproducer_text(name: str, module: IRModule, remaining: Sequence[Any], error: BaseException) -> str:
    """The contents of the file. The pipeline is one pass a line, written as its constructor call."""
    first_line = str(error).split("\n", 1)[0]
    header = [f"// pass: {name}", f"// error: {type(error).__name__}: {first_line}"]
    header += [f"// pipeline: {step!r}" for step in remaining]
    print_module = type(module).text
    text = repr(module) if print_module is None else print_module(module, show_meta=True)
    return "\n".join([*header, "", text, ""])


def default_directory() -> Path:
    """The default folder of reproducers."""
    return cache_folder() / "reproducers"
