"""Patterns of match clauses:  _   %x   %x : T   C(p, ...)   C   (p, ...)"""

from __future__ import annotations

from baton._src.relay.nodes import Pattern, PatternConstructor, PatternTuple, PatternVar, PatternWildcard, Var
from baton._src.relay.text.cursor import Cursor
from baton._src.relay.text.lexer import Kind
from baton._src.relay.text.names import Names
from baton._src.relay.text.type_reader import TypeReader
from baton._src.support.suggestions import did_you_mean_words

MAX_DEPTH = 200


class PatternReader:
    """Reads one pattern and the variables it binds."""

    def __init__(self, cursor: Cursor, types: TypeReader, names: Names) -> None:
        self._cursor = cursor
        self._types = types
        self._names = names
        self._variables: list[Var] = []
        self._depth = 0

    def read(self) -> tuple[Pattern, list[Var]]:
        self._variables = []
        found = self._pattern()
        return found, self._variables

    def _pattern(self) -> Pattern:
        cursor = self._cursor
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise cursor.fault(f"patterns nested more than {MAX_DEPTH} deep", cursor.token)
        start = cursor.token.start
        try:
            found = self._one()
        finally:
            self._depth -= 1
        return found.with_fields(span=cursor.span(start))

    def _one(self) -> Pattern:
        cursor = self._cursor
        if cursor.at("_"):
            cursor.next()
            return PatternWildcard()
        if cursor.token.kind is Kind.LOCAL:
            return self._variable()
        if cursor.accept("("):
            return PatternTuple(self._rest())
        if cursor.token.kind is Kind.NAME:
            return self._constructor()
        raise cursor.unexpected("a pattern")

    def _variable(self) -> Pattern:
        cursor = self._cursor
        token = cursor.next()
        name = token.text[1:]
        if any(v.name_hint == name for v in self._variables):
            cursor.error(f"{token.text} is bound twice in one pattern", cursor.span_of(token))
        annotation = self._types.type() if cursor.accept(":") else None
        self._variables.append(Var(name, annotation, span=cursor.span_of(token)))
        return PatternVar(self._variables[-1])

    def _rest(self) -> tuple[Pattern, ...]:
        cursor, found = self._cursor, []
        while not cursor.at(")"):
            found.append(self._pattern())
            if not cursor.accept(","):
                break
        cursor.expect(")", "after the fields of a pattern")
        return tuple(found)

    def _constructor(self) -> Pattern:
        cursor = self._cursor
        token = cursor.next()
        fields = self._rest() if cursor.accept("(") else ()
        found = self._names.constructors.get(token.text)
        if found is None:
            help = did_you_mean_words(token.text, self._names.constructors, f"to bind a variable, write %{token.text}")
            cursor.error(f"there is no constructor {token.text}", cursor.span_of(token), help)
            return PatternWildcard()
        return PatternConstructor(found, fields)
