"""Choices in Relay text: if with its else-ifs, and match in both notations."""

from __future__ import annotations

from typing import Any, Protocol

from baton._src.relay.check.elaboration import Elaboration
from baton._src.relay.nodes import Call, Clause, If, Match
from baton._src.relay.text.cursor import Cursor
from baton._src.relay.text.lexer import Token
from baton._src.relay.text.pattern_reader import PatternReader
from baton._src.relay.text.scope import Scope
from baton._src.support.trampoline import Task


class Expressions(Protocol):
    """What the owner (`expression_reader.ExpressionReader`) reads for branches, and what it reads with."""

    cursor: Cursor
    patterns: PatternReader
    scope: Scope

    def sequence(self) -> Task[Any]: ...
    def block(self, where: str) -> Task[Any]: ...
    def atom(self) -> Task[Any]: ...
    def expression(self) -> Task[Any]: ...


class BranchReader:
    """Reads what follows `if` and `match`; conditions and bodies are the owner's to read."""

    def __init__(self, owner: Expressions, elaboration: Elaboration) -> None:
        self._owner = owner
        self._elaboration = elaboration

    def if_(self, token: Token) -> Task[Any]:
        """An if with its else-ifs, which are nested Ifs."""
        owner = self._owner
        cursor = owner.cursor
        branches: list[tuple[Any, Any, int]] = []
        start = token.start
        while True:
            cursor.expect("(", "after if")
            condition = yield owner.sequence()
            cursor.expect(")", "after the condition of an if")
            branches.append((condition, (yield owner.block("of an if")), start))
            cursor.expect("else", "after the body of an if")
            if not cursor.at("if"):
                break
            start = cursor.next().start
        found = yield owner.block("of an else")
        for condition, chosen, begin in reversed(branches):
            found = If(condition, chosen, found, span=cursor.span(begin))
            if isinstance(condition, Call) and getattr(condition.op, "name", "") in ("equal", "not_equal"):
                self._elaboration.conditions[found] = "all" if condition.op.name == "equal" else "any"
        return found

    def match(self, token: Token) -> Task[Any]:
        """A match; `match?` need not cover every case."""
        owner = self._owner
        cursor = owner.cursor
        data = yield owner.atom()
        cursor.expect("{", "after the matched value")
        clauses: list[Clause] = []
        while not cursor.at("}"):
            old_form = cursor.accept("case")
            pattern, variables = owner.patterns.read()
            owner.scope.enter()
            for var in variables:
                owner.scope.push(var)
            if old_form:
                body = yield owner.block("of a case")
            else:
                cursor.expect("=>", "after the pattern of a clause")
                body = yield (owner.block("of a clause") if cursor.at("{") else owner.sequence())
            for var in reversed(variables):
                owner.scope.pop(var)
            owner.scope.leave()
            clauses.append(Clause(pattern, body))
            cursor.accept(",")
        cursor.expect("}", "after the clauses of a match")
        return Match(data, tuple(clauses), token.text == "match", span=cursor.span(token.start))
