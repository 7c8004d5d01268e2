"""Relay text to tokens: both notations, comments dropped, places kept (facts relay-language §5, Lexing).

Comments are `// line`, nested `/* */`, and `#` to the end of the line unless `[` follows. Dots between letters belong
to a name (`nn.conv2d`); a number never contains the dot of a projection: the parser takes `%t.0.1` apart. The metadata
section's JSON is not tokenised; it is the text of the token `metadata`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import Enum
from typing import NamedTuple

from baton._src.support.diagnostics import Diagnostic
from baton._src.support.spans import Source, Span


class Kind(Enum):
    """What a token is."""

    NAME = "a name"
    LOCAL = "a local variable"
    GRAPH = "a graph name"
    GLOBAL = "a global name"
    NUMBER = "a number"
    STRING = "a string"
    SIGN = "a sign"
    METADATA = "the metadata section"
    END = "the end of the text"


class Token(NamedTuple):
    """`text` is as written (strings without quotes); `start`, `stop` are offsets; `first` if it begins its line."""

    kind: Kind
    text: str
    start: int
    stop: int
    first: bool


_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\f\v]+)
  | (?P<newline>\n)
  | (?P<line_comment>//[^\n]*|\#(?!\[)[^\n]*)
  | (?P<comment>/\*)
  | (?P<metadata>\#\[metadata\])
  | (?P<NUMBER>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[A-Za-z_0-9]*)
  | (?P<GRAPH>%\d+)
  | (?P<LOCAL>%[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)
  | (?P<GLOBAL>@[A-Za-z_]\w*(?:[./][A-Za-z_]\w*)*)
  | (?P<NAME>match\?|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)
  | (?P<STRING>"[^"\n]*")
  | (?P<SIGN>\#\[|->|=>|==|!=|<=|>=|&&|\|\||[-+*/<>=(){}\[\],.;:?!&|@%])
    """,
    re.VERBOSE,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_KINDS = {k.name: k for k in Kind}

MAX_TEXT = 512 * 1024 * 1024
"""Longer texts are refused."""


class Text:
    """A source with its line starts, to turn offsets into spans."""

    def __init__(self, name: str, text: str) -> None:
        self.source = Source(name, text)
        self.text = text
        self._lines = [0, *(m.end() for m in re.finditer("\n", text))]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1."""
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def span(self, start: int, stop: int) -> Span:
        line, column = self.place(start)
        end_line, end_column = (line, column + stop - start) if stop <= self._end(line) else self.place(stop)
        return Span(self.source, line, column, end_line, end_column)

    def _end(self, line: int) -> int:
        return self._lines[line] - 1 if line < len(self._lines) else len(self.text)


def tokenize(text: Text) -> tuple[list[Token], list[Diagnostic]]:
    """All tokens, the last one of kind END; and what could not be read."""
    tokens: list[Token] = []
    errors: list[Diagnostic] = []
    content, position, first = text.text, 0, True
    match_at, length = _TOKEN.match, len(text.text)
    while position < length:
        found = match_at(content, position)
        if found is None:
            stop = position + 1
            shown = content[position]
            what = "this string does not end on its line" if shown == '"' else f"{shown!r} means nothing here"
            errors.append(Diagnostic("relay-parse", what, span=text.span(position, stop)))
            position = content.find("\n", position) if shown == '"' else stop
            position = length if position < 0 else position
            continue
        kind, stop = found.lastgroup or "", found.end()
        if kind == "newline":
            first = True
        elif kind == "comment":
            stop = _comment_end(content, position)
            if stop < 0:
                errors.append(
                    Diagnostic("relay-parse", "this comment is never closed", span=text.span(position, position + 2))
                )
                break
        elif kind == "metadata":
            tokens.append(Token(Kind.METADATA, content[stop:], position, length, True))
            position = length
            break
        elif kind not in ("space", "line_comment"):
            shown = found.group()
            tokens.append(Token(_KINDS[kind], shown[1:-1] if kind == "STRING" else shown, position, stop, first))
            first = False
        position = stop
    tokens.append(Token(Kind.END, "", length, length, True))
    return tokens, errors


def _comment_end(content: str, start: int) -> int:
    """The offset after the comment that begins at `start`; -1 if it never ends."""
    depth, position = 0, start
    while True:
        edge = _COMMENT_EDGE.search(content, position)
        if edge is None:
            return -1
        depth += 1 if edge.group() == "/*" else -1
        position = edge.end()
        if depth == 0:
            return position
