"""TVM's visitors of TIR as functions, and its checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.ir import traverse
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc


def post_order_visit(stmt: Any, fvisit: Callable[[Any], None]) -> None:
    """Call `fvisit` on every node, children first."""
    for node in traverse.post_order(stmt):
        fvisit(node)


def pre_order_visit(stmt: Any, fvisit: Callable[[Any], bool]) -> None:
    """Call `fvisit` on every node, parents first; if it returns False, the node's children are skipped."""
    pending = [stmt]
    while pending:
        node = pending.pop()
        if fvisit(node) is not False:
            pending.extend(reversed(traverse.children(node)))


def ir_transform(
    stmt: Any, preorder: Callable[[Any], Any] | None, postorder: Callable[[Any], Any] | None, only_enable: Any = None
) -> Any:
    """Rewrite bottom-up with `postorder` (None keeps a node); a node for which `preorder` gives one becomes that.

    `only_enable` names the node classes (`"tir.For"`) the callbacks are asked about.
    """
    enabled = None if only_enable is None else {str(name).rpartition(".")[2] for name in only_enable}
    replaced: dict[Any, Any] = {}
    if preorder is not None:

        def look(node: Any) -> bool:
            found = preorder(node) if enabled is None or type(node).__name__ in enabled else None
            if found is not None:
                replaced[node] = found
            return found is None

        pre_order_visit(stmt, look)
    if replaced:
        stmt = traverse.substitute(stmt, replaced)

    def rule(node: Any) -> Any:
        if postorder is None or (enabled is not None and type(node).__name__ not in enabled):
            return None
        return postorder(node)

    return traverse.rewrite(stmt, rule)


def renew_defs(func: PrimFunc) -> PrimFunc:
    """The same function over parameters, loops, axes and buffers of its own: it shares no variable with `func`."""
    renewed = {node: node.copy() for node in traverse.post_order(func) if isinstance(node, Var)}
    found: PrimFunc = traverse.substitute(func, renewed)
    return found


def substitute(node: Any, vmap: Mapping[Any, Any]) -> Any:
    """Variables replaced by expressions."""
    return traverse.substitute(node, dict(vmap))
