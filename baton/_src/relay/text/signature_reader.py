"""Signatures of functions in Relay text: parameters, attributes, `where`."""

from __future__ import annotations

from typing import Any

from baton._src.relay.nodes import Var
from baton._src.relay.text.attribute_reader import AttributeReader
from baton._src.relay.text.cursor import Cursor
from baton._src.relay.text.lexer import Kind
from baton._src.relay.text.names import Names
from baton._src.relay.text.type_reader import TypeReader


class SignatureReader:
    """Reads what stands between a function's name and its body."""

    def __init__(self, cursor: Cursor, types: TypeReader, attributes: AttributeReader, names: Names) -> None:
        self._cursor = cursor
        self._types = types
        self._attributes = attributes
        self._names = names

    def params(self) -> tuple[list[Var], dict[str, Any]]:
        """`(%x: T, ..., Name=value, ...)`: the parameters, and the function's attributes."""
        cursor = self._cursor
        cursor.expect("(", "before the parameters of a function")
        params: list[Var] = []
        attrs: dict[str, Any] = {}
        while not cursor.at(")"):
            named = self._attributes.named(attrs)
            if named is not None:
                attrs[named[0]] = named[1]
            elif attrs:
                raise cursor.unexpected("an attribute (parameters come before attributes)")
            else:
                params.append(self._param([p.name_hint for p in params]))
            if not cursor.accept(","):
                break
        cursor.expect(")", "after the parameters of a function")
        return params, attrs

    def _param(self, before: list[str]) -> Var:
        cursor = self._cursor
        token = cursor.expect_kind(Kind.LOCAL, "that is a parameter")
        name = token.text[1:]
        if name in before:
            cursor.error(f"two parameters are called {token.text}", cursor.span_of(token))
        self._planned_device()
        annotation = self._types.type() if cursor.accept(":") else None
        return Var(name, annotation, span=cursor.span_of(token))

    def _planned_device(self) -> None:
        """`{virtual_device=value}`, as TVM prints behind a parameter that its PlanDevices placed: all code runs on the
        host, so it is read over.
        """
        cursor = self._cursor
        if cursor.accept("{"):
            if cursor.token.text != "virtual_device" or self._attributes.named(()) is None:
                raise cursor.unexpected("virtual_device=, which is all that braces behind a parameter may hold")
            cursor.expect("}", "after the device of a parameter")

    def where(self) -> tuple[str, ...]:
        """`where Relation, ...`: the names of the relations."""
        cursor = self._cursor
        if not cursor.accept("where"):
            return ()
        names: list[str] = []
        while True:
            token = cursor.expect_kind(Kind.NAME, "of a relation")
            self._names.relation(token)
            names.append(token.text)
            if not cursor.accept(","):
                return tuple(names)
