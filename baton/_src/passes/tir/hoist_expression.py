"""HoistExpression, HoistIfThenElse: evaluate loop-invariant conditions and values before the loop.

    for i:                                      if n > 4: for i: A[i] = 1
        if n > 4: A[i] = 1              ->      else: for i: A[i] = 0
        else: A[i] = 0

    for i: x = n * 3; A[i] = x          ->      x = n * 3; for i: A[i] = x

Only expressions that read no memory, call nothing with effects and cannot fail, since they are then computed even if
the loop, or a condition around them, would have skipped them. Conditions and values within a sequence of statements
stay, as in TVM.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import children, post_order, rewrite
from baton._src.passes.tir.lowering.fold import fold
from baton._src.passes.tir.pass_options import options_of
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.passes.tir.remove_no_op import without_no_ops
from baton._src.passes.tir.simplify import mentions, simplified
from baton._src.passes.tir.ssa import converted, defined_by
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.effects import is_stable
from baton._src.tir.intrinsics import definition
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.thread_axes import launched_axis
from baton._src.transform.context import PassContext
from baton._src.values.dtype import BOOL

MOST = 4
"""Most conditions hoisted from one loop: each doubles its code."""


class HoistedConditionals(enum.Flag):
    """Which conditions HoistExpression decides before a loop."""

    Never = 0
    IfElseStmt = 1
    IfElseExpr = 2
    BooleanExpression = 4
    """Parts of `and` and `or`."""
    UsingBlockVar = 8
    """Also conditions on GPU threads."""
    All = 15


class HoistedLetBindings(enum.Flag):
    """Which values HoistExpression computes before a loop."""

    Never = 0
    RequiredByConditional = 1
    """Values used by hoisted conditions."""
    LetStmt = 2
    LetExpr = 4
    All = 7


Flags = TypeVar("Flags", HoistedConditionals, HoistedLetBindings)
_CONDITIONS = HoistedConditionals.IfElseStmt | HoistedConditionals.IfElseExpr | HoistedConditionals.BooleanExpression


@dataclass(frozen=True)
class HoistExpression(PrimFuncPass):
    """See the module's docstring. The setting `tir.HoistExpression` has `hoisted_conditionals` and
    `hoisted_let_bindings`, flags of the classes above or their numbers."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        options = options_of(ctx, "tir.HoistExpression")
        conditions = _flags(HoistedConditionals, options, "hoisted_conditionals", _CONDITIONS)
        lets = _flags(HoistedLetBindings, options, "hoisted_let_bindings", HoistedLetBindings.All)
        return _Hoisting(conditions, lets, converted(body, function)).applied(function)


def _flags(kind: type[Flags], options: Mapping[str, Any], name: str, default: Flags) -> Flags:
    try:
        return kind(options.get(name, default))
    except ValueError:
        known = ", ".join(f"{flag.name} ({flag.value})" for flag in kind)
        raise fail("api", f"HoistExpression: {name} is a sum of {known}, not {options[name]!r}") from None


@dataclass(frozen=True)
class HoistIfThenElse(PrimFuncPass):
    """The conditions of statements only. With `support_block_scope_hosting` of the setting `tir.HoistIfThenElse` also
    conditions on launched threads, and out of launches; `variant` "basic" never does that."""

    variant: str | None = None

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        if self.variant not in (None, "basic"):
            raise fail("api", f"HoistIfThenElse: variant must be 'basic' or None, got {self.variant!r}")
        options = options_of(ctx, "tir.HoistIfThenElse")
        conditions = HoistedConditionals.IfElseStmt
        if self.variant is None and options.get("support_block_scope_hosting"):
            conditions |= HoistedConditionals.UsingBlockVar
        return _Hoisting(conditions, HoistedLetBindings.Never, converted(body, function)).applied(function)


Loop = st.For | st.AttrStmt


class _Hoisting:
    def __init__(self, conditions: HoistedConditionals, lets: HoistedLetBindings, body: st.Stmt) -> None:
        self.conditions = conditions
        self.lets = lets
        self.root = body
        axes = (launched_axis(n) for n in post_order(body) if isinstance(n, st.AttrStmt))
        self.threads: set[Any] = {axis.var for axis in axes if axis is not None}
        self.over_threads = HoistedConditionals.UsingBlockVar in conditions

    def applied(self, function: PrimFunc) -> st.Stmt:
        found: st.Stmt = rewrite(self.root, lambda n: self._before(n) if self._is_loop(n) else None)
        if found is not self.root:
            found = converted(found, function)
        return without_no_ops(simplified(found, function))

    def _is_loop(self, node: Node) -> bool:
        """A loop, or a launch of threads that may be left out as a whole."""
        launch = self.over_threads and isinstance(node, st.AttrStmt) and launched_axis(node) is not None
        return isinstance(node, st.For) or launch

    def _below(self, node: Node) -> Sequence[Any]:
        """The nodes from which conditions and values may be hoisted: not from a sequence of statements, nor from the
        nodes of attributes.
        """
        about = isinstance(node, st.AttrStmt) and isinstance(node.node, tir.IterVar | tir.Var)
        return () if isinstance(node, st.SeqStmt) or (about and not self._is_loop(node)) else children(node)

    def _before(self, loop: Loop) -> st.Stmt | None:
        """The definitions known before a loop, then the loop."""
        inner, bound = self._without_lets(loop)
        found = self._decided(inner, MOST)
        for let in reversed(bound):
            found = st.LetStmt(let.var, let.value, found)
        return None if found is loop else found

    # ---------------------------------------------------------------------------------------- values

    def _without_lets(self, loop: Loop) -> tuple[Loop, list[Any]]:
        """The loop without the values hoisted from it, and these, in order of computation."""
        inside = _defined_in(loop)
        bound: list[Any] = []
        wanted = self._wanted(loop)
        for let in self._lets(loop.body):
            if self._may_go(let, wanted) and not mentions(let.value, inside):
                bound.append(let)
                inside.remove(let.var)
        gone = {n.var for n in bound}

        def rule(node: Node) -> Node | None:
            return node.body if isinstance(node, (st.LetStmt, tir.Let)) and node.var in gone else None

        return (rewrite(loop, rule) if gone else loop), bound

    def _lets(self, body: st.Stmt) -> list[Any]:
        """Statements and expressions that name a value, outer ones first."""
        return [n for n in post_order(body, below=self._below) if isinstance(n, (st.LetStmt, tir.Let))][::-1]

    def _may_go(self, let: Any, wanted: set[Any]) -> bool:
        own = HoistedLetBindings.LetStmt if isinstance(let, st.LetStmt) else HoistedLetBindings.LetExpr
        return bool(own & self.lets or let.var in wanted) and _may_move(let.value)

    def _wanted(self, loop: Loop) -> set[Any]:
        """The variables that conditions use, and those that these depend on."""
        if HoistedLetBindings.RequiredByConditional not in self.lets:
            return set()
        found = {n for c in self._asked(loop.body) for n in post_order(c) if isinstance(n, tir.Var)}
        for let in reversed(self._lets(loop.body)):
            if let.var in found:
                found |= {n for n in post_order(let.value) if isinstance(n, tir.Var)}
        return found

    # ------------------------------------------------------------------------------------ conditions

    def _decided(self, loop: st.Stmt, most: int) -> st.Stmt:
        """The loop once with the condition true and once with it false."""
        condition = next(self._candidates(loop), None) if most and self._is_loop(loop) else None
        if condition is None:
            return loop
        then, other = (self._decided(_with_condition(loop, condition, value), most - 1) for value in (1, 0))
        return st.IfThenElse(condition, then, None if _does_nothing(other) else other)

    def _candidates(self, loop: Any) -> Iterator[PrimExpr]:
        inside = _defined_in(loop)
        if HoistedConditionals.UsingBlockVar not in self.conditions:
            inside |= self.threads
        for condition in self._asked(loop.body):
            constant = isinstance(condition, tir.IntImm)
            if not constant and _may_move(condition) and not mentions(condition, inside):
                yield condition

    def _asked(self, body: st.Stmt) -> Iterator[PrimExpr]:
        """The conditions in a loop of the kinds to hoist."""
        for node in post_order(body, below=self._below):
            for kind, condition in _conditions(node):
                if kind in self.conditions and condition.dtype.lanes == 1:
                    yield condition


def _conditions(node: Node) -> Iterator[tuple[HoistedConditionals, PrimExpr]]:
    match node:
        case st.IfThenElse():
            yield HoistedConditionals.IfElseStmt, node.condition
        case tir.Call() if _chooses(node):
            yield HoistedConditionals.IfElseExpr, node.args[0]
        case tir.And() | tir.Or():
            yield HoistedConditionals.BooleanExpression, node.a
            yield HoistedConditionals.BooleanExpression, node.b
        case _:
            pass


def _chooses(node: tir.Call) -> bool:
    row = definition(node.op)
    return row is not None and row.name == "tir.if_then_else"


def _may_move(expr: PrimExpr) -> bool:
    """Whether an expression has the same value anywhere, and computing it cannot fail."""
    divided = (n.b for n in post_order(expr) if isinstance(n, (tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod)))
    return is_stable(expr) and all(isinstance(b, (tir.IntImm, tir.FloatImm)) and b.value != 0 for b in divided)


def _defined_in(loop: Loop) -> set[Any]:
    return {v for n in post_order(loop) for v in ([n.var] if isinstance(n, tir.Let) else defined_by(n))}


def _with_condition(loop: st.Stmt, condition: PrimExpr, value: int) -> st.Stmt:
    """The loop simplified under a known condition."""
    known = tir.IntImm(BOOL, value)

    def rule(node: Node) -> Any:
        if isinstance(node, PrimExpr) and node.dtype == BOOL and structural_equal(node, condition):
            return known
        match node:
            case st.IfThenElse(condition=tir.IntImm(value=holds)):
                return node.then_case if holds else node.else_case or st.Evaluate(tir.IntImm("int32", 0))
            case tir.Call(args=(tir.IntImm(value=holds), one, other)) if _chooses(node):
                return one if holds else other
            case tir.Select(condition=tir.IntImm(value=holds)):
                return node.true_value if holds else node.false_value
            case _:
                return fold(node)

    return without_no_ops(rewrite(loop, rule))


def _does_nothing(stmt: st.Stmt) -> bool:
    return isinstance(stmt, st.Evaluate) and isinstance(stmt.value, tir.IntImm)


__all__ = ["HoistExpression", "HoistIfThenElse", "HoistedConditionals", "HoistedLetBindings"]
