"""Regular expressions with RE2's meaning, by Python's `re`: constructs that differ are translated or refused.

RE2's classes (`\\d`, `\\w`, `\\s`, `\\b`) are ASCII only, and its `$` matches only at the very end.
"""

from __future__ import annotations

import re
from functools import cache

_REFUSED = re.compile(r"\\[1-9]|\\Z|\(\?(?:<?[=!]|#|>|\(|P=)|(?:[*+?]|\{\d*,?\d*\})\+|\[\[?\^?\[?:")
"""What RE2 does not know, and its classes by name (`[[:alpha:]]`), which Python reads as something else."""
_PIECES = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\$", re.DOTALL)
"""Escapes, classes and ends: what a `$` is part of, or not."""


@cache
def text_pattern(pattern: str) -> re.Pattern[str]:
    """The compiled pattern; `ValueError` for what RE2 refuses, and for the few constructs not supported here."""
    escaped = re.sub(r"\\\\", "  ", pattern)  # an escaped backslash escapes nothing
    found = _REFUSED.search(escaped)
    if found is not None:
        raise ValueError(f"{found[0]!r} at position {found.start()} of the pattern {pattern!r} is not supported")
    several_lines = re.search(r"\(\?[a-zA-Z]*m", escaped) is not None
    ends = pattern if several_lines else _PIECES.sub(lambda m: r"\Z" if m[0] == "$" else m[0], pattern)
    try:
        compiled = re.compile(ends, re.ASCII)
    except re.error as error:
        raise ValueError(f"the pattern {pattern!r} cannot be read: {error}") from error
    if compiled.flags & re.IGNORECASE and not pattern.isascii():
        raise ValueError(f"the pattern {pattern!r} ignores the case of letters beyond ASCII, which is not supported")
    return compiled


__all__ = ["text_pattern"]
