"""What the bare words and global names of a text refer to: operators, constructors, functions, relations."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Protocol

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.types import Constructor
from baton._src.relay.nodes import Tuple
from baton._src.relay.text.cursor import Cursor
from baton._src.relay.text.lexer import Token
from baton._src.support.diagnostics import DiagnosticError
from baton._src.support.spans import Span
from baton._src.support.suggestions import did_you_mean_words


class OperatorNames(Protocol):
    """What the reader asks of a catalogue (`ops.catalogue.Catalogue`)."""

    def relay(self, name: str) -> Op:
        """The operator Relay calls `name`; DiagnosticError if there is none."""
        ...

    def relay_names(self) -> Iterable[str]: ...


class Names:
    """Names of one module."""

    def __init__(self, cursor: Cursor, catalogue: OperatorNames, relations: Collection[str]) -> None:
        self._cursor = cursor
        self._catalogue = catalogue
        self._relations = relations
        self._operators: dict[str, Op | None] = {}
        self._default_attrs: dict[Any, Any] = {}
        self.constructors: dict[str, Constructor] = {}
        self.globals: dict[str, GlobalVar] = {}

    def operator(self, name: str, token: Token) -> Any:
        """The operator `name`; a complaint and a stand-in if there is none."""
        if name not in self._operators:
            try:
                self._operators[name] = self._catalogue.relay(name)
            except DiagnosticError:
                self._operators[name] = None
        found = self._operators[name]
        return found if found is not None else self._unknown(name, token)

    def word(self, token: Token) -> Any:
        """A constructor or an operator."""
        constructor = self.constructors.get(token.text)
        return constructor if constructor is not None else self.operator(token.text, token)

    def _unknown(self, name: str, token: Token) -> Any:
        cursor = self._cursor
        known = [*self.constructors, *self._catalogue.relay_names()]
        otherwise = "a local variable is written %name, a function @name; operators have to be registered"
        message = f"there is no operator or constructor {name}"
        cursor.error(message, cursor.span_of(token), did_you_mean_words(name, known, otherwise))
        return Tuple((), span=cursor.span_of(token))

    def default_attrs(self, callee: Any) -> Any:
        """The attributes of a call that gives none; None for an operator without attributes and for other callees."""
        if not isinstance(callee, Op) or callee.definition is None:
            return None
        if callee not in self._default_attrs:
            record = callee.definition.attrs
            try:
                self._default_attrs[callee] = record() if record.names else None
            except TypeError:
                self._default_attrs[callee] = None
        return self._default_attrs[callee]

    def global_var(self, name: str, span: Span | None = None) -> GlobalVar:
        """The function's name: one object a module, whether it is defined yet or not."""
        found = self.globals.get(name)
        if found is None:
            found = self.globals[name] = GlobalVar(name, span=span)
        return found

    def relation(self, token: Token) -> None:
        """Complain unless the relation exists."""
        if token.text not in self._relations:
            cursor = self._cursor
            help = did_you_mean_words(token.text, self._relations, f"known are {', '.join(self._relations)}")
            cursor.error(f"there is no relation {token.text}", cursor.span_of(token), help)
