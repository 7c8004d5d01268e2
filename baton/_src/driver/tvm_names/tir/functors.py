"""TVM's visitors of TIR as functions, and its checks.

What is visited are statements and scalar expressions that are computed: not the variables of loops, lets and
allocations where they are defined, and nothing of buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.ir import traverse
from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Role
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import AttrStmt, Block, Stmt


def _parts(node: Any) -> list[Any]:
    """The nodes directly below one on the way to what is visited."""
    unseen = {AttrStmt: ("node",), Block: ("alloc_buffers",)}.get(type(node), ())
    fields = [getattr(node, s.name) for s in node.specs if s.role in (Role.VALUE, Role.MATCH) and s.name not in unseen]
    return [part for part in traverse.post_order(fields, below=lambda part: ()) if not isinstance(part, Buffer)]


def _is_visited(node: Any) -> bool:
    return isinstance(node, (Stmt, PrimExpr))


def post_order_visit(stmt: Any, fvisit: Callable[[Any], None]) -> None:
    """Call `fvisit` on every statement and expression once, parts first."""
    for node in traverse.post_order(stmt, below=_parts):
        if _is_visited(node):
            fvisit(node)


def pre_order_visit(stmt: Any, fvisit: Callable[[Any], bool]) -> None:
    """Call `fvisit` on every statement and expression once, wholes first; if it returns False, parts are skipped."""
    pending, seen = [stmt], set()
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if not _is_visited(node) or fvisit(node) is not False:
            pending.extend(reversed(_parts(node)))


def ir_transform(
    stmt: Any, preorder: Callable[[Any], Any] | None, postorder: Callable[[Any], Any] | None, only_enable: Any = None
) -> Any:
    """Rewrite a statement: a node for which `preorder` gives one becomes that, and is not looked into; any other is
    given to `postorder` with its parts rewritten (None keeps it), after `preorder` and `postorder` of all its parts.

    `only_enable` names the node classes (`"tir.For"`) the callbacks are asked about.
    """
    enabled = None if only_enable is None else {str(name).rpartition(".")[2] for name in only_enable}

    def asked(callback: Callable[[Any], Any] | None, node: Any) -> Any:
        is_asked = _is_visited(node) and (enabled is None or type(node).__name__ in enabled)
        return callback(node) if callback is not None and is_asked else None

    changed: dict[Any, Any] = {}
    pending, seen = [(stmt, False)], set()
    while pending:
        node, is_left = pending.pop()
        if is_left:
            rebuilt = traverse.rebuild(node, changed)
            found = asked(postorder, rebuilt)
            changed[node] = rebuilt if found is None else found
        elif node not in seen:
            seen.add(node)
            found = asked(preorder, node)
            if found is not None:
                changed[node] = found
                continue
            pending.append((node, True))
            pending.extend((part, False) for part in reversed(_parts(node)))
    return changed[stmt]


def renew_defs(func: PrimFunc) -> PrimFunc:
    """The same function over parameters, loops, axes and buffers of its own: it shares no variable with `func`."""
    renewed = {node: node.copy() for node in traverse.post_order(func) if isinstance(node, Var)}
    found: PrimFunc = traverse.substitute(func, renewed)
    return found


def substitute(node: Any, vmap: Mapping[Any, Any]) -> Any:
    """Variables replaced by expressions."""
    return traverse.substitute(node, dict(vmap))
