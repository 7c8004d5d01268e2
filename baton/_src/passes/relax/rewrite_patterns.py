"""Rewriting by patterns: `rewrite_call` expression by expression, `rewrite_bindings` a dataflow block at a time.

    rewrite_call(is_op("relax.add")(x, x), lambda expr, found: R.multiply(found[x], R.const(2.0)), function)

A rewriter declines by returning an equal expression (or no bindings). Its results are normalised and matched again,
until nothing changes; bindings that are no longer needed are dropped. A replacement that would use a DataflowVar
outside of its block is declined. Matches do not reach over calls that may write what they read, and an operand does not
take the place of a call if either tensor may be written: operators give tensors of their own. Errors: `pass-endless`
for rewriting that does not come to an end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from baton._src.analysis.bindings import get_var2val
from baton._src.analysis.exposure import Exposure
from baton._src.analysis.purity import contains_impure_call
from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order, substitute
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.bindings.dead_code_elimination import remove_all_unused
from baton._src.passes.relax.bindings.topological_sort import in_order
from baton._src.passes.relax.lasting_values import LookingRewriter
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.compatibility import check_compatibility
from baton._src.relax.check.dims import Answer
from baton._src.relax.check.report import described
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.patterns.context import PatternContext
from baton._src.relax.patterns.match import extract
from baton._src.relax.patterns.match_block import match_block
from baton._src.relax.patterns.nodes import DFPattern, OrPattern
from baton._src.support.diagnostics import fail
from baton._src.tir.arith.analyzer import Analyzer

MOST_ROUNDS = 1000
"""Of rewriting one expression or block again; more is a circle."""
MOST_WRAPS = 50
"""Rounds in a row that put something around an expression, which the next round finds again: each one takes longer."""

Rewriter = Callable[[Any, Mapping[DFPattern, Any]], Any]


def rewrite_call(pattern: DFPattern, rewriter: Rewriter, func: Function, module: IRModule | None = None) -> Function:
    """`func` with `rewriter(expr, matchings)` for every bound expression that matches `pattern`."""
    return rewrite_calls([(pattern, rewriter)], func, module)


def rewrite_calls(rules: list[tuple[DFPattern, Rewriter]], func: Function, module: IRModule | None = None) -> Function:
    """The same with several rules, earlier ones first."""
    rounds = _Rounds()
    while True:
        rewriter = _CallRewriter(rules, module)
        found = rewriter.function(func)
        if found is func:
            return func
        func = remove_all_unused(found)
        if not rewriter.changed_used:
            return func
        rounds.add(rewriter.wraps)


class _Rounds:
    """Counts the rounds of rewriting one function."""

    def __init__(self) -> None:
        self._all = self._wrapping = 0

    def add(self, wraps: bool) -> None:
        """One more; whether it put something around what it replaced. Error `pass-endless`: there are too many."""
        self._all += 1
        self._wrapping = self._wrapping + 1 if wraps else 0
        if self._all == MOST_ROUNDS or self._wrapping > MOST_WRAPS:
            raise _endless()


def _endless() -> Exception:
    return fail(
        "pass-endless", "rewriting by patterns does not terminate", help="the replacement matches the pattern again"
    )


def _require_fit(var: Var, value: GraphExpr) -> None:
    """Error `api` if `value`, made by a rewriter, cannot be what `var` is: its users were written for that."""
    if check_compatibility(value.struct_info, var.struct_info, Analyzer()) is Answer.NO:
        raise fail(
            "api",
            f"the rewriter replaces {var.name_hint}, {described(var.struct_info)}, by {described(value.struct_info)}",
            span=var.span,
            help="convert the replacement to what was there: R.astype, R.reshape",
        )


class _CallRewriter(LookingRewriter):
    """One round. Matches reach over no write: what read a tensor before it cannot be computed from it afterwards."""

    def __init__(self, rules: list[tuple[DFPattern, Rewriter]], module: IRModule | None) -> None:
        super().__init__(module)
        self.rules = rules
        self.here: set[Any] = set()
        self.changed_used = False
        self.wraps = False
        """Whether a replacement contains what it replaces, which the next round finds again."""

    def enter_block(self, block: BindingBlock) -> None:
        self.here = {b.var for b in block.bindings}

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        for _ in range(MOST_ROUNDS):
            made = self._once(binding.var, value)
            if made is value:
                if value is not binding.value:
                    _require_fit(binding.var, value)
                return value
            value = self.normalized(self._flattened(made))
            self.changed_used = True
        raise _endless()

    def _flattened(self, made: Any) -> Any:
        """A sequence of pure bindings as bindings of the present block, and its result."""
        if not isinstance(made, SeqExpr):
            return made
        renamed: dict[Any, Any] = {}
        before = len(self._made)
        for binding in (b for block in made.blocks for b in block.bindings):
            value, name = uninformed(substitute(binding.value, renamed, notes=False)), binding.var.name_hint
            if isinstance(binding, MatchCast):
                var = (DataflowVar if self.in_dataflow else Var)(name, binding.struct_info)
                self.keep(MatchCast(var, value, binding.struct_info, binding.span))
                renamed[binding.var] = var
            else:
                renamed[binding.var] = self.emit(value, name)
        result = substitute(made.body, renamed, notes=False)
        last = self._made[-1] if len(self._made) > before else None  # what came before may have other users
        if isinstance(last, VarBinding) and last.var is result:
            self._made.pop()
            return last.value
        return result

    def _once(self, var: Var, value: GraphExpr) -> Any:
        for pattern, rewriter in self.rules:
            for found in _matches(pattern, value, self.lasting):
                made = rewriter(value, found)
                if made is not None and not structural_equal(made, value) and self._is_visible(made):
                    if may_stand_for(var, made, self.exposure):
                        self.wraps = self.wraps or _contains(made, value)
                        return made
        return value

    def _is_visible(self, expr: GraphExpr) -> bool:
        return all(n in self.here for n in post_order(expr) if isinstance(n, DataflowVar))

    def keep(self, binding: Binding) -> None:
        super().keep(binding)
        self.here.add(binding.var)


def may_stand_for(var: Var, made: Any, exposure: Exposure) -> bool:
    """Whether `var` may get this value: not another name of a tensor if that, or its own before, may be written."""
    result = result_of(made)
    return not (isinstance(result, Var) and exposure.has_effects and (var in exposure or result in exposure))


def result_of(made: Any) -> Any:
    """What a replacement evaluates to: of a sequence, what its result is bound to."""
    if not isinstance(made, SeqExpr):
        return made
    values = {b.var: b.value for block in made.blocks for b in block.bindings}
    result = made.body
    while isinstance(result, Var) and result in values:
        result = values[result]
    return result


def _matches(pattern: DFPattern, value: GraphExpr, values: Mapping[Any, Any]) -> Iterator[dict[DFPattern, Any]]:
    """What each pattern matched; of alternatives, once for each that matches: the rewriter may decline the first."""
    if isinstance(pattern, OrPattern):
        for one in (pattern.left, pattern.right):
            yield from ({**found, pattern: value} for found in _matches(one, value, values))
        return
    found = extract(pattern, value, values)
    if found is not None:
        yield found


def _contains(expr: GraphExpr, part: Any) -> bool:
    return any(n is part for n in post_order(expr))


def uninformed(value: GraphExpr) -> Any:
    """A value without StructInfo, which follows from its new operands (8 rows, not 4 + 4)."""
    return value.with_fields(struct_info_=None) if isinstance(value, (Call, Tuple, TupleGetItem)) else value


def rewrite_bindings(
    ctx: PatternContext,
    rewriter: Callable[[Mapping[DFPattern, Var], Mapping[Var, Any]], Mapping[Var, Any]],
    func: Function,
    *,
    everywhere: bool = False,
) -> Function:
    """`func` with variables of its dataflow blocks bound to what `rewriter(matchings, bindings)` returns.

    With `everywhere`, other blocks without effects are rewritten, too, and `bindings` are those of the block.
    """
    rounds = _Rounds()
    while True:
        blocks = _BlockRewriter(ctx, rewriter, func, everywhere)
        found = blocks.function(func)
        if found is func:
            return func
        func = remove_all_unused(BlockBuilder().normalize(found))
        rounds.add(blocks.wraps)


class _BlockRewriter(BindingRewriter):
    """One round: the matches of each block that the rewriter accepts and that do not overlap with earlier ones."""

    def __init__(self, ctx: PatternContext, rewriter: Any, func: Function, everywhere: bool) -> None:
        super().__init__()
        self.ctx, self.rewriter, self.all_values = ctx, rewriter, get_var2val(func)
        self.exposure = Exposure(func)
        self.everywhere = everywhere
        self.counts_users = any(edge.only for edge in ctx.edges)
        self.wraps = False

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Any:
        found = super().leave_block(block, bindings)
        if not found or not self._is_free_of_effects(block):
            return found
        changed = self._changes(block)
        if not changed:
            return found
        made = [VarBinding(b.var, changed[b.var], b.span) if b.var in changed else b for b in found[0].bindings]
        return (type(block)(in_order(made), block.span),)

    def _is_free_of_effects(self, block: BindingBlock) -> bool:
        if isinstance(block, DataflowBlock):
            return True
        return self.everywhere and not any(contains_impure_call(b.value) for b in block.bindings)

    def _changes(self, block: BindingBlock) -> dict[Var, Any]:
        """What variables are to be bound to now."""
        # Outside of dataflow blocks there may be effects between this block and what others bind.
        values = {b.var: b.value for b in block.bindings} if self.everywhere else self.all_values
        changed: dict[Var, Any] = {}
        closed: set[Var] = set()
        for matched in match_block(self.ctx.patterns, self.ctx.edges, block, closed):
            if not closed.isdisjoint(matched.values()):
                continue
            made = self.rewriter(matched, values)
            new = {
                v: e
                for v, e in made.items()
                if not structural_equal(self.all_values.get(v), e) and may_stand_for(v, e, self.exposure)
            }
            self.wraps = self.wraps or any(_contains(e, self.all_values.get(v)) for v, e in new.items())
            changed.update(new)
            closed.update(new)
            if self.counts_users:  # whose operands have other users now
                concerned = [*new.values(), *(self.all_values[v] for v in new if v in self.all_values)]
                closed.update(n for n in post_order(concerned) if isinstance(n, Var))
        return changed
