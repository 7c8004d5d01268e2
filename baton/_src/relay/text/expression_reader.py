"""Expressions of Relay text, in both notations (facts relay-language §5; seed 004).

    binary   := call (OP call)*      * /  over  + -  over  < <= > >=  over  == !=  over  &&  over  ||
    call     := atom ( <T, ...>? ( e, ..., name=value ) | .N )*         an argument may begin with let

Methods that may nest are tasks (`support.trampoline`), so the depth of a program is bounded by memory, not by Python.
Names that do not exist are recorded and read on; text that fits no rule ends the definition (`SyntaxFault`).
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.types import Constructor, Type
from baton._src.relay.check.elaboration import Elaboration
from baton._src.relay.nodes import (
    Call,
    Function,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from baton._src.relay.text.attribute_reader import AttributeReader
from baton._src.relay.text.branch_reader import BranchReader
from baton._src.relay.text.constant_reader import ConstantReader
from baton._src.relay.text.cursor import Cursor
from baton._src.relay.text.lexer import Kind, Token
from baton._src.relay.text.metadata_reader import MetadataSection
from baton._src.relay.text.names import Names
from baton._src.relay.text.operators import PRECEDENCE
from baton._src.relay.text.pattern_reader import PatternReader
from baton._src.relay.text.scope import Scope
from baton._src.relay.text.sequence_reader import SequenceReader
from baton._src.relay.text.signature_reader import SignatureReader
from baton._src.relay.text.type_reader import TypeReader
from baton._src.support.spans import Span
from baton._src.support.suggestions import did_you_mean_words
from baton._src.support.trampoline import Task

_NAME, _LOCAL, _GRAPH, _SIGN = Kind.NAME, Kind.LOCAL, Kind.GRAPH, Kind.SIGN
WORDS = frozenset(("True", "False", "fn", "if", "match", "match?", "ref", "ref_read", "ref_write", "Constant", "meta"))
"""Names that begin something of their own; all others are operators and constructors."""


class ExpressionReader:
    """Reads expressions; `scope` holds the locals of the definition being read."""

    def __init__(
        self, cursor: Cursor, types: TypeReader, names: Names, metadata: MetadataSection, elaboration: Elaboration
    ) -> None:
        self.cursor = cursor
        self.types = types
        self.names = names
        self.scope = Scope()
        self.attributes = AttributeReader(cursor, metadata)
        self.patterns = PatternReader(cursor, types, names)
        self._constants = ConstantReader(cursor, types, self.attributes, elaboration)
        self._signatures = SignatureReader(cursor, types, self.attributes, names)
        self._branches = BranchReader(self, elaboration)
        self._sequences = SequenceReader(self)

    def sequence(self) -> Task[Any]:
        """Bindings and the expression they end in."""
        return self._sequences.sequence()

    def block(self, where: str) -> Task[Any]:
        """`{ sequence }`"""
        return self._sequences.block(where)

    # ---- operators

    def expression(self) -> Task[Any]:
        """Calls joined by binary operators."""
        starts = [self.cursor.token.start]
        left = yield self._call()
        if self._operator() is None:
            return left
        operands: list[Any] = [left]
        operators: list[tuple[int, str, Token]] = []
        while True:
            found = self._operator()
            level = found[0] if found is not None else 0
            while operators and operators[-1][0] >= level:
                _, name, token = operators.pop()
                right = operands.pop()
                starts.pop()
                op = self.names.operator(name, token)
                attrs = self.names.default_attrs(op)
                operands[-1] = Call(op, (operands[-1], right), attrs, span=self.cursor.span(starts[-1]))
            if found is None:
                return operands[0]
            operators.append((*found, self.cursor.next()))
            starts.append(self.cursor.token.start)
            operands.append((yield self._call()))

    def _operator(self) -> tuple[int, str] | None:
        cursor = self.cursor
        token = cursor.token
        if token.kind is not _SIGN or (cursor.line_ends and token.first):
            return None
        return PRECEDENCE.get(token.text)

    # ---- calls and projections

    def _call(self) -> Task[Any]:
        cursor = self.cursor
        start = cursor.token.start
        found = self._plain_name()
        if found is None:
            found = yield self.atom()  # a task only where one is needed
        while True:
            token = cursor.token
            if token.kind is not _SIGN or (cursor.line_ends and token.first):
                break
            if token.text == "(":
                found = yield self._arguments(found, (), start)
            elif token.text == "." and cursor.peek().kind is Kind.NUMBER:
                found = self._projection(found, start)
            elif token.text == "." and not token.first:
                raise cursor.fault("expected a number: the index of a projection is a constant", cursor.peek())
            elif token.text == "<" and isinstance(found, (Var, GlobalVar, Constructor)):
                type_args = self.types.type_args()
                if type_args is None:
                    break
                found = yield self._arguments(found, type_args, start)
            else:
                break
        return self._finished(found)

    def _finished(self, found: Any) -> Any:
        """A constructor without fields, written bare, is its call."""
        if isinstance(found, Constructor) and not found.inputs:
            return Call(found, (), span=self.cursor.span_of(self.cursor.tokens[self.cursor.index - 1]))
        return found

    def _projection(self, value: GraphExpr, start: int) -> Any:
        cursor = self.cursor
        cursor.next()
        token = cursor.next()
        for index in token.text.split("."):
            if not index.isdigit():
                raise cursor.fault("expected a number: the index of a projection is a constant", token)
            value = TupleGetItem(value, int(index), span=cursor.span(start))
        return value

    def _arguments(self, callee: Any, type_args: tuple[Type, ...], start: int) -> Task[Any]:
        cursor = self.cursor
        outer_ends, cursor.line_ends = cursor.line_ends, False
        cursor.next()
        args: list[Any] = []
        given: dict[str, tuple[Any, Span]] = {}
        while not cursor.at(")"):
            named = self.attributes.named(given)
            if named is not None:
                given[named[0]] = (named[1], named[2])
            elif given:
                raise cursor.unexpected("an attribute (arguments come before attributes)")
            else:
                operand = self._operand()
                args.append(operand if operand is not None else (yield self._argument()))
            if not cursor.accept(","):
                break
        cursor.expect(")", "after the arguments")
        cursor.line_ends = outer_ends
        span = cursor.span(start)
        attrs = self.attributes.build(callee, given, span) if given else self.names.default_attrs(callee)
        return Call(callee, args, attrs, type_args, span=span)

    # ---- atoms

    def _operand(self) -> Any:
        """An argument that is just a variable or a graph name, as nearly all of long programs are; else None."""
        cursor = self.cursor
        token = cursor.token
        if token.kind is not _LOCAL and token.kind is not _GRAPH:
            return None
        if cursor.tokens[cursor.index + 1].text not in (",", ")"):
            return None
        cursor.next()
        return self._local(token) if token.kind is _LOCAL else self._graph(token)

    def _argument(self) -> Task[Any]:
        """An argument, which may bind variables of its own."""
        if not self.cursor.at("let"):
            return (yield self.expression())
        self.scope.enter()
        found = yield self.sequence()
        self.scope.leave()
        return found

    def _plain_name(self) -> Any:
        """What a single token of its own meaning is, without a task for it; else None."""
        cursor = self.cursor
        token = cursor.token
        if token.kind is _NAME:
            if token.text in WORDS or token.text.startswith(("inff", "nanf")):
                return None
            cursor.next()
            return self.names.word(token)
        if token.kind is _LOCAL:
            cursor.next()
            return self._local(token)
        if token.kind is _GRAPH:
            cursor.next()
            return self._graph(token)
        return None

    def atom(self) -> Task[Any]:
        """An expression without operators, calls and projections, or one in brackets."""
        cursor = self.cursor
        found = self._plain_name()
        if found is not None:
            return found
        token = cursor.next()
        match token.kind:
            case Kind.GLOBAL:
                return self.names.global_var(token.text[1:], cursor.span_of(token))
            case Kind.NUMBER:
                return self._constants.literal(token)
            case Kind.NAME:
                return (yield self._word(token))
            case _:
                return (yield self._signed(token))

    def _signed(self, token: Token) -> Task[Any]:
        cursor = self.cursor
        if token.text == "(":
            return (yield self._parenthesis(token))
        if token.text == "-":
            return (yield self._negative(token))
        cursor.back_to(cursor.tokens.index(token, max(0, cursor.index - 1)))
        if token.text == "{":
            return (yield self.block("of a block"))
        raise cursor.unexpected("an expression")

    def _local(self, token: Token) -> Any:
        cursor = self.cursor
        if cursor.at("=") and cursor.token.kind is _SIGN:
            raise cursor.fault(f"{token.text} cannot be assigned: variables never change", token, "write let")
        found = self.scope.find(token.text[1:])
        if found is None:
            known = [f"%{n}" for n in self.scope.names()]
            help = did_you_mean_words(token.text, known, "declare a free variable with free_var")
            cursor.error(f"{token.text} is not bound here", cursor.span_of(token), help)
            found = Var(token.text[1:], span=cursor.span_of(token))
            self.scope.push(found)
        return found

    def _graph(self, token: Token) -> Any:
        cursor = self.cursor
        node, escaped = self.scope.graph(token.text)
        if node is None:
            cursor.error(f"{token.text} is not defined before this", cursor.span_of(token))
            return Tuple((), span=cursor.span_of(token))
        if escaped:
            names = ", ".join(f"%{v.name_hint}" for v in escaped)
            cursor.error(f"{token.text} mentions {names}, which is out of scope here", cursor.span_of(token))
        return node

    def _negative(self, token: Token) -> Task[Any]:
        cursor = self.cursor
        following = cursor.token
        if following.kind is Kind.NUMBER or following.text.startswith(("inff", "nanf")):
            cursor.next()
            return self._constants.literal(following, negative=True)
        operand = yield self._call()
        op = self.names.operator("negative", token)
        return Call(op, (operand,), self.names.default_attrs(op), span=cursor.span(token.start))

    def _parenthesis(self, token: Token) -> Task[Any]:
        cursor = self.cursor
        outer_ends, cursor.line_ends = cursor.line_ends, False
        fields: list[Any] = []
        comma = False
        self.scope.enter()
        while not cursor.at(")"):
            fields.append((yield self.sequence()))
            comma = cursor.accept(",")
            if not comma:
                break
        self.scope.leave()
        cursor.expect(")", "after the expression in parentheses")
        cursor.line_ends = outer_ends
        if len(fields) == 1 and not comma:
            return fields[0]
        return Tuple(fields, span=cursor.span(token.start))

    def _word(self, token: Token) -> Task[Any]:
        match token.text:
            case "True" | "False":
                return self._constants.boolean(token)
            case "fn":
                return (yield self.function(token))
            case "if":
                return (yield self._branches.if_(token))
            case "match" | "match?":
                return (yield self._branches.match(token))
            case "ref" | "ref_read" | "ref_write":
                return (yield self._reference(token))
            case "Constant" if self.cursor.at("("):
                return self._constants.filled(token)
            case "meta":
                return self.attributes.reference(token)
            case text if text.startswith(("inff", "nanf")):
                return self._constants.literal(token)
            case _:  # Constant without its values
                return self.names.word(token)

    def _reference(self, token: Token) -> Task[Any]:
        cursor = self.cursor
        cursor.expect("(", f"after {token.text}")
        outer_ends, cursor.line_ends = cursor.line_ends, False
        args = [(yield self.expression())]
        if token.text == "ref_write":
            cursor.expect(",", "between the reference and the new value")
            args.append((yield self.expression()))
        cursor.expect(")", f"after the arguments of {token.text}")
        cursor.line_ends = outer_ends
        made = {"ref": RefCreate, "ref_read": RefRead, "ref_write": RefWrite}[token.text]
        return made(*args, span=cursor.span(token.start))

    # ---- functions

    def function(self, token: Token) -> Task[Function]:
        """`fn` (already read), or `def @f` (its name read too)."""
        cursor = self.cursor
        outer_types = dict(self.types.variables)
        type_params = self.types.type_params()
        params, attrs = self._signatures.params()
        result = self.types.type() if cursor.accept("->") else None
        where = self._signatures.where()
        self.scope.enter()
        for param in params:
            self.scope.push(param)
        body = yield self.block("of a function")
        for param in reversed(params):
            self.scope.pop(param)
        self.scope.leave()
        self.types.variables = outer_types
        return Function(params, body, result, type_params, attrs, cursor.span(token.start), where=where)
