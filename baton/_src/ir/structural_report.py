"""How a structural mismatch is told: the path to it, and both sides printed with the differing term underlined."""

from __future__ import annotations

from typing import Any, NamedTuple

from baton._src.ir.module import IRModule
from baton._src.ir.node import Node


class Entry(NamedTuple):
    """One pair that has to be equal, and how it was reached. `defining`: unknown variables in it are paired up."""

    left: Any
    right: Any
    defining: bool
    parent: Entry | None
    step: str


def access_path(entry: Entry) -> str:
    """E.g. `.functions["main"].body.blocks[0].bindings[1].value.args[0]`; empty at the root."""
    steps: list[str] = []
    at: Entry | None = entry
    while at is not None:
        steps.append(at.step)
        at = at.parent
    return "".join(reversed(steps))


def report(entry: Entry, reason: str, lhs: Any, rhs: Any) -> str:
    """The message: where, why, and what the two sides look like there."""
    path = access_path(entry)
    places = _places(entry)
    lines = [f"the two sides differ at <root>{path}: {reason}"]
    for side, whole in ((0, lhs), (1, rhs)):
        lines += ["", "left:" if side == 0 else "right:", _show(whole, [pair[side] for pair in places])]
    return "\n".join(lines)


def _places(entry: Entry) -> list[tuple[Any, Any]]:
    """The pairs from the differing one outwards, nodes only."""
    found = []
    at: Entry | None = entry
    while at is not None:
        if isinstance(at.left, Node) or isinstance(at.right, Node):
            found.append((at.left, at.right))
        at = at.parent
    return found


def _show(whole: Any, places: list[Any]) -> str:
    """The function around the difference, with the innermost printed node of `places` underlined."""
    nodes = [p for p in places if isinstance(p, Node)]
    shown = whole
    for candidate in nodes:  # print one function rather than a whole module
        if not isinstance(candidate, IRModule):
            shown = candidate
    if not isinstance(shown, Node):
        return repr(shown)
    print_document = type(shown).document
    if print_document is None:
        where = f"\n  here: {nodes[0]!r}" if nodes and nodes[0] is not shown else ""
        return f"{shown!r}{where}"
    text: str = print_document(shown).render(underline=nodes)
    return text
