"""Reads programs from files of Relay text and TVMScript; imported only for such files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.text_builders import RELAX_TEXT
from baton._src.relay.text.parser import parse
from baton._src.script.entrance import from_source
from baton._src.script.namespaces import script_roots
from baton._src.support.diagnostics import fail
from baton._src.tir.script_names import SCRIPT_NAMES

MODEL_LIMIT = 1 << 28
"""The maximum size of a text file in bytes; larger ones are refused."""


def read_relay(path: Path) -> IRModule:
    """The module in a file of Relay's text format. Raises `DiagnosticError`."""
    return parse(read_file(path), CATALOGUE, source_name=str(path))


def read_script(path: Path) -> Any:
    """The module or function that a TVMScript file defines; the file is not executed. Raises `DiagnosticError`."""
    return from_source(read_file(path), script_roots(RELAX_TEXT, SCRIPT_NAMES), name=str(path))


def read_file(path: Path) -> str:
    """The text of a file. Error: `file-size` and `file-text` for files that are too large or no text in UTF-8."""
    try:
        if path.stat().st_size > MODEL_LIMIT:
            raise fail("file-size", f"{path} is too large for a program text")
        return path.read_text(encoding="utf-8-sig")  # editors on Windows write a mark in front
    except (OSError, UnicodeDecodeError) as error:
        raise fail("file-text", f"cannot read {path} as text: {error}") from error
