"""Bindings of Relax, the blocks that hold them, and `SeqExpr`, the sequence of blocks with a result."""

from __future__ import annotations

from typing import Any

from baton._src.ir.array import Array
from baton._src.ir.node import Node, binder, init_field, node, note, part
from baton._src.relax.any_struct_info import StructInfo
from baton._src.relax.nodes.expressions import Expr, Var, check_part, init_fields
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span


@node
class Binding(Node):
    """Base of bindings: `var` (None in a MatchCast that only checks) is bound to `value`."""

    var: Any = binder()
    value: Any = part(kw_only=True)
    span: Span | None = note(kw_only=True, default=None)


@node
class VarBinding(Binding):
    """var = value"""

    value: Any = part(kw_only=True)

    def __init__(self, var: Var, value: Any, span: Span | None = None) -> None:
        if not isinstance(var, Var):
            raise fail("relax-api", f"a binding binds a Var or DataflowVar, not a {type(var).__name__}", span=span)
        init_field(self, "var", var)
        init_field(self, "value", check_part("VarBinding", "value", value, span))
        init_field(self, "span", span)


@node
class MatchCast(Binding):
    """var = match_cast(value, struct_info): checked at run time; binds shape variables that are not in scope yet."""

    value: Any = part(kw_only=True)
    struct_info: StructInfo = part(kw_only=True)

    def __init__(self, var: Var | None, value: Any, struct_info: StructInfo, span: Span | None = None) -> None:
        if struct_info is None:
            raise fail("relax-api", "a MatchCast needs the struct_info to cast to", span=span)
        if var is not None and not isinstance(var, Var):
            raise fail("relax-api", f"a MatchCast binds a Var or DataflowVar, not a {type(var).__name__}", span=span)
        init_field(self, "var", var)
        init_field(self, "value", value)
        init_field(self, "struct_info", struct_info)
        init_field(self, "span", span)

    @property
    def place(self) -> str:
        """How error messages refer to the cast: source position, if known, and variable."""
        cast = "match_cast" if self.var is None else f"match_cast to {self.var.name_hint}"
        return f"{self.span}: {cast}" if self.span else cast


def _checked_bindings(bindings: Any, span: Span | None) -> tuple[Binding, ...]:
    found = Array(bindings)
    for item in found:
        if not isinstance(item, Binding):
            raise fail("relax-api", f"a block consists of bindings, got a {type(item).__name__}", span=span)
    return found


@node
class BindingBlock(Node):
    """Bindings, executed in order; they may have side effects."""

    bindings: tuple[Binding, ...]
    span: Span | None = note(kw_only=True, default=None)

    def __init__(self, bindings: Any, span: Span | None = None) -> None:
        init_field(self, "bindings", _checked_bindings(bindings, span))
        init_field(self, "span", span)


@node
class DataflowBlock(BindingBlock):
    """Bindings without side effects or control flow; its DataflowVars are not visible outside of it."""

    def __init__(self, bindings: Any, span: Span | None = None) -> None:
        init_field(self, "bindings", _checked_bindings(bindings, span))
        init_field(self, "span", span)


@node
class SeqExpr(Expr):
    """Executes `blocks`, then evaluates `body`, which is its value."""

    blocks: tuple[BindingBlock, ...]
    body: Any

    def __init__(self, blocks: Any, body: Any, span: Span | None = None) -> None:
        found = Array(blocks)
        for block in found:
            if not isinstance(block, BindingBlock):
                raise fail(
                    "relax-api",
                    f"a SeqExpr consists of binding blocks, got a {type(block).__name__}",
                    span=span,
                    help="put bindings into a BindingBlock or DataflowBlock",
                )
        init_fields(self, span, blocks=found, body=check_part("SeqExpr", "body", body, span))
