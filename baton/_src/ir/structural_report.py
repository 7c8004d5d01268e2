"""Reports of structural mismatches: the path to the difference, and both sides with the differing term underlined.

Printers need no support for this. A term is located in the text by changing just that term (another variable, another
number) and printing again: the place where the two texts differ is the term's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from baton._src.ir.attrs import Attrs
from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, substitute
from baton._src.values.dtype import DataType

_MARK = "HERE"
_MOST_LINES = 30
"""Of a printed side; longer ones are cut around the difference."""


class Entry(NamedTuple):
    """One pair that has to be equal, and how it was reached. `defining`: unknown variables in it are paired up."""

    left: object
    right: object
    defining: bool
    parent: Entry | None
    step: str


def _chain(entry: Entry) -> list[Entry]:
    """From the root to `entry`."""
    found = []
    at: Entry | None = entry
    while at is not None:
        found.append(at)
        at = at.parent
    return found[::-1]


def access_path(entry: Entry) -> str:
    """E.g. `.functions["main"].body.blocks[0].bindings[1].value.args[0]`; empty at the root."""
    return "".join(e.step for e in _chain(entry))


def report(entry: Entry, reason: str) -> str:
    """The message: where, why, and both sides printed. It begins with TVM's wording, which scripts match."""
    chain = _chain(entry)
    lines = [f"StructuralEqual check failed: the two sides differ at <root>{access_path(entry)}: {reason}"]
    for side, title in ((0, "left:"), (1, "right:")):
        lines += ["", title, _show([(e[side], e.step) for e in chain])]
    return "\n".join(lines)


def _show(chain: list[tuple[object, str]]) -> str:
    """The outermost node that is not a module, with the innermost term of the chain that can be located underlined."""
    while len(chain) > 1 and not (isinstance(chain[0][0], Node) and not isinstance(chain[0][0], IRModule)):
        chain = chain[1:]
    shown = chain[0][0]
    text = repr(shown)
    for depth in range(len(chain) - 1, 0, -1):
        other = _printed_with_change(chain[: depth + 1])
        place = None if other is None else _difference(text, other)
        if place is not None and text.count("\n", *place) <= 2:
            return _cut(with_carets(text, *place))
    return _cut(text)


def _printed_with_change(chain: list[tuple[object, str]]) -> str | None:
    """The text with the last term of the chain changed; None if it cannot be changed or printed then."""
    changed = _other(chain[-1][0], chain[0][0])
    if changed is None:
        return None
    try:
        for (outer, _), (_, step) in zip(reversed(chain[:-1]), reversed(chain[1:])):
            if isinstance(outer, Node) and outer.is_variable:  # its annotation is written wherever it is
                renewed = outer.copy().with_fields(struct_info_=changed)
                return repr(substitute(chain[0][0], {outer: renewed}, notes=False))
            changed = _replaced(outer, step, changed)
        return repr(changed)
    except Exception:  # a printer may refuse what makes no sense; the next larger term is tried
        return None


def _other(value: object, shown: object) -> object:
    """A different node of the same kind that prints differently; None if there is none."""
    if isinstance(value, Node):
        if value.is_variable:
            return _marked(value)
        if isinstance(value, (PrimExpr, GraphExpr)):
            family = PrimExpr if isinstance(value, PrimExpr) else GraphExpr
            found = (n for n in post_order(shown, notes=True) if n.is_variable and isinstance(n, family))
            variable = next(found, None)
            return None if variable is None else _marked(variable)
        return None
    if isinstance(value, DataType):
        return DataType("uint8" if value != "uint8" else "int8")
    match value:
        case bool():
            return not value
        case int():
            return 9_000_000_001
        case float():
            return 90001.5
        case str():
            return _MARK
        case _:
            return None


def _marked(variable: Node) -> Node:
    name = "name_hint" if any(s.name == "name_hint" for s in variable.specs) else "name"
    return variable.copy().with_fields(**{name: _MARK})


def _replaced(outer: Any, step: str, new: object) -> object:
    """`outer` with the part that `step` leads to replaced."""
    if step.startswith("."):
        name = step[1:]
        if isinstance(outer, Attrs):
            return outer.with_attrs(**{name: new})
        return outer.with_fields(**{name: new})
    if isinstance(outer, dict):
        return {key: new if step in (f"[{key!r}]", f'["{key}"]') else content for key, content in outer.items()}
    index = int(step[1:-1])
    return (*outer[:index], new, *outer[index + 1 :])


def _difference(text: str, other: str) -> tuple[int, int] | None:
    """Where `text` differs from `other`, widened to whole words; None if nowhere."""
    if text == other:
        return None
    start = next((i for i, (a, b) in enumerate(zip(text, other)) if a != b), min(len(text), len(other)))
    tail = 0
    while tail < min(len(text), len(other)) - start and text[-1 - tail] == other[-1 - tail]:
        tail += 1
    stop = len(text) - tail
    while start > 0 and _is_word(text[start - 1]):
        start -= 1
    while stop < len(text) and _is_word(text[stop]):
        stop += 1
    return (start, stop) if start < stop else None


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


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


def _cut(text: str) -> str:
    """The lines around the carets, where the text is long."""
    lines = text.split("\n")
    if len(lines) <= _MOST_LINES:
        return text
    marked = [i for i, line in enumerate(lines) if line.strip() and set(line.strip()) == {"^"}]
    middle = marked[0] if marked else 0
    first = max(0, middle - _MOST_LINES // 2)
    kept = lines[first : first + _MOST_LINES]
    before = ["..."] if first > 0 else []
    return "\n".join([*before, *kept, *(["..."] if first + _MOST_LINES < len(lines) else [])])
