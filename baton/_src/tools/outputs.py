"""Output files of commands: checks that they can be written before the work starts."""

from __future__ import annotations

import os
from pathlib import Path

from baton._src.support.diagnostics import fail


def can_be_written(path: Path) -> bool:
    """Whether this user may write the file or folder, or create it along with its parent folders."""
    try:
        if path.exists():
            return os.access(path, os.W_OK)
        nearest = next(parent for parent in path.absolute().parents if parent.exists())
    except OSError:  # a name that is too long, a folder that may not be looked into
        return False
    return nearest.is_dir() and os.access(nearest, os.W_OK)


def check_output(path: Path | None, model: Path | None = None) -> None:
    """`DiagnosticError` (`output-file`) if the file cannot be written, or is the model that is read."""
    if path is None:
        return
    if path.is_dir():
        raise fail("output-file", f"cannot write {path}: it is a folder", help="name a file in it")
    if not path.parent.is_dir():
        raise fail("output-file", f"cannot write {path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise fail("output-file", f"cannot write {path}: the folder {path.parent} is not writable")
    if model is not None and path.exists() and model.exists() and path.samefile(model):
        raise fail("output-file", f"{path} is the model itself, which would be overwritten", help="name another file")
