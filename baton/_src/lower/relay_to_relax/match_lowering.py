"""Lower matches to chains of tests: clauses in order, the fields that a clause binds extracted at the start of its
branch.

    match (%l) { Cons(%h, _) => %h, Nil => 0 }
        if adt_fits(l, "1(_,_)"): { h = adt_field(l, 0); h }  else: { 0 }

The last clause of a match that covers every case needs no test. If no clause matches, `match_failed` ends the program.
"""

from __future__ import annotations

from typing import Protocol

from baton._src.ir.expr import GraphExpr
from baton._src.ir.types import TupleType, Type, TypeCall
from baton._src.lower.relay_to_relax.binding_emitter import BindingEmitter, Bindings
from baton._src.relax import nodes as rx
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.relay.check.substitute import substitute_types
from baton._src.relay.nodes import Match, Pattern, PatternConstructor, PatternTuple, PatternVar
from baton._src.support.trampoline import Task
from baton._src.values.dtype import BOOL

_BOOL = TensorStructInfo((), BOOL)


class ScopeWalk(Protocol):
    """The interface that lowers the right-hand sides of clauses."""

    def into(self, root: GraphExpr, bindings: Bindings) -> Task[GraphExpr]:
        """Lower `root` at the end of `bindings`; returns the leaf that holds its value."""

    def body(self, root: GraphExpr, bindings: Bindings) -> Task[rx.SeqExpr]:
        """The scope whose value is `root`; `bindings` holds the bindings that precede it."""


class MatchLowering:
    """Lowers the matches in one function."""

    def __init__(self, emitter: BindingEmitter, scopes: ScopeWalk) -> None:
        self._emitter = emitter
        self._scopes = scopes

    def lower(self, node: Match, bindings: Bindings) -> Task[GraphExpr]:
        """The leaf that holds the value of the match."""
        value = self._emitter.values[node.data]
        found: GraphExpr = yield self._clauses(node, value, 0, bindings)
        return found

    def _clauses(self, node: Match, value: GraphExpr, first: int, bindings: Bindings) -> Task[GraphExpr]:
        """The clauses from `first` on as nested ifs."""
        if first == len(node.clauses):
            return self._failed(node, value, bindings)
        clause = node.clauses[first]
        certain = node.complete and first + 1 == len(node.clauses)
        if certain or not any(isinstance(p, PatternConstructor) for p in _parts(clause.lhs)):
            self._bind(clause.lhs, value, node.data.checked_type, bindings)
            found: GraphExpr = yield self._scopes.into(clause.rhs, bindings)
            return found
        shape = rx.StringImm(shape_of(clause.lhs))
        fits = self._emitter.builtin(bindings, "adt_fits", [value, shape], _BOOL, node)
        fields: Bindings = []
        self._bind(clause.lhs, value, node.data.checked_type, fields)
        chosen = yield self._scopes.body(clause.rhs, fields)
        rest: Bindings = []
        found = yield self._clauses(node, value, first + 1, rest)
        other = rx.SeqExpr([rx.BindingBlock(rest)] if rest else [], found)
        return self._emitter.emit(bindings, rx.If(fits, chosen, other), node, "gv")

    def _bind(self, pattern: Pattern, value: GraphExpr, type_: Type | None, bindings: Bindings) -> None:
        """Bind the pattern's variables to the fields they name."""
        emitter = self._emitter
        work = [(pattern, value, type_)]
        while work:
            found, here, its_type = work.pop()
            match found:
                case PatternVar():
                    emitter.values[found.var] = here
                case PatternConstructor():
                    types = self._field_types(found, its_type)
                    for position, inner in enumerate(found.patterns):
                        if _binds(inner):
                            info = emitter.types.known(types[position])
                            args = [here, rx.PrimValue(position)]
                            field = emitter.builtin(bindings, "adt_field", args, info, found)
                            work.append((inner, field, types[position]))
                case PatternTuple():
                    fields = its_type.fields if isinstance(its_type, TupleType) else (None,) * len(found.patterns)
                    for position, inner in enumerate(found.patterns):
                        if _binds(inner):
                            field = emitter.emit(bindings, rx.TupleGetItem(here, position), found)
                            work.append((inner, field, fields[position]))
                case _:
                    continue

    def _field_types(self, pattern: PatternConstructor, type_: Type | None) -> list[Type]:
        constructor = pattern.constructor
        variables = self._emitter.type_vars(constructor)
        if not isinstance(type_, TypeCall):
            return list(constructor.inputs)
        mapping = dict(zip(variables, type_.args))
        return [substitute_types(t, mapping) for t in constructor.inputs]

    def _failed(self, node: Match, value: GraphExpr, bindings: Bindings) -> GraphExpr:
        info = self._emitter.types.known(node.checked_type)
        span = f" at {node.span}" if node.span is not None else ""
        return self._emitter.builtin(bindings, "match_failed", [rx.StringImm(span.strip()), value], info, node)


def shape_of(pattern: Pattern) -> str:
    """A pattern in the builtin's notation: `_` anything, `2(_,1())` tag 2 with such fields, `t(_,_)` a tuple."""
    match pattern:
        case PatternConstructor():
            return f"{pattern.constructor.tag}({','.join(shape_of(p) for p in pattern.patterns)})"
        case PatternTuple():
            return f"t({','.join(shape_of(p) for p in pattern.patterns)})"
        case _:
            return "_"


def _binds(pattern: Pattern) -> bool:
    return any(isinstance(p, PatternVar) for p in _parts(pattern))


def _parts(pattern: Pattern) -> list[Pattern]:
    """The pattern and all patterns inside it."""
    found = [pattern]
    for part in found:
        found += getattr(part, "patterns", ())
    return found
