"""`PatternMatchingRewriter`: rewrite rules, written as pairs of Relax functions or as a pattern and a function.

    @R.rewriter
    class AddToMultiply:
        @R.function
        def pattern(x: R.Tensor): return R.add(x, x)
        @R.function
        def replacement(x: R.Tensor): return R.multiply(x, R.const(2.0))

    AddToMultiply(module)          (first | second)(module)

Parameters of `pattern` match anything that fits their annotations, its match_casts what is known to fit them; shape
variables in them are bound by matching and may be used in `replacement`. If `pattern` returns a tuple that does not
occur in the program, its fields are matched one by one in a block without effects, and all are replaced together.
Other functions of the class are added to the module where needed, under another name if theirs is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.global_names import names_beside
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order, substitute
from baton._src.passes.relax.function_rule import FunctionRule, fields_of
from baton._src.passes.relax.rewrite_patterns import rewrite_bindings, rewrite_calls
from baton._src.relax.check.compatibility import check_compatibility
from baton._src.relax.check.dims import Answer
from baton._src.relax.check.report import described
from baton._src.relax.check.signatures import function_info
from baton._src.relax.nodes import Function, Tuple, Var
from baton._src.relax.patterns.context import PatternContext
from baton._src.relax.patterns.nodes import DFPattern, TuplePattern
from baton._src.support.dataclass import dataclass
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
        """`func(expr, matchings)` gives the replacement, or None to decline.

        The fields of a tuple pattern are also matched one by one (`tuple_rewriter`).
        """
        functions = dict(new_subroutines or {})
        groups = (_group(pattern.fields, func, pattern),) if isinstance(pattern, TuplePattern) else ()
        return PatternMatchingRewriter(((pattern, func),), groups, functions)

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
        wanted, given = function_info(pattern), function_info(replacement)
        if check_compatibility(given, wanted, Analyzer()) is Answer.NO:
            raise fail(
                "api",
                f"the replacement is {described(given)}, which cannot stand for the pattern: {described(wanted)}",
                span=replacement.span,
                help="both have the same parameters and results, and the same effects",
            )
        others = {v: f for v, f in mod.functions.items() if v.name_hint not in ("pattern", "replacement")}
        rule = FunctionRule(pattern, replacement)
        groups = ((rule.context(), rule.replace_all),) if isinstance(rule.result, TuplePattern) else ()
        return PatternMatchingRewriter(((rule.result, rule.replace),), groups, others)

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
            function = rewrite_bindings(context, rewriter, function, everywhere=True)
        return function

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        names = names_beside(module, self.functions)
        callees = {names[var]: substitute(function, names, notes=False) for var, function in self.functions.items()}
        whole = module.with_functions({**callees, **module.functions})
        rewriter = self._calling(names)
        changed = {}
        for var, function in module.functions.items():
            if isinstance(function, Function):
                found = rewriter.rewritten(function, whole)
                if found is not function:
                    changed[var] = found
        if not changed:
            return module
        return module.with_functions({**module.functions, **changed, **_called(changed.values(), callees, module)})

    def _calling(self, names: Mapping[GlobalVar, GlobalVar]) -> PatternMatchingRewriter:
        """These rules with other names for the functions that replacements call."""
        if all(var is name for var, name in names.items()):
            return self

        def renamed(made: Any) -> Any:
            return None if made is None else substitute(made, names, notes=False)

        def rule(rewrite: Any) -> Any:
            return lambda expr, found: renamed(rewrite(expr, found))

        def group(rewrite: Any) -> Any:
            return lambda found, values: {var: renamed(made) for var, made in rewrite(found, values).items()}

        rules = tuple((pattern, rule(rewrite)) for pattern, rewrite in self.rules)
        return PatternMatchingRewriter(rules, tuple((context, group(rewrite)) for context, rewrite in self.groups))


def _called(functions: Iterable[Function], callees: Mapping[GlobalVar, Any], module: IRModule) -> dict[GlobalVar, Any]:
    """Those of `callees` that `functions` call, directly or through others, and that the module does not have."""
    found: dict[GlobalVar, Any] = {}
    todo = list(functions)
    while todo:
        for var in post_order(todo.pop()):
            if isinstance(var, GlobalVar) and var in callees and var not in module.functions and var not in found:
                found[var] = callees[var]
                todo.append(callees[var])
    return found


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
    """Several bindings of a block at once (`TupleRewriter`).

    `func(tuple of what matched, matchings)` gives a tuple with a replacement for each, or None to decline.
    """
    return PatternMatchingRewriter((), (_group(patterns, func),))


def _group(
    patterns: Sequence[DFPattern],
    func: Callable[[Any, Mapping[DFPattern, Any]], Any],
    whole: DFPattern | None = None,
) -> tuple[PatternContext, Any]:
    """The rule for `rewrite_bindings` that matches the patterns one by one; `whole` stands for all of them."""
    context = PatternContext()
    for one in patterns:
        context.add(one)
    together = TuplePattern(tuple(patterns)) if whole is None else whole

    def replace(matched: Mapping[DFPattern, Var], values: Mapping[Var, Any]) -> dict[Var, Any]:
        roots = [matched[p] for p in patterns]
        found = together.extract_matched_expr(Tuple(roots), values)
        if found is None:
            return {}
        matched_values = Tuple([values[r] for r in roots])
        made = func(matched_values, {**found, together: matched_values})
        if made is None:
            return {}
        return dict(zip(roots, fields_of(Tuple(made) if isinstance(made, (tuple, list)) else made, len(roots))))

    return context, replace


def rewriter(mod: IRModule) -> PatternMatchingRewriter:
    """`@R.rewriter` on the module of a class."""
    return PatternMatchingRewriter.from_module(mod)
