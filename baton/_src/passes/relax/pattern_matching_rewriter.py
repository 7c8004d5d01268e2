"""`PatternMatchingRewriter`: rewrite rules, written as pairs of Relax functions or as a pattern and a function.

    @R.rewriter
    class AddToMultiply:
        @R.function
        def pattern(x: R.Tensor): return R.add(x, x)
        @R.function
        def replacement(x: R.Tensor): return R.multiply(x, R.const(2.0))

    AddToMultiply(module)          (first | second)(module)

Parameters of `pattern` match anything that fits their annotations; shape variables in them are bound by matching and
may be used in `replacement`. If `pattern` returns a tuple that does not occur in the program, its fields are matched
one by one in a dataflow block, and all are replaced together. Other functions of the class are added to the module
where needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from baton._src.analysis.bindings import body_bindings
from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order, substitute, with_fresh_binders
from baton._src.passes.relax.rewrite_patterns import rewrite_bindings, rewrite_calls, uninformed
from baton._src.relax.check.base_check import BaseCheckResult, struct_info_base_check
from baton._src.relax.check.erase import substitute_info
from baton._src.relax.check.shape_map import map_parameters
from baton._src.relax.nodes import (
    Call,
    Constant,
    DataTypeImm,
    ExternFunc,
    Function,
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
from baton._src.support.diagnostics import fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class PatternMatchingRewriter(Pass):
    """Rules in order; callable on a function or a module. Make one by `from_pattern` or `from_module`."""

    rules: tuple[tuple[DFPattern, Any], ...] = ()
    groups: tuple[tuple[PatternContext, Any], ...] = ()
    """Rules whose pattern has several results: for dataflow blocks."""
    functions: Mapping[GlobalVar, Any] = field(default_factory=dict)
    """What replacements call."""

    @staticmethod
    def from_pattern(
        pattern: DFPattern,
        func: Callable[[Any, Mapping[DFPattern, Any]], Any],
        additional_bindings: Any = None,
        new_subroutines: Mapping[GlobalVar, Any] | None = None,
    ) -> PatternMatchingRewriter:
        """`func(expr, matchings)` gives the replacement, or None to decline."""
        return PatternMatchingRewriter(((pattern, func),), (), dict(new_subroutines or {}))

    @staticmethod
    def from_module(mod: IRModule) -> PatternMatchingRewriter:
        """The rule given by the functions `pattern` and `replacement` of a module."""
        for name in ("pattern", "replacement"):
            if name not in mod or not isinstance(mod[name], Function):
                raise fail("api", f"a rewriter needs a Relax function named {name!r}")
        pattern, replacement = mod["pattern"], mod["replacement"]
        if len(pattern.params) != len(replacement.params):
            counts = f"{len(pattern.params)} and {len(replacement.params)}"
            raise fail("api", f"pattern and replacement take the same parameters, not {counts}")
        others = {v: f for v, f in mod.functions.items() if v.name_hint not in ("pattern", "replacement")}
        rule = _FunctionRule(pattern, replacement)
        if isinstance(rule.result, TuplePattern):
            return PatternMatchingRewriter((), ((rule.context(), rule.replace_all),), others)
        return PatternMatchingRewriter(((rule.result, rule.replace),), (), others)

    def __or__(self, other: PatternMatchingRewriter) -> PatternMatchingRewriter:
        return PatternMatchingRewriter(
            (*self.rules, *other.rules), (*self.groups, *other.groups), {**self.functions, **other.functions}
        )

    def __call__(self, obj: Any) -> Any:
        return self.rewritten(obj, None) if isinstance(obj, Function) else super().__call__(obj)

    def rewritten(self, function: Function, module: IRModule | None) -> Function:
        """One function, rewritten until nothing changes."""
        function = rewrite_calls(list(self.rules), function, module) if self.rules else function
        for context, rewriter in self.groups:
            function = rewrite_bindings(context, rewriter, function)
        return function

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        known = {v.name_hint for v in module.functions}
        whole = module.with_functions(
            {**module.functions, **{v: f for v, f in self.functions.items() if v.name_hint not in known}}
        )
        changed = {}
        for var, function in module.functions.items():
            if isinstance(function, Function):
                found = self.rewritten(function, whole)
                if found is not function:
                    changed[var] = found
        if not changed:
            return module
        used = {n for f in changed.values() for n in post_order(f) if isinstance(n, GlobalVar)}
        added = {v: f for v, f in whole.functions.items() if v in used and v not in module.functions}
        return module.with_functions({**module.functions, **changed, **added})


def expr_pattern_rewriter(
    pattern: DFPattern, func: Callable[[Any, Mapping[DFPattern, Any]], Any]
) -> PatternMatchingRewriter:
    """One rule: `func(expr, matchings)` for what matches `pattern` (`ExprPatternRewriter`)."""
    return PatternMatchingRewriter.from_pattern(pattern, func)


def or_rewriter(lhs: PatternMatchingRewriter, rhs: PatternMatchingRewriter) -> PatternMatchingRewriter:
    """The rules of both, those of the first one first (`OrRewriter`)."""
    return lhs | rhs


def tuple_rewriter(
    patterns: Sequence[DFPattern], func: Callable[[Any, Mapping[DFPattern, Any]], Any]
) -> PatternMatchingRewriter:
    """Several bindings of a dataflow block at once (`TupleRewriter`).

    `func(tuple of what matched, matchings)` gives a tuple with a replacement for each, or None to decline.
    """
    context = PatternContext()
    for one in patterns:
        context.add(one)

    def replace(matched: Mapping[DFPattern, Var], values: Mapping[Var, Any]) -> dict[Var, Any]:
        roots = [matched[p] for p in patterns]
        found: dict[DFPattern, Any] = {}
        for root, one in zip(roots, patterns):
            found.update(one.extract_matched_expr(root, values) or {})
        made = func(Tuple([values[r] for r in roots]), found)
        if made is None:
            return {}
        return dict(zip(roots, _fields(Tuple(made) if isinstance(made, (tuple, list)) else made, len(roots))))

    return PatternMatchingRewriter((), ((context, replace),))


def rewriter(mod: IRModule) -> PatternMatchingRewriter:
    """`@R.rewriter` on the module of a class."""
    return PatternMatchingRewriter.from_module(mod)


class _FunctionRule:
    """A pair of functions as a pattern and its replacement."""

    def __init__(self, pattern: Function, replacement: Function) -> None:
        self.function, self.replacement = pattern, replacement
        self.params = [WildcardPattern() for _ in pattern.params]
        self.patterns: dict[Any, DFPattern] = dict(zip(pattern.params, self.params))
        for binding in body_bindings(pattern):
            if not isinstance(binding, VarBinding):
                raise fail("api", "a pattern cannot hold a match_cast", span=binding.span)
            self.patterns[binding.var] = self._of(binding.value)
        body = pattern.body
        self.result = self._of(body.body if isinstance(body, SeqExpr) else body)

    def _of(self, expr: Any) -> DFPattern:
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
                return WildcardPattern() if _mentions_variables(expr) else ExprPattern(expr)
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
        from_roots: dict[DFPattern, Any] = {}
        for root, one in zip(roots, self.result.fields):
            found = one.extract_matched_expr(root, values)
            if found is None:
                return {}
            from_roots.update(found)
        body = self.replace(None, from_roots)
        return {} if body is None else dict(zip(roots, _fields(body, len(roots))))

    def _symbols(self, found: Mapping[DFPattern, Any]) -> dict[Any, Any] | None:
        """The shape variables of the pattern, if every parameter fits its annotation; else None."""
        pairs = [(v.struct_info, found[p].struct_info) for v, p in zip(self.function.params, self.params) if p in found]
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


def _mentions_variables(expr: Any) -> bool:
    return any(n.is_variable for n in post_order(expr))


def _fields(body: Any, count: int) -> list[Any]:
    """The fields of a sequence whose result is a tuple, as expressions that share its bindings."""
    bindings = [b for block in body.blocks for b in block.bindings] if isinstance(body, SeqExpr) else []
    if not all(isinstance(b, VarBinding) for b in bindings):
        raise fail("api", "a replacement of several values cannot hold a match_cast")
    values = {b.var: b.value for b in bindings}
    result = body.body if isinstance(body, SeqExpr) else body
    while isinstance(result, Var) and result in values:
        result = values[result]
    if not isinstance(result, Tuple) or len(result.fields) != count:
        raise fail("api", f"the replacement returns a tuple of {count} values, as the pattern does")
    inlined: dict[Any, Any] = {}
    for var, value in values.items():
        inlined[var] = uninformed(substitute(value, inlined, notes=False))
    return [substitute(f, inlined, notes=False) for f in result.fields]
