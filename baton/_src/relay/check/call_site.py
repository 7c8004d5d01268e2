"""Describe a call in messages: `the call nn.dense(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 7), float32])`.

The text is computed only for an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.types import Constructor, Type
from baton._src.relay.check.show import show_type
from baton._src.relay.check.unify import Unifier
from baton._src.relay.nodes import Call, Constant, Function, If, Let, Match, Tuple, TupleGetItem, Var
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import Diagnostic

_SHOWN = 6
"""Arguments spelt out; a concatenation may have hundreds."""


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call of an operator, the types of its arguments being `types` (as far as `unifier` knows them by then)."""

    node: Call
    types: Sequence[Any]
    unifier: Unifier

    def __str__(self) -> str:
        shown = [f"{_short(a)}: {self._type(t)}" for a, t in zip(self.node.args[:_SHOWN], self.types)]
        if len(self.node.args) > _SHOWN:
            shown.append(f"and {len(self.node.args) - _SHOWN} more")
        return f"the call {_short_callee(self.node.op)}({', '.join(shown)})"

    def _type(self, type_: Type) -> str:
        text = show_type(self.unifier.resolve(type_))
        return text if len(text) <= 200 else f"{text[:200]}..."

    def in_relay(self, found: Diagnostic) -> Diagnostic:
        """The same diagnostic with the operator's Relay name (concatenate, not concat)."""
        op = self.node.op
        neutral = getattr(getattr(op, "definition", None), "name", None)
        if not isinstance(op, Op) or neutral is None or not found.message.startswith(f"{neutral}: "):
            return found
        return replace(found, message=op.name + found.message[len(neutral) :])


def within(found: Diagnostic, where: Any) -> Diagnostic:
    """A diagnostic with a note on its location: a `CallSite`, or a text."""
    return (where.in_relay(found) if isinstance(where, CallSite) else found).within(f"in {where}")


def _short(expr: GraphExpr) -> str:
    """A short description of an argument for messages."""
    match expr:
        case Var():
            return f"%{expr.name_hint}"
        case Call():
            return f"{_short_callee(expr.op)}(...)"
        case TupleGetItem():
            inner = expr.tuple_value
            return (
                f"{_short_callee(inner.op)}(...).{expr.index}" if isinstance(inner, Call) else f"a field .{expr.index}"
            )
        case Constant():
            return "a constant"
        case GlobalVar() | Op() | Constructor():
            return _short_callee(expr)
        case _:
            return _NAMES.get(type(expr), type(expr).__name__)


def _short_callee(op: Any) -> str:
    match op:
        case Op():
            return op.name
        case GlobalVar():
            return f"@{op.name_hint}"
        case Constructor():
            return op.name_hint
        case Var():
            return f"%{op.name_hint}"
        case _:
            return _NAMES.get(type(op), "a function")


_NAMES: dict[Any, str] = {
    Tuple: "a tuple",
    Function: "a function",
    If: "an if",
    Let: "a let",
    Match: "a match",
}
