"""References that are written but never read are removed: their creation, and every write to them."""

from __future__ import annotations

from typing import Any

from baton._src.ir.node import set_note
from baton._src.ir.types import TupleType
from baton._src.relay.expressions import parts, walk, with_parts
from baton._src.relay.nodes import Function, Let, RefCreate, RefWrite, Tuple


def without_dead_references(function: Any) -> Any:
    """`function` without references, bound by lets, that are only written; the writes become `()`.

    A reference that is only stored in another dead one is removed, too: a dead write does not count as a use of its
    value.
    """
    if not isinstance(function, Function):
        return function
    order = walk(function)
    made = {n.var for n in order if isinstance(n, Let) and isinstance(n.value, RefCreate)}
    users: dict[Any, list[Any]] = {}
    for node in order:
        for position, part in enumerate(parts(node)):
            if part in made:
                is_target = isinstance(node, RefWrite) and position == 0
                users.setdefault(part, []).append((node, is_target))
    alive = {var for var, found in users.items() if any(not is_target for _, is_target in found)}
    dead = made - alive
    if not dead:
        return function
    done: dict[Any, Any] = {}
    for node in order:
        new = with_parts(node, done)
        if isinstance(node, RefWrite) and node.ref in dead:
            new = Tuple(())
            set_note(new, "checked_type_", TupleType(()))
        elif isinstance(node, Let) and node.var in dead:
            new = done.get(node.body, node.body)
        if new is not node:
            done[node] = new
    return done.get(function, function)
