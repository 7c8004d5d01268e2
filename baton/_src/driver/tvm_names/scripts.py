"""Parse and print TVMScript: `tvm.script.from_source`, `tvm.script.highlight.cprint`."""

from __future__ import annotations

from typing import Any

from baton._src.driver.tvm_names.reported import shown
from baton._src.ops.text_builders import RELAX_TEXT
from baton._src.script.entrance import from_source as read
from baton._src.script.namespaces import script_roots
from baton._src.script.read_source import source_of
from baton._src.tir.script_names import SCRIPT_NAMES


def from_source(program: Any, extra_vars: Any = None, check_well_formed: bool = True) -> Any:
    """A module or function from its text, or from that of a Python class or function; nothing of it is executed. Errors
    carry their places, several at once.
    """
    if not isinstance(program, str):
        program = source_of(program).source.text
    roots = {**script_roots(RELAX_TEXT, SCRIPT_NAMES), **(extra_vars or {})}
    with shown():
        return read(program, roots, check_well_formed=check_well_formed)


parse = from_source


def cprint(printable: Any, style: str | None = None, black_format: bool = False) -> None:
    """Print a program's text, or a text; there are no colours, so `style` and `black_format` change nothing.

    Error: `TypeError` for what has no text.
    """
    if not isinstance(printable, str) and not callable(getattr(printable, "script", None)):
        raise TypeError(f"cprint takes a text or what has script(), not a {type(printable).__name__}")
    print(printable if isinstance(printable, str) else printable.script())
