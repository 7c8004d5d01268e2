"""Relay text to tokens: both notations, comments dropped, places kept (facts relay-language §5, Lexing).

Comments are `// line`, nested `/* */`, and `#` to the end of the line unless `[` follows. Dots between letters belong
to a name (`nn.conv2d`); a number never contains the dot of a projection: the parser takes `%t.0.1` apart. The metadata
section's JSON is not tokenised; it is the text of the token `metadata`. Strings have JSON's escapes; a global whose
name is no word is written as one: `@"a name"`.
"""

from __future__ import annotations

import json
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
    """`text` is as written (of strings and quoted names, what they say); `start` and `stop` are offsets; `first` if it
    begins its line."""

    kind: Kind
    text: str
    start: int
    stop: int
    first: bool


_TOKEN = re.compile(
    r"""
    [ \t\r\f\v]*(?:
    (?P<newline>\n[ \t\r\f\v\n]*)
  | (?P<line_comment>//[^\n]*|\#(?!\[)[^\n]*)
  | (?P<comment>/\*)
  | (?P<metadata>\#\[metadata\])
  | (?P<NUMBER>\d+(?:\.(?:\d+|(?=f\d*\b)))?(?:[eE][+-]?\d+)?[A-Za-z_0-9]*)
  | (?P<GRAPH>%\d+)
  | (?P<LOCAL>%[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)
  | (?P<GLOBAL>@(?:[A-Za-z_]\w*(?:[./][A-Za-z_]\w*)*|"(?:[^"\\\n]|\\.)*"))
  | (?P<NAME>match\?|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)
  | (?P<STRING>"(?:[^"\\\n]|\\.)*")
  | (?P<SIGN>\#\[|->|=>|==|!=|<=|>=|&&|\|\||[-+*/<>=(){}\[\],.;:?!&|@%])
  | (?P<end>\Z)
    )
    """,
    re.VERBOSE,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_KINDS = [None, *(Kind.__members__.get(name) for name in _TOKEN.groupindex)]
"""What the groups of the pattern are; None for what is between tokens."""
_NEWLINE, _COMMENT, _METADATA = (_TOKEN.groupindex[name] for name in ("newline", "comment", "metadata"))
_BLANKS = re.compile(r"[ \t\r\f\v]*")

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
        return Span(self.source, line, end_line, column, end_column)

    def _end(self, line: int) -> int:
        return self._lines[line] - 1 if line < len(self._lines) else len(self.text)


def tokenize(text: Text) -> tuple[list[Token], list[Diagnostic]]:
    """All tokens, the last one of kind END; and what could not be read."""
    tokens: list[Token] = []
    errors: list[Diagnostic] = []
    content, position, first = text.text, 0, True
    length, add, new = len(text.text), tokens.append, tuple.__new__
    matches = _TOKEN.finditer(content)
    while position < length:
        found = next(matches, None)
        if found is None or found.start() != position:
            position = _unreadable(text, position, errors)
            matches = _TOKEN.finditer(content, position)
            continue
        group = found.lastindex or 0
        kind = _KINDS[group]
        start, position = found.span(group)
        if kind is not None:
            shown = content[start:position]
            if shown[-1] == '"':
                shown = _unquoted(text, shown, start, errors)
            add(new(Token, (kind, shown, start, position, first)))
            first = False
        elif group == _NEWLINE:
            first = True
        elif group == _COMMENT:
            position = _comment_end(content, start)
            if position < 0:
                place = text.span(start, start + 2)
                errors.append(Diagnostic("relay-parse", "this comment is never closed", span=place))
                break
            matches = _TOKEN.finditer(content, position)
        elif group == _METADATA:
            add(Token(Kind.METADATA, content[position:], start, length, True))
            break
    add(Token(Kind.END, "", length, length, True))
    return tokens, errors


def _unquoted(text: Text, shown: str, start: int, errors: list[Diagnostic]) -> str:
    """What a string says; of a quoted name, `@` and what it says."""
    sign, quoted = shown[: shown.index('"')], shown[shown.index('"') :]
    if "\\" not in quoted:
        return sign + quoted[1:-1]
    try:
        return sign + str(json.loads(quoted, strict=False))
    except json.JSONDecodeError as error:
        first = start + len(sign) + error.pos
        place = text.span(first, min(first + 2, start + len(shown)))
        help = r"the escapes are \" \\ \/ \b \f \n \r \t and \uXXXX"
        errors.append(Diagnostic("relay-parse", "this string has an unknown escape sequence", span=place, help=help))
        return sign + quoted[1:-1]


def _unreadable(text: Text, position: int, errors: list[Diagnostic]) -> int:
    """Complain about a character that begins no token; the offset to go on at."""
    content = text.text
    blanks = _BLANKS.match(content, position)
    position = blanks.end() if blanks is not None else position
    shown = content[position]
    what = "this string does not end on its line" if shown == '"' else f"{shown!r} means nothing here"
    errors.append(Diagnostic("relay-parse", what, span=text.span(position, position + 1)))
    stop = content.find("\n", position) if shown == '"' else position + 1
    return len(content) if stop < 0 else stop


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
