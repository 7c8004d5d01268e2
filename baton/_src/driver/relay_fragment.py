"""Which Relay programs a graph executor can run: first-order, without control flow, of known shapes (RELAY-EXEC-2)."""

from __future__ import annotations

from typing import Any

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.nodes import Function, If, Match, RefCreate, RefRead, RefWrite
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import AnyDim

_WORDS: dict[type, str] = {
    If: "an if",
    Match: "a match",
    RefCreate: "a reference",
    RefRead: "a reference",
    RefWrite: "a reference",
}


def check_graph_fragment(module: IRModule, entry: str = "main") -> None:
    """Raise `DiagnosticError` (`graph-fragment`) if `entry` is outside the fragment."""
    typed = infer_type(module)
    main = typed[entry]
    if not isinstance(main, Function):
        raise fail("graph-fragment", f"{entry} is not a Relay function")
    for node in post_order(main.body):
        word = _WORDS.get(type(node)) or ("a function inside" if _is_closure(node) else None)
        if word is not None:
            raise _outside(f"it contains {word}", getattr(node, "span", None))
    if main.checked_type_ is not None:
        for node in post_order(main.checked_type_):
            if isinstance(node, AnyDim):
                raise _outside("it has shapes unknown until run time (?)", main.span)


def _is_closure(node: Any) -> bool:
    return isinstance(node, Function) and not (node.attrs and node.attrs.get("Primitive"))


def _outside(why: str, span: Any) -> Exception:
    return fail(
        "graph-fragment",
        f"the graph executor runs straight programs only, and this is none: {why}",
        span=span,
        help='use relay.vm.compile, or create_executor("vm")',
    )
