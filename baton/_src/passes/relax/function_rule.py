"""A rewrite rule written as two Relax functions: what to look for, and what to put in its place.

Parameters of the pattern are wildcards; calls, tuples and literals of its body match themselves. Operands of the
replacement are what the parameters matched. (Used by `PatternMatchingRewriter.from_module`.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.analysis.bindings import body_bindings
from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.traverse import post_order, substitute, with_fresh_binders
from baton._src.passes.relax.rewrite_patterns import result_of, uninformed
from baton._src.relax.check.base_check import BaseCheckResult, struct_info_base_check
from baton._src.relax.check.erase import substitute_info
from baton._src.relax.check.shape_map import map_parameters
from baton._src.relax.nodes import (
    Call,
    Constant,
    DataTypeImm,
    ExternFunc,
    Function,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.patterns.context import PatternContext
from baton._src.relax.patterns.nodes import (
    AttrPattern,
    CallPattern,
    DFPattern,
    ExprPattern,
    TupleGetItemPattern,
    TuplePattern,
    WildcardPattern,
)
from baton._src.relax.struct_info import StructInfo
from baton._src.support.diagnostics import fail
from baton._src.tir.arith.analyzer import Analyzer


class FunctionRule:
    """A pair of functions as a pattern and its replacement."""

    def __init__(self, pattern: Function, replacement: Function) -> None:
        self.function, self.replacement = pattern, replacement
        self.params = [WildcardPattern() for _ in pattern.params]
        self.patterns: dict[Any, DFPattern] = dict(zip(pattern.params, self.params))
        self.known: list[tuple[StructInfo, DFPattern]] = []
        """What has to be known of a part that matched: what a cast says, the shape or scalar that one is."""
        for binding in body_bindings(pattern):
            found = self._of(binding.value)
            if isinstance(binding, MatchCast):
                self.known.append((binding.struct_info, found))
            self.patterns[binding.var] = found
        body = pattern.body
        self.result = self._of(body.body if isinstance(body, SeqExpr) else body)

    def _of(self, expr: GraphExpr) -> DFPattern:
        match expr:
            case Var():
                return self.patterns[expr]
            case Call():
                args = tuple(self._of(a) for a in expr.args)
                call = CallPattern(self._of(expr.op), args)
                wanted = {} if expr.attrs is None else dict(expr.attrs.items())
                return AttrPattern(call, wanted) if wanted else call
            case Tuple():
                return TuplePattern(tuple(self._of(f) for f in expr.fields))
            case TupleGetItem():
                return TupleGetItemPattern(self._of(expr.tuple_value), expr.index)
            case Op() | Constant() | ExternFunc() | GlobalVar() | StringImm() | DataTypeImm():
                return ExprPattern(expr)
            case ShapeExpr() | PrimValue():
                if not _mentions_variables(expr):
                    return ExprPattern(expr)
                computed = WildcardPattern()
                self.known.append((expr.struct_info, computed))
                return computed
            case _:
                raise fail("api", f"a pattern cannot hold a {type(expr).__name__}", span=expr.span)

    def context(self) -> PatternContext:
        """The fields of the result, to be placed in one block."""
        assert isinstance(self.result, TuplePattern)
        found = PatternContext()
        for one in self.result.fields:
            found.add(one)
        return found

    def replace(self, expr: Any, found: Mapping[DFPattern, Any]) -> Any:
        """The body of the replacement for what matched."""
        args = [found[p] for p in self.params if p in found]
        symbols = self._symbols(found)
        if symbols is None or len(args) != len(self.params):
            return None
        fresh = with_fresh_binders(self.replacement)
        body = substitute(fresh.body, {**dict(zip(fresh.params, args)), **self._renamed(fresh, symbols)})
        return body

    def replace_all(self, matched: Mapping[DFPattern, Var], values: Mapping[Var, Any]) -> dict[Var, Any]:
        """The new value of each of the variables: a field of the replacement."""
        assert isinstance(self.result, TuplePattern)
        roots = [matched[p] for p in self.result.fields]
        found = self.result.extract_matched_expr(Tuple(roots), values)
        body = None if found is None else self.replace(None, found)
        return {} if body is None else dict(zip(roots, fields_of(body, len(roots))))

    def _symbols(self, found: Mapping[DFPattern, Any]) -> dict[Any, Any] | None:
        """The shape variables of the pattern, if every parameter fits its annotation and other parts fit; else None."""
        said = [*((v.struct_info, p) for v, p in zip(self.function.params, self.params)), *self.known]
        pairs = [(info, found[p].struct_info) for info, p in said if p in found]
        symbols = dict(map_parameters(pairs))
        analyzer = Analyzer()
        for wanted, have in pairs:
            if (
                struct_info_base_check(substitute_info(wanted, symbols, analyzer), have, analyzer)
                is not BaseCheckResult.PASS
            ):
                return None
        return symbols

    def _renamed(self, fresh: Function, symbols: Mapping[Any, Any]) -> dict[Any, Any]:
        """The shape variables of the replacement: by its own parameters, matched against the pattern's."""
        pairs = [(q.struct_info, p.struct_info) for q, p in zip(fresh.params, self.function.params)]
        own = map_parameters(pairs)
        return {v: substitute(d, dict(symbols)) for v, d in own.items()}


def _mentions_variables(expr: GraphExpr) -> bool:
    return any(n.is_variable for n in post_order(expr))


def fields_of(body: Any, count: int) -> list[Any]:
    """The fields of a sequence whose result is a tuple, as expressions that share its bindings."""
    bindings = [b for block in body.blocks for b in block.bindings] if isinstance(body, SeqExpr) else []
    if not all(isinstance(b, VarBinding) for b in bindings):
        raise fail("api", "a replacement of several values cannot hold a match_cast")
    values = {b.var: b.value for b in bindings}
    result = result_of(body)
    if not isinstance(result, Tuple) or len(result.fields) != count:
        raise fail("api", f"the replacement returns a tuple of {count} values, as the pattern does")
    inlined: dict[Any, Any] = {}
    for var, value in values.items():
        inlined[var] = uninformed(substitute(value, inlined, notes=False))
    return [substitute(f, inlined, notes=False) for f in result.fields]
