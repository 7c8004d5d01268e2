"""Bindings of Relay text and the expression they end in, alone or between braces.

sequence := ( let %x (: T)? = e ; | %N = e (; | line end) | free_var %x (: T)? ;? | e ; )* e
block    := { sequence }
"""

from __future__ import annotations

from typing import Any, Protocol

from baton._src.relay.nodes import Let, Var
from baton._src.relay.text.cursor import Cursor
from baton._src.relay.text.lexer import Kind
from baton._src.relay.text.scope import Scope
from baton._src.relay.text.type_reader import TypeReader
from baton._src.support.trampoline import Task

_UNIT_LET = "_"
MAX_NESTING = 20_000


class Expressions(Protocol):
    """What the owner (`expression_reader.ExpressionReader`) reads for sequences, and what it reads with."""

    cursor: Cursor
    types: TypeReader
    scope: Scope

    def expression(self) -> Task[Any]: ...


class SequenceReader:
    """Reads sequences; the expressions in them are the owner's to read."""

    def __init__(self, owner: Expressions) -> None:
        self._owner = owner
        self._nesting = 0

    def sequence(self) -> Task[Any]:
        """Bindings and the expression they end in."""
        cursor, scope = self._owner.cursor, self._owner.scope
        bindings: list[tuple[Var, Any, int]] = []
        pushed: list[Var] = []
        outer_ends, cursor.line_ends = cursor.line_ends, False
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            raise cursor.fault(f"nested more than {MAX_NESTING} deep", cursor.token)
        while True:
            token = cursor.token
            if cursor.at("let"):
                var, value = yield self._let()
                bindings.append((var, value, token.start))
                pushed.append(var)
                scope.push(var)
            elif token.kind is Kind.GRAPH and cursor.peek().text == "=":
                yield self._graph_binding()
            elif cursor.at("free_var"):
                self._free_var()
                if not self._more():
                    raise cursor.unexpected("an expression after the declaration")
            else:
                value = yield self._owner.expression()
                if not cursor.at(";"):
                    break
                semicolon = cursor.next()
                if not self._more():
                    raise cursor.fault("expected an expression after ;", semicolon, "the last expression is the value")
                bindings.append((Var(_UNIT_LET), value, token.start))
        for var in reversed(pushed):
            scope.pop(var)
        for var, bound, start in reversed(bindings):
            value = Let(var, bound, value, span=cursor.span(start))
        cursor.line_ends = outer_ends
        self._nesting -= 1
        return value

    def _more(self) -> bool:
        """Whether an expression can begin here."""
        token = self._owner.cursor.token
        return token.kind not in (Kind.END, Kind.METADATA) and token.text not in ("}", ")")

    def _let(self) -> Task[tuple[Var, Any]]:
        cursor = self._owner.cursor
        cursor.next()
        if cursor.at(_UNIT_LET):
            token = cursor.next()
            name = _UNIT_LET
        else:
            token = cursor.expect_kind(Kind.LOCAL, "after let")
            name = token.text[1:]
        annotation = self._owner.types.type() if cursor.accept(":") else None
        var = Var(name, annotation, span=cursor.span_of(token))
        cursor.expect("=", f"after let {token.text}")
        recursive = cursor.at("fn")
        if recursive:
            self._owner.scope.push(var)
        value = yield self._owner.expression()
        if recursive:
            self._owner.scope.pop(var)
        cursor.expect(";", f"after the value of {token.text}")
        if not self._more():
            raise cursor.unexpected(f"the body of let {token.text}")
        return var, value

    def _graph_binding(self) -> Task[None]:
        cursor = self._owner.cursor
        token = cursor.next()
        if self._owner.scope.has_graph_here(token.text):
            cursor.error(f"{token.text} is defined twice", cursor.span_of(token), "give one another number")
        cursor.next()
        cursor.line_ends = True
        value = yield self._owner.expression()
        cursor.line_ends = False
        if not cursor.accept(";") and not cursor.token.first:
            raise cursor.unexpected(f"; or a new line after the value of {token.text}")
        self._owner.scope.define_graph(token.text, value)

    def _free_var(self) -> None:
        cursor = self._owner.cursor
        cursor.next()
        token = cursor.expect_kind(Kind.LOCAL, "after free_var")
        annotation = self._owner.types.type() if cursor.accept(":") else None
        cursor.accept(";")
        self._owner.scope.push(Var(token.text[1:], annotation, span=cursor.span_of(token)))

    def block(self, where: str) -> Task[Any]:
        """`{ sequence }`"""
        cursor = self._owner.cursor
        opening = cursor.expect("{", where)
        outer_ends, cursor.line_ends = cursor.line_ends, False
        self._owner.scope.enter()
        if cursor.at("}"):
            raise cursor.fault("expected an expression: a body is never empty", opening, "write () for no value")
        found = yield self.sequence()
        self._owner.scope.leave()
        cursor.expect("}", f"to close the body {where}")
        cursor.line_ends = outer_ends
        return found
