"""Options of TIR passes, given as a dict in the configuration of a `PassContext`."""

from __future__ import annotations

from typing import Any

from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext


def options_of(ctx: PassContext, setting: str, known: tuple[str, ...]) -> dict[str, Any]:
    """The options given as `setting`, by name, with Python numbers. Error `pass-option`: an unknown name."""
    given = ctx.setting(setting) or {}
    for name in given:
        if name not in known:
            raise fail("pass-option", f"{setting} has no option {name!r}", help=f"it has {', '.join(known)}")
    return {name: getattr(value, "value", value) for name, value in given.items()}
