"""Options of TIR passes, given as a dict in the configuration of a `PassContext`."""

from __future__ import annotations

from typing import Any

from baton._src.transform.context import PassContext


def options_of(ctx: PassContext, setting: str) -> dict[str, Any]:
    """The options given as `setting`, by name, with Python numbers. Their names are known (`transform.settings`)."""
    return {name: getattr(value, "value", value) for name, value in (ctx.setting(setting) or {}).items()}
