"""Expressions that are linear in some variables: their coefficients, and bounds that conditions imply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order
from baton._src.tir import expr as tir
from baton._src.tir import operators
from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.canonical import canonical
from baton._src.tir.arith.int_set import IntervalSet, IntSet, values_of
from baton._src.tir.expr import IntImm, Var, literal
from baton._src.tir.intrinsics import intrinsic


def detect_linear_equation(expr: Any, var_list: Sequence[Var]) -> list[PrimExpr]:
    """`[c0, .., base]` where expr = var_list[0] * c0 + .. + base and none has the variables; `[]` if there are none."""
    given = operators.convert(expr)
    analyzer = Analyzer()
    ctx = analyzer.context
    rest = canonical(ctx, given)
    found: list[PrimExpr] = []
    for var in var_list:
        parts = p.split_by_atom(rest, analyzer.atom(var))
        if parts is None:
            return []
        coefficient, rest = parts
        found.append(ctx.atoms.emit(coefficient, given.dtype))
    found.append(ctx.atoms.emit(rest, given.dtype))
    wanted = set(var_list)
    return [] if any(node in wanted for part in found for node in post_order(part)) else found


def _conditions(expr: PrimExpr) -> list[PrimExpr]:
    """The parts of a conjunction; hints are seen through."""
    found: list[PrimExpr] = []
    stack = [expr]
    while stack:
        one = stack.pop()
        if isinstance(one, tir.And):
            stack += [one.b, one.a]
        elif isinstance(one, tir.Call) and one.op is intrinsic("likely"):
            stack.append(one.args[0])
        else:
            found.append(one)
    return found


def slack(condition: PrimExpr) -> PrimExpr | None:
    """What is at least 0 exactly where an inequality of integers holds; None for other conditions."""
    match condition:
        case tir.LT():
            return operators.subtract(operators.subtract(condition.b, condition.a), 1)
        case tir.LE():
            return operators.subtract(condition.b, condition.a)
        case tir.GT():
            return operators.subtract(operators.subtract(condition.a, condition.b), 1)
        case tir.GE():
            return operators.subtract(condition.a, condition.b)
        case _:
            return None


def at_least_zero(condition: PrimExpr) -> list[PrimExpr] | None:
    """What must be at least 0 for a comparison of integers to hold; None for other conditions."""
    if isinstance(condition, tir.EQ):
        return [condition.a - condition.b, condition.b - condition.a]
    found = slack(condition)
    return None if found is None else [found]


def sign_change(start: PrimExpr, step: int) -> PrimExpr:
    """The first `i` for which `start + step * i` has the sign of `step`: at least 0 if that grows, else below."""
    if step > 0:
        return operators.floordiv(operators.add(operators.subtract(0, start), step - 1), step)
    return operators.add(operators.floordiv(start, -step), 1)


def detect_clip_bound(expr: PrimExpr, var_list: Sequence[Var]) -> list[PrimExpr | None]:
    """`[least, greatest]` of each variable (None: no such bound) if `expr` is a conjunction of bounds; else `[]`."""
    least: dict[Var, PrimExpr] = {}
    greatest: dict[Var, PrimExpr] = {}
    for condition in _conditions(expr):
        differences = at_least_zero(condition)
        if differences is None:
            return []
        for difference in differences:
            parts = detect_linear_equation(difference, var_list)
            used = [(v, c.value) for v, c in zip(var_list, parts) if isinstance(c, IntImm) and c.value]
            if not parts or len(used) != 1 or abs(used[0][1]) != 1 or not _others_absent(parts[:-1]):
                return []
            (var, sign), base = used[0], parts[-1]
            if sign > 0:
                bound = Analyzer().simplify(0 - base)
                least[var] = operators.max(least[var], bound) if var in least else bound
            else:
                greatest[var] = operators.min(greatest[var], base) if var in greatest else base
    return [bound for var in var_list for bound in (least.get(var), greatest.get(var))]


def _others_absent(coefficients: Sequence[PrimExpr]) -> bool:
    return all(isinstance(c, IntImm) for c in coefficients)


def deduce_bound(
    var: Var, cond: PrimExpr, hint_map: Mapping[Var, IntSet | Range], relax_map: Mapping[Var, IntSet | Range]
) -> IntSet:
    """The values of `var` with which a comparison certainly holds, whatever the variables of `relax_map` are.

    `hint_map` gives ranges of variables. If nothing can be derived, the result is the empty set.
    """
    nothing = IntervalSet(1, 0)
    if isinstance(cond, tir.Call) and cond.op is intrinsic("likely"):
        cond = cond.args[0]
    differences = at_least_zero(cond)
    analyzer = Analyzer()
    for known, domain in hint_map.items():
        if isinstance(domain, Range):
            analyzer.bind(known, domain)
        elif known is not var and domain.min is not None and domain.max is not None:
            analyzer.bind(known, Range(domain.min, domain.max - domain.min + 1))
    low: PrimExpr | None = None
    high: PrimExpr | None = None
    for difference in differences or ():
        parts = detect_linear_equation(difference, [var])
        if not parts:
            return nothing
        coefficient, base = parts
        if any(node in relax_map for node in post_order(coefficient)):
            return nothing
        if set(relax_map) & {n for n in post_order(base) if isinstance(n, Var)}:
            least = values_of(analyzer, base, relax_map).min
            if least is None:
                return nothing
            base = least
        one = literal(1, coefficient.dtype)
        if analyzer.prove(coefficient >= one):
            low = analyzer.simplify(operators.ceildiv(0 - base, coefficient))
        elif analyzer.prove(coefficient <= 0 - one):
            high = analyzer.simplify(operators.floordiv(base, 0 - coefficient))
        else:
            return nothing
    return nothing if low is None and high is None else IntervalSet(low, high)
