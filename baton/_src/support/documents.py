"""Pretty-printing documents: what printers build, and their layout as text.

    call = concat("add(", join(concat(",", line), args), ")")
    group(call)            # on one line if it fits, else every `line` of it becomes a line break
    nest(4, concat(hardline, "x = 1", hardline, "return x"))
    origin(node, doc)      # remembers which IR node a piece of text stands for

`doc.render(width=120)` lays out in time linear in the size of the document and without recursion, whatever the
nesting. `doc.render(underline=[inner, outer])` puts carets under the first of these nodes that has a place in the
text. `layout` gives the places of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


class Doc:
    """A document: a tree of the classes below. Immutable; pieces may be shared."""

    __slots__ = ()

    def render(self, width: int = 120, underline: Sequence[Any] = ()) -> str:
        """The text. `underline` lists nodes, the preferred one first: the first that was printed gets carets."""
        text, places = layout(self, width)
        for node in underline:
            if id(node) in places:
                return with_carets(text, *places[id(node)])
        return text

    def __add__(self, other: Doc | str) -> Doc:
        return concat(self, other)


@dataclass(frozen=True, slots=True)
class Text(Doc):
    """A piece without line breaks."""

    text: str


@dataclass(frozen=True, slots=True)
class Line(Doc):
    """A place where a group may break: `flat` when it does not, a line break (always, if `hard`) when it does."""

    flat: str = " "
    hard: bool = False


@dataclass(frozen=True, slots=True)
class Concat(Doc):
    """One after the other."""

    parts: tuple[Doc, ...]


@dataclass(frozen=True, slots=True)
class Nest(Doc):
    """Line breaks inside are followed by `indent` more spaces."""

    indent: int
    body: Doc


@dataclass(frozen=True, slots=True)
class Group(Doc):
    """Laid out flat if that fits the rest of the line."""

    body: Doc


@dataclass(frozen=True, slots=True)
class Origin(Doc):
    """The text of `node`."""

    node: Any
    body: Doc


line = Line()
"""A space, or a line break."""
softline = Line("")
"""Nothing, or a line break."""
hardline = Line("", hard=True)
"""Always a line break; the groups around it break too."""
empty = Concat(())


def text(content: str) -> Doc:
    """`content` as it stands; its newlines become hard line breaks."""
    if "\n" not in content:
        return Text(content)
    return join(hardline, [Text(piece) for piece in content.split("\n")])


def concat(*parts: Doc | str) -> Doc:
    """One after the other; strings are allowed."""
    return Concat(tuple(text(p) if isinstance(p, str) else p for p in parts))


def join(separator: Doc | str, parts: Iterable[Doc | str]) -> Doc:
    """`parts` with `separator` between them."""
    pieces: list[Doc | str] = []
    for part in parts:
        if pieces:
            pieces.append(separator)
        pieces.append(part)
    return concat(*pieces)


def nest(indent: int, body: Doc | str) -> Doc:
    """`body` with its line breaks indented by `indent` more spaces."""
    return Nest(indent, concat(body) if isinstance(body, str) else body)


def group(*parts: Doc | str) -> Doc:
    """`parts` on one line if they fit."""
    return Group(concat(*parts))


def origin(node: Any, *parts: Doc | str) -> Doc:
    """`parts`, being the text of `node`."""
    return Origin(node, concat(*parts))


def bracket(opening: str, parts: Iterable[Doc | str], closing: str, indent: int = 4) -> Doc:
    """`(a, b, c)` on one line, or one part a line, indented, if that does not fit."""
    found = list(parts)
    if not found:
        return text(opening + closing)
    inner = join(concat(",", line), found)
    return group(opening, nest(indent, concat(softline, inner)), softline, closing)


def lines(parts: Iterable[Doc | str]) -> Doc:
    """One part a line."""
    return join(hardline, parts)


Places = dict[int, tuple[int, int]]
"""By `id` of a node: where its (first) text starts and ends."""


class _End:
    """On the stack of `layout`: the text of a node ends here."""

    __slots__ = ("node", "start")

    def __init__(self, node: Any, start: int) -> None:
        self.node, self.start = node, start


def layout(doc: Doc, width: int = 120) -> tuple[str, Places]:
    """The text of `doc`, and the places of its origins."""
    out: list[str] = []
    places: Places = {}
    length = column = 0
    stack: list[tuple[int, bool, Doc | _End]] = [(0, False, doc)]
    while stack:
        indent, flat, item = stack.pop()
        if isinstance(item, Text):
            out.append(item.text)
            length += len(item.text)
            column += len(item.text)
        elif isinstance(item, Concat):
            stack.extend((indent, flat, part) for part in reversed(item.parts))
        elif isinstance(item, Line):
            piece = item.flat if flat and not item.hard else "\n" + " " * indent
            column = column + len(piece) if flat and not item.hard else indent
            out.append(piece)
            length += len(piece)
        elif isinstance(item, Nest):
            stack.append((indent + item.indent, flat, item.body))
        elif isinstance(item, Group):
            stack.append((indent, flat or _fits(item.body, width - column), item.body))
        elif isinstance(item, Origin):
            stack.append((indent, flat, _End(item.node, length)))
            stack.append((indent, flat, item.body))
        elif isinstance(item, _End):
            places.setdefault(id(item.node), (item.start, length))
    return _strip_line_ends("".join(out), places), places


def _strip_line_ends(content: str, places: Places) -> str:
    """Indentation on empty lines goes; only where no place would shift."""
    if places:
        return content
    return "\n".join(piece.rstrip() for piece in content.split("\n"))


def _fits(doc: Doc, room: int) -> bool:
    """Whether the flat layout takes at most `room` columns; looks no further than that."""
    stack: list[Doc] = [doc]
    while stack:
        item = stack.pop()
        if isinstance(item, Text):
            room -= len(item.text)
        elif isinstance(item, Line):
            if item.hard:
                return False
            room -= len(item.flat)
        elif isinstance(item, Concat):
            stack.extend(reversed(item.parts))
        elif isinstance(item, (Nest, Group, Origin)):
            stack.append(item.body)
        if room < 0:
            return False
    return True


def with_carets(content: str, start: int, stop: int) -> str:
    """`content` with a line of carets below each line of `content[start:stop]`."""
    shown: list[str] = []
    at = 0
    for piece in content.split("\n"):
        end = at + len(piece)
        shown.append(piece.rstrip())
        first, last = max(start, at), min(stop, end)
        marked = content[first:last]
        if first < last and marked.strip():
            left = first - at + len(marked) - len(marked.lstrip())
            shown.append(" " * left + "^" * len(marked.strip()))
        at = end + 1
    return "\n".join(shown)
