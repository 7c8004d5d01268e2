"""Attributes (`axis=1, layout="NCHW"`), literals, and the metadata section.

value := number | True | False | "text" | None | nullptr | [v, ...] | (v, ...) | {v: v, ...} | meta[Key][i] | ?
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import Any

import numpy as np

from baton._src.ir.attrs import NO_ATTRS, DictAttrs
from baton._src.ir.expr import Op
from baton._src.relay.nodes import Constant
from baton._src.relay.text.cursor import Cursor
from baton._src.relay.text.lexer import Kind, Token
from baton._src.relay.text.metadata_reader import MetadataSection
from baton._src.support.diagnostics import DiagnosticError
from baton._src.support.spans import Span
from baton._src.support.suggestions import did_you_mean_words
from baton._src.tir.expr import AnyDim
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray

_NUMBER = re.compile(r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)(?:(f|i|u|bf)(\d*))?$")
_NAMED_FLOATS = re.compile(r"(inf|nan)f(\d*)$")
MAX_DEPTH = 100
MAX_LITERAL = 256 * 1024 * 1024
"""Elements a `Constant(v, shape, dtype)` may have."""

_MISFITS = (TypeError, ValueError, LookupError, AttributeError, OverflowError)


class Literal:
    """A number of the text: its value, its dtype, and whether the context may choose another dtype."""

    __slots__ = ("dtype", "is_open", "value")

    def __init__(self, value: int | float, dtype: str, is_open: bool = False) -> None:
        self.value = value
        self.dtype = DataType(dtype)
        self.is_open = is_open

    def array(self) -> Any:
        return np.asarray(self.value).astype(self.dtype.numpy)


class AttributeReader:
    """Reads attribute values, literals and metadata references."""

    def __init__(self, cursor: Cursor, metadata: MetadataSection) -> None:
        self._cursor = cursor
        self._metadata = metadata
        self._depth = 0

    # ---- numbers

    def number(self, token: Token, negative: bool = False) -> Literal:
        """The literal a NUMBER token (or a named float) stands for."""
        cursor = self._cursor
        named = _NAMED_FLOATS.match(token.text)
        if named:
            size = float(named[1])
            return self._checked(Literal, -size if negative else size, f"float{named[2] or 32}", token)
        found = _NUMBER.match(token.text)
        if found is None:
            help = "dtypes are chosen by f, f64, i64, u8 and the like"
            cursor.error(f"{token.text} is not a number", cursor.span_of(token), help)
            return Literal(0, "int32", True)
        digits, letter, bits = found.groups()
        sign = "-" if negative else ""
        if letter in ("f", "bf") or (letter is None and not digits.isdigit()):
            name = f"{'bfloat' if letter == 'bf' else 'float'}{bits or (16 if letter == 'bf' else 32)}"
            return self._checked(Literal, float(sign + digits), name, token)
        if not digits.isdigit():
            cursor.error(f"{token.text}: an integer has no fraction", cursor.span_of(token))
            return Literal(0, "int32")
        if len(digits) > 20:
            cursor.error(f"{digits[:12]}... does not fit any integer type", cursor.span_of(token))
            return Literal(0, "int32")
        return self._integer(int(sign + digits), letter, bits, token)

    def _integer(self, value: int, letter: str | None, bits: str | None, token: Token) -> Literal:
        if letter is None:
            small = -(2**31) <= value < 2**31
            return self._checked(Literal, value, "int32" if small else "int64", token, small)
        return self._checked(Literal, value, f"{'u' if letter == 'u' else ''}int{bits or 32}", token)

    def _checked(
        self, make: Callable[..., Literal], value: int | float, dtype: str, token: Token, is_open: bool = False
    ) -> Literal:
        """The literal, or a complaint where the dtype does not exist or does not hold the value."""
        cursor = self._cursor
        try:
            made = make(value, dtype, is_open)
            if made.dtype.is_int and not made.dtype.int_range[0] <= value <= made.dtype.int_range[1]:
                cursor.error(f"{value} does not fit {dtype}", cursor.span_of(token))
                return Literal(0, "int32")
            made.dtype.numpy  # noqa: B018  (a dtype NumPy does not know is refused here)
        except (DiagnosticError, TypeError):
            cursor.error(f"{token.text}: there is no dtype {dtype}", cursor.span_of(token))
            return Literal(0, "int32")
        return made

    # ---- attribute values

    def value(self) -> Any:
        """An attribute value as Python data: lists and tuples as tuples, pairs in braces as a dict."""
        cursor = self._cursor
        token = cursor.token
        if token.kind is Kind.STRING:
            return cursor.next().text
        if cursor.at("["):
            return self._sequence("]")
        if cursor.at("("):
            return self._sequence(")")
        if cursor.at("{"):
            return self._mapping()
        if cursor.accept("?"):
            return AnyDim()
        negative = cursor.accept("-")
        token = cursor.next()
        if token.kind is Kind.NUMBER or (token.kind is Kind.NAME and _NAMED_FLOATS.match(token.text)):
            return self.number(token, negative).value
        words = {"True": True, "False": False, "None": None, "nullptr": None}
        if token.kind is Kind.NAME and not negative:
            if token.text in words:
                return words[token.text]
            if token.text == "meta":
                return self.reference(token)
        help = f'texts are in quotes: "{token.text}"' if token.kind is Kind.NAME and not negative else None
        raise cursor.fault("expected an attribute's value", token, help)

    def _sequence(self, closing: str) -> tuple[Any, ...]:
        return tuple(self._listed(closing, self.value))

    def _mapping(self) -> dict[Any, Any]:
        opening = self._cursor.token
        pairs = self._listed("}", self._pair)
        try:
            return dict(pairs)
        except TypeError:
            raise self._cursor.fault("a key is a text, a number or a tuple of these", opening) from None

    def _pair(self) -> tuple[Any, Any]:
        key = self.value()
        self._cursor.expect(":", "after the key")
        return key, self.value()

    def _listed(self, closing: str, read: Callable[[], Any]) -> list[Any]:
        """What stands between brackets, separated by commas."""
        cursor = self._cursor
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise cursor.fault(f"values nested more than {MAX_DEPTH} deep", cursor.token)
        cursor.next()
        found: list[Any] = []
        while not cursor.at(closing):
            found.append(read())
            if not cursor.accept(","):
                break
        cursor.expect(closing, "after the values")
        self._depth -= 1
        return found

    def named(self, before: Container[str]) -> tuple[str, Any, Span] | None:
        """`name = value`, if that is what comes; a name that was given `before` is a fault."""
        cursor = self._cursor
        token = cursor.token
        if token.kind is not Kind.NAME or cursor.peek().text != "=" or cursor.peek().kind is not Kind.SIGN:
            return None
        cursor.next()
        cursor.next()
        value = self.value()
        if token.text in before:
            cursor.error(f"{token.text} is given twice", cursor.span(token.start), "leave one out")
        return token.text, value, cursor.span(token.start)

    def build(self, op: Any, given: dict[str, tuple[Any, Span]], span: Span) -> Any:
        """The attributes of a call of `op`."""
        values = {name: value for name, (value, _) in given.items()}
        if not isinstance(op, Op) or op.definition is None:
            key = values.pop("attrs_type_key", None)
            return DictAttrs(values, **({"attrs_type_key": key} if key else {})) if values or key else None
        record = op.definition.attrs
        for name, (_, place) in given.items():
            if not record.accepts(name):
                listed = f"{op.name} has {', '.join(record.names) or 'no attributes'}"
                help = did_you_mean_words(name, record.names, listed)
                self._cursor.error(f"{op.name} has no attribute {name}", place, help)
                return NO_ATTRS
            wanted = record.kinds.get(name, "Any")
            if not _fits(values[name], wanted):
                self._cursor.error(f"{op.name}: {name} must be {wanted}, got {values[name]!r}", place)
                return NO_ATTRS
        try:
            return record(**record.said_in_relay(values))
        except DiagnosticError as error:
            self._cursor.errors.extend(d.at(span) for d in error.diagnostics)
        except _MISFITS as wrong:
            bad = [n for n in values if _fit(record, {m: v for m, v in values.items() if m != n})]
            what = f"{bad[0]}={values[bad[0]]!r} does" if bad else "these attributes do"
            self._cursor.error(f"{op.name}: {what} not fit: {wrong}", given[bad[0]][1] if bad else span)
        return NO_ATTRS

    # ---- metadata

    def reference(self, token: Token) -> Any:
        """`meta[Key][i]`, `meta` being read: the object of the metadata section."""
        cursor = self._cursor
        cursor.expect("[", "after meta")
        key = cursor.expect_kind(Kind.NAME, "of metadata").text
        cursor.expect("]", "after the name of metadata")
        cursor.expect("[", "before an index of metadata")
        number = cursor.expect_kind(Kind.NUMBER, "that is an index of metadata")
        cursor.expect("]", "after an index of metadata")
        section = self._metadata.objects().get(key)
        if section is None:
            cursor.error(f"the metadata section has no {key}", cursor.span(token.start))
        elif not number.text.isdigit() or int(number.text) >= len(section):
            message = f"meta[{key}][{number.text}]: the section has {len(section)} of them"
            cursor.error(message, cursor.span(token.start))
        else:
            return section[int(number.text)]
        return Constant(NDArray(np.zeros((), np.float32)))


_CLASSES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool, int),
    "str": (str,),
    "None": (type(None),),
}


def _fit(record: Any, values: dict[str, Any]) -> bool:
    """Whether the record takes these values."""
    try:
        record(**record.said_in_relay(values))
    except (*_MISFITS, DiagnosticError):
        return False
    return True


def _fits(value: Any, annotation: str) -> bool:
    """Whether an attribute's value is of the class its declaration says; anything is, where that says nothing."""
    words = [part.strip() for part in annotation.split("|")]
    if any(word not in _CLASSES for word in words):
        return True
    return any(isinstance(value, _CLASSES[word]) for word in words)
