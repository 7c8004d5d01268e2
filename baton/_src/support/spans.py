"""Where a piece of a program was written: a source and a range of lines and columns."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterable
from dataclasses import field
from functools import lru_cache

from baton._src.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """A source text with the name used in messages (a file name, or `<string>`)."""

    name: str
    text: str = field(repr=False, compare=False, default="")
    first_line: int = 1
    """The line number of the text's first line in its file (decorated functions start inside a file)."""
    path: str = ""
    """The file to read the text from on demand, if it is not held here."""

    def line(self, number: int) -> str | None:
        """The text of line `number` (counted as in the file), or None where the source does not have it."""
        if self.path:
            return linecache.getline(self.path, number).rstrip("\n") or None
        lines = self.text.split("\n")
        index = number - self.first_line
        return lines[index] if 0 <= index < len(lines) else None


@dataclass(frozen=True, slots=True)
class Span:
    """A range in a source. Lines and columns count from 1; the end column is exclusive. Column 0: the whole line.

    Line 0: a place in what has no lines, such as a node of a model; the source's name says which.
    """

    source: Source
    line: int
    end_line: int
    column: int
    end_column: int

    @property
    def source_name(self) -> Source:
        """The source, under TVM's name of the field."""
        return self.source

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of `other`."""
        return Span(self.source, self.line, other.end_line, self.column, other.end_column)

    def __str__(self) -> str:
        if not self.line:
            return self.source.name
        place = f"{self.source.name}:{self.line}"
        return f"{place}:{self.column}" if self.column else place


@lru_cache(maxsize=1024)
def node_place(name: str) -> Span:
    """The node `name` of a model as a place."""
    return Span(Source(f"node {name!r}"), 0, 0, 0, 0)


MOST_NAMED = 8
"""How many places are named that have been put together."""


def places_together(spans: Iterable[Span | None]) -> Span | None:
    """The place of what was made from several pieces of a program: all names of nodes, the last of several lines."""
    found = list(dict.fromkeys(s for s in spans if s is not None))
    if len(found) < 2 or found[-1].line:
        return found[-1] if found else None
    names = [s.source.name for s in found if not s.line]
    more = ["..."] if len(names) > MOST_NAMED else []
    return Span(Source(", ".join([*names[:MOST_NAMED], *more])), 0, 0, 0, 0)


@lru_cache(maxsize=1024)
def _script(path: str) -> Source:
    """A Python file of the user, named relative to the working directory."""
    inside = os.path.abspath(path).startswith(os.getcwd() + os.sep)
    return Source(os.path.relpath(path) if inside and os.path.exists(path) else path, path=path)


def python_line(depth: int, through: str = "") -> Span | None:
    """The line of the user's Python program that calls: `depth` frames above the caller of this function.

    None where baton itself calls; frames of the module `through` are passed over.
    """
    frame = sys._getframe(depth + 1)
    name = frame.f_globals.get("__name__", "")
    while through and name == through and frame.f_back is not None:
        frame = frame.f_back
        name = frame.f_globals.get("__name__", "")
    if name.startswith("baton."):
        return None
    line = frame.f_lineno
    return Span(_script(frame.f_code.co_filename), line, line, 0, 0)
