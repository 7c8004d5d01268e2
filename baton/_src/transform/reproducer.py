"""Reproducers of failing passes: a file with the module and the passes still to run, to be attached to a report.

The file is text: a header of `// key: value` lines, then the module as its language prints it. `baton replay FILE`
(`driver.replay`) reads it back and runs the passes again, under the same context and target.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.support.cache_folder import cache_folder
from baton._src.transform.context import PassContext

DIRECTORY = "baton.reproducer_dir"
"""The setting that says where reproducers are written."""


def write_reproducer(
    name: str, module: IRModule, remaining: Sequence[Any], error: BaseException, ctx: PassContext
) -> str:
    """Write the file. Returns a sentence for the error message: its path, or why there is none. Never raises."""
    try:
        directory = ctx.setting(DIRECTORY)
        content = reproducer_text(name, module, remaining, error, ctx)
        folder = Path(directory) if directory else default_directory()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.baton"
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".", suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
        os.replace(temporary, path)
        return f"reproducer: {path} (baton replay runs it)"
    except Exception as problem:  # reporting must not hide the error that is being reported
        return f"no reproducer could be written: {type(problem).__name__}: {problem}"


def reproducer_text(
    name: str, module: IRModule, remaining: Sequence[Any], error: BaseException, ctx: PassContext
) -> str:
    """The contents of the file. The pipeline has one pass per line, written as its constructor call."""
    header = [f"// pass: {name}", f"// error: {error_line(error)}", f"// context: {_context_text(ctx)}"]
    target = Target.current()
    if target is not None:
        header.append(f"// target: {json.dumps(target.export())}")
    header += [f"// pipeline: {step.constructor()}" for step in remaining]
    print_module = type(module).text
    text = repr(module) if print_module is None else print_module(module, show_meta=True, header=True)
    return "\n".join([*header, "", text, ""])


def error_line(error: BaseException) -> str:
    """The class of an error and the first line of its message."""
    first = str(error).split("\n", 1)[0]
    return f"{type(error).__name__}: {first}"


def _context_text(ctx: PassContext) -> str:
    config = {name: value for name, value in ctx.config.items() if name != DIRECTORY}
    passes = f"required_pass={list(ctx.required_pass)!r}, disabled_pass={list(ctx.disabled_pass)!r}"
    return f"PassContext(opt_level={ctx.opt_level}, {passes}, config={config!r})"


def default_directory() -> Path:
    """The default folder of reproducers."""
    return cache_folder() / "reproducers"
