"""Types as both notations write them.

(T, U)   fn (T) -> U   fn<a, b>(a) -> b   fun<a : Shape>(...)   Tensor[(d, ...), dtype]   Tensor[s, bt]
float32 (a scalar)   Name   Name[T, ...]   ref(T)   _
"""

from __future__ import annotations

import operator
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RelayRefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeKind,
    TypeVar,
)
from baton._src.relay.text.cursor import Cursor, SyntaxFault
from baton._src.relay.text.lexer import Kind, Token
from baton._src.support.diagnostics import DiagnosticError
from baton._src.support.suggestions import did_you_mean_words
from baton._src.tir.expr import Add, AnyDim, IntImm, Mul, Sub, Var, literal
from baton._src.values.dtype import INT64, DataType

MAX_DEPTH = 100
KINDS = {k.name: k for k in TypeKind if k in (TypeKind.Type, TypeKind.Shape, TypeKind.ShapeVar, TypeKind.BaseType)}


INT_BITS = (1, 2, 4, 8, 16, 32, 64)


_CALCULATIONS = {"+": Add, "-": Sub, "*": Mul}
_OF_NUMBERS = {"+": operator.add, "-": operator.sub, "*": operator.mul}


class TypeReader:
    """Reads types; knows the type variables in scope and the ADTs of the module."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self.adts: dict[str, GlobalTypeVar] = {}
        self.variables: dict[str, TypeVar] = {}
        self.dims: dict[str, Var] = {}
        """Dim variables of the current definition."""
        self._depth = 0

    def type(self) -> Type:
        """One type; SyntaxFault if there is none."""
        cursor = self._cursor
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise cursor.fault(f"types nested more than {MAX_DEPTH} deep", cursor.token)
        start = cursor.token.start
        try:
            found = self._type()
        finally:
            self._depth -= 1
        return found if found.span is not None else found.with_fields(span=cursor.span(start))

    def _type(self) -> Type:
        cursor = self._cursor
        if cursor.accept("("):
            return self._tuple()
        if cursor.at("fn") or cursor.at("fun"):
            cursor.next()
            return self._function()
        if cursor.at("_"):
            cursor.next()
            return IncompleteType()
        if cursor.accept("ref"):
            cursor.expect("(", "after ref")
            inner = self.type()
            cursor.expect(")", "after the type of a reference")
            return RelayRefType(inner)
        if cursor.token.kind is not Kind.NAME:
            raise cursor.unexpected("a type")
        if cursor.at("Tensor"):
            cursor.next()
            return self._tensor()
        return self._named()

    def _tuple(self) -> Type:
        fields: list[Type] = []
        cursor, comma = self._cursor, False
        while not cursor.at(")"):
            fields.append(self.type())
            comma = cursor.accept(",")
            if not comma:
                break
        cursor.expect(")", "after the fields of a tuple type")
        return fields[0] if len(fields) == 1 and not comma else TupleType(fields)

    def _function(self) -> Type:
        cursor = self._cursor
        outer = dict(self.variables)
        params = self.type_params()
        cursor.expect("(", "before the parameter types of a function type")
        args: list[Type] = []
        while not cursor.at(")"):
            args.append(self.type())
            if not cursor.accept(","):
                break
        cursor.expect(")", "after the parameter types of a function type")
        cursor.expect("->", "before the result of a function type")
        result = self.type()
        self.variables = outer
        return FuncType(tuple(args), result, params)

    def _tensor(self) -> Type:
        cursor = self._cursor
        cursor.expect("[", "after Tensor")
        shape = self.shape()
        cursor.expect(",", "between the shape and the dtype of a tensor type")
        dtype = self.dtype()
        cursor.expect("]", "after the dtype of a tensor type")
        return TensorType(shape, dtype)

    def shape(self) -> Any:
        """`(d, ...)`, or a type variable of kind Shape."""
        cursor = self._cursor
        if cursor.token.kind is Kind.NAME:
            return self._variable(cursor.next())
        cursor.expect("(", "before the dims of a shape")
        dims: list[Any] = []
        while not cursor.at(")"):
            dims.append(self._dim())
            if not cursor.accept(","):
                break
        cursor.expect(")", "after the dims of a shape")
        return tuple(dims)

    def _dim(self) -> Any:
        """A dim: a sum of products (`n * 2 + 1`), as types have it that were inferred."""
        found = self._product()
        while self._cursor.at("+") or self._cursor.at("-"):
            found = self._calculated(self._cursor.next(), found, self._product())
        return found

    def _product(self) -> Any:
        found = self._single_dim()
        while self._cursor.at("*"):
            found = self._calculated(self._cursor.next(), found, self._single_dim())
        return found

    def _calculated(self, sign: Token, left: Any, right: Any) -> Any:
        """Both sides are dims that are calculated with; a number has the dtype of the other side."""
        if isinstance(left, IntImm) and isinstance(right, IntImm):
            return self._number(_OF_NUMBERS[sign.text](left.value, right.value), sign)
        sides = [left, right]
        if not all(isinstance(side, PrimExpr) and not isinstance(side, AnyDim) for side in sides):
            raise self._cursor.fault("only numbers and variables are calculated with", sign, "write ? for the whole")
        for at, other in ((0, right), (1, left)):
            if isinstance(sides[at], IntImm) and not isinstance(other, IntImm):
                sides[at] = literal(sides[at].value, other.dtype)
        if sides[0].dtype != sides[1].dtype:
            message = f"{sides[0].dtype} and {sides[1].dtype} are not calculated with together"
            raise self._cursor.fault(message, sign, "give the variables one dtype")
        return _CALCULATIONS[sign.text](*sides)

    def _single_dim(self) -> Any:
        cursor = self._cursor
        if cursor.accept("?"):
            return AnyDim()
        token = cursor.next()
        if token.kind is Kind.NUMBER and token.text.isdigit():
            return self._number(int(token.text), token)
        if token.kind is Kind.NAME:
            if token.text in self.variables:
                return self.variables[token.text]
            dtype = self.dtype() if cursor.accept(":") else "int32"
            return self.dims.setdefault(token.text, Var(token.text, dtype))
        raise cursor.fault("expected a dim: a number, ? or a name", token)

    def _number(self, value: int, token: Token) -> Any:
        if not 0 <= value < 2**63:
            what = "negative" if value < 0 else "too large"
            raise self._cursor.fault(f"the dim {value} is {what}", token, "dims are int64, and not negative")
        return literal(value) if value < 2**31 else literal(value, INT64)

    def dtype(self) -> Any:
        """A dtype, or a type variable of kind BaseType."""
        cursor = self._cursor
        token = cursor.expect_kind(Kind.NAME, "that is a dtype")
        if token.text in self.variables:
            return self.variables[token.text]
        found = dtype_named(token.text)
        if found is None:
            raise cursor.fault(f"{token.text} is not a dtype", token, 'for example "float32" or "int64"')
        return found

    def _variable(self, token: Any) -> TypeVar:
        found = self.variables.get(token.text)
        if found is None:
            help = "write a shape as (d, ...), or declare a parameter: fn<s : Shape>"
            raise self._cursor.fault(f"there is no type variable {token.text}", token, help)
        return found

    def _named(self) -> Type:
        cursor = self._cursor
        token = cursor.next()
        name = token.text
        args: tuple[Type, ...] | None = None
        if cursor.at("[") and cursor.peek().text == "(" and not self._is_known(name):  # a shape, which no type takes
            raise cursor.fault(f"there is no type {name}", token, did_you_mean_words(name, ["Tensor"], "write Tensor"))
        if cursor.accept("["):
            args = self._arguments("]")
        if name in self.variables:
            variable = self.variables[name]
            return variable if args is None else TypeCall(variable, args)
        if name in self.adts:
            return TypeCall(self.adts[name], args or ())
        dtype = dtype_named(name)
        if dtype is not None and args is None:
            return TensorType((), dtype)
        if dtype is not None:
            cursor.error(f"{name} takes no type arguments", cursor.span_of(token), "a shape is written Tensor[(d,), t]")
            return IncompleteType()
        known = [*self.variables, *self.adts, "float32", "int32", "Tensor"]
        help = did_you_mean_words(name, known, "declare it: fn<t : Type>, or define an algebraic data type")
        cursor.error(f"there is no type {name}", cursor.span_of(token), help)
        return IncompleteType()

    def _is_known(self, name: str) -> bool:
        return name in self.variables or name in self.adts or dtype_named(name) is not None

    def _arguments(self, closing: str) -> tuple[Type, ...]:
        cursor, found = self._cursor, []
        while not cursor.at(closing):
            found.append(self.type())
            if not cursor.accept(","):
                break
        cursor.expect(closing, "after the type arguments")
        return tuple(found)

    def type_params(self) -> tuple[TypeVar, ...]:
        """`[A, B]` or `<t : Type, ...>`, possibly absent; the parameters come into scope."""
        cursor = self._cursor
        closing = {"[": "]", "<": ">"}.get(cursor.token.text) if cursor.token.kind is Kind.SIGN else None
        if closing is None:
            return ()
        cursor.next()
        params: list[TypeVar] = []
        while not cursor.at(closing):
            token = cursor.expect_kind(Kind.NAME, "of a type parameter")
            kind = self._kind() if cursor.accept(":") else TypeKind.Type
            if any(known.name_hint == token.text for known in params):
                cursor.error(f"the type parameter {token.text} is declared twice", cursor.span_of(token))
            params.append(TypeVar(token.text, kind, span=cursor.span_of(token)))
            self.variables[token.text] = params[-1]
            if not cursor.accept(","):
                break
        cursor.expect(closing, "after the type parameters")
        return tuple(params)

    def _kind(self) -> TypeKind:
        cursor = self._cursor
        token = cursor.expect_kind(Kind.NAME, "of a kind")
        found = KINDS.get(token.text)
        if found is None:
            cursor.error(f"{token.text} is not a kind", cursor.span_of(token), f"kinds are {', '.join(KINDS)}")
        return found or TypeKind.Type

    def type_args(self) -> tuple[Type, ...] | None:
        """`<T, ...>` before an argument list; None (and nothing read) if what follows is a comparison."""
        cursor = self._cursor
        index, errors = cursor.index, len(cursor.errors)
        cursor.next()
        if cursor.token.kind in (Kind.NUMBER, Kind.LOCAL, Kind.GRAPH, Kind.GLOBAL, Kind.STRING):
            cursor.back_to(index)
            return None
        try:
            found = self._arguments(">")
            if cursor.at("(") and len(cursor.errors) == errors:
                return found
        except SyntaxFault:
            if self._certain(index):
                raise
        del cursor.errors[errors:]
        cursor.back_to(index)
        return None

    def _certain(self, index: int) -> bool:
        """Whether `<` must begin type arguments: a tensor type or a dtype follows it."""
        return self._cursor.tokens[index + 1].text == "Tensor"


def dtype_named(name: str) -> DataType | None:
    """The dtype a text names; None if there is none, or none that values could have (int33)."""
    try:
        found = DataType(name)
    except DiagnosticError:
        return None
    return found if not found.is_int or found.bits in INT_BITS else None
