"""Where a piece of a program was written: a source and a range of lines and columns."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Source:
    """A text a user wrote, with the name it is reported under (a file name, or `<string>`)."""

    name: str
    text: str = field(repr=False, compare=False, default="")
    first_line: int = 1
    """Number of the text's first line in the file it was cut from (decorated functions start inside a file)."""

    def line(self, number: int) -> str | None:
        """The text of line `number` (counted as in the file), or None where the source does not have it."""
        lines = self.text.split("\n")
        index = number - self.first_line
        return lines[index] if 0 <= index < len(lines) else None


@dataclass(frozen=True, slots=True)
class Span:
    """A range in a source. Lines and columns count from 1; the end column is exclusive."""

    source: Source
    line: int
    column: int
    end_line: int
    end_column: int

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of `other`."""
        return Span(self.source, self.line, self.column, other.end_line, other.end_column)

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"
