"""TVMScript from text: `tvm.script.from_source`."""

from __future__ import annotations

from typing import Any

from baton._src.ops.text_builders import RELAX_TEXT
from baton._src.script.entrance import from_source as read
from baton._src.script.namespaces import script_roots
from baton._src.tir.script_names import SCRIPT_NAMES


def from_source(program: str, extra_vars: Any = None, check_well_formed: bool = True) -> Any:
    """A module or function from its text; nothing of it is executed. Errors carry their places, several at once."""
    return read(
        program, {**script_roots(RELAX_TEXT, SCRIPT_NAMES), **(extra_vars or {})}, check_well_formed=check_well_formed
    )


parse = from_source
