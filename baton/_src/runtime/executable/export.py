"""`export_library` for all kinds of libraries: the treatment of TVM's extra arguments, which are for a linker.

baton's library is one file that needs no linking, so by default it is written directly; a script's `fcompile` is called
as in TVM.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from baton._src.support.diagnostics import fail

OBJECT = "lib0.o"
"""The name of the file that `fcompile` is given."""


def export_library(
    save: Callable[[str | Path], None],
    file_name: str | Path,
    fcompile: Callable[..., Any] | Literal[False] | None = None,
    addons: Sequence[str] | None = None,
    workspace_dir: str | Path | None = None,
    **kwargs: Any,
) -> None:
    """Write a library with `save`: to `file_name`, or for `fcompile(file_name, [object], **kwargs)` to a file in
    `workspace_dir` (a temporary folder) that this function turns into it.

    Functions that make archives (`tvm.contrib.tar.tar`) are not called: the file can be loaded as it is. `cc` without
    `fcompile` (None, or False as older scripts write) has no effect, and neither have flags in `options`, since no
    compiler is called. Errors `api`: there are `addons`, files or libraries in `options`, other options without an
    `fcompile`, or `fcompile` wrote nothing.
    """
    if addons:
        help = "leave them out: code of your own is called by tir.call_packed or call_extern"
        raise fail("api", f"export_library links no further files, such as {addons[0]}", help=help)
    if not fcompile or getattr(fcompile, "output_format", None) == "tar":
        unread = [name for name, value in kwargs.items() if value and (fcompile or not _is_idle(name, value))]
        if unread:
            help = "leave it out: the library needs no linker"
            raise fail("api", f"export_library has no use for {unread[0]}", help=help, kind=TypeError)
        save(file_name)
        return
    with tempfile.TemporaryDirectory() as folder:
        written = Path(workspace_dir or folder, OBJECT)
        save(written)
        fcompile(str(file_name), [str(written)], **kwargs)
    if not Path(file_name).exists():
        help = "it is called as fcompile(file_name, objects, **kwargs); or leave it out"
        raise fail("api", f"fcompile did not write {file_name}", help=help)


def _is_idle(name: str, value: Any) -> bool:
    """Whether an argument is only about the compiler that is not called: its name, or flags that bring nothing in."""
    return name == "cc" or (
        name == "options"
        and isinstance(value, (list, tuple))
        and all(str(flag).startswith("-") and not str(flag).startswith("-l") for flag in value)
    )
