"""Reads the fenced ```python blocks of a Markdown page, so that the tests can run what the page shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})\s*(?P<language>[\w+-]*)")
NO_RUN = re.compile(r"^\s*<!--\s*no-run:\s*(?P<reason>.*?)\s*-->\s*$")


@dataclass(frozen=True, slots=True)
class Snippet:
    """One block of Python; `line` is that of its first line of code, so that tracebacks point into the page."""

    page: Path
    line: int
    code: str
    no_run: str | None


def read_snippets(page: Path) -> Iterator[Snippet]:
    """The Python blocks of a page in order, marked with the reason where a comment forbids running them.

    The comment `<!-- no-run: reason -->` stands on the line before the block (blank lines may follow it).
    """
    lines = page.read_text(encoding="utf-8").splitlines()
    reason: str | None = None
    at = 0
    while at < len(lines):
        opening = FENCE.match(lines[at])
        if opening is None:
            note = NO_RUN.match(lines[at])
            if note or lines[at].strip():
                reason = note["reason"] if note else None
            at += 1
            continue
        start = at + 1
        at = _end_of_block(lines, start, opening["fence"])
        if opening["language"] in ("python", "py"):
            width = len(opening["indent"])
            code = "\n".join(line[width:] if line[:width].isspace() else line for line in lines[start:at])
            yield Snippet(page, start + 1, code, reason)
        reason = None
        at += 1


def _end_of_block(lines: list[str], start: int, fence: str) -> int:
    """The index of the line that closes the block, or the number of lines."""
    for at in range(start, len(lines)):
        closing = lines[at].strip()
        if closing.startswith(fence) and not closing.strip(fence[0]):
            return at
    return len(lines)
