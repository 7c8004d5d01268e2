"""Indices as fused and split iterators (`tvm.arith.detect_iter_map` and what goes with it).

detect_iter_map([i * 8 + j], {i: Range(0, 4), j: Range(0, 8)}).indices     one iterator of extent 32, made of i and j

An index is a sum of pieces `(loop // lower) % extent * scale`, and a constant. `tir.arith.iter_map` decomposes and
inverts maps; this module has the classes and functions that scripts use.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.iterators.iter_nodes import (
    Domains,
    IterMapLevel,
    IterMapResult,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    marks_of,
)
from baton._src.tir.arith.iterators.iter_rewrite import NoIterMap, Rewriter
from baton._src.tir.expr import IntImm, Var, literal


def detect_iter_map(
    indices: Sequence[Any],
    input_iters: Domains,
    predicate: Any = True,
    check_level: IterMapLevel | str | bool = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> IterMapResult:
    """The indices as sums of iterators that share no piece of a loop, where the `predicate` holds: a conjunction of
    bounds of loops and of their sums. Loops of one iteration are numbers if `simplify_trivial_iterators`.
    """
    level = _level(check_level)
    try:
        rewriter, domains = _rewriter(input_iters, predicate, simplify_trivial_iterators)
        found = tuple(_fused(rewriter, literal(index)) for index in indices)
    except NoIterMap as error:
        return IterMapResult(errors=(str(error),))
    if level != IterMapLevel.NoCheck:
        fault = _overlap(found, domains, rewriter, level == IterMapLevel.Bijective)
        if fault is not None:
            return IterMapResult(errors=(fault,))
    return IterMapResult(found)


def _fused(rewriter: Rewriter, index: PrimExpr) -> IterSumExpr:
    """An index as it is written, or else as it is simplified."""
    try:
        return rewriter.fuse(rewriter.sum_of(index))
    except NoIterMap:
        plain: PrimExpr = rewriter.analyzer.simplify(index)
        if plain is index:
            raise
        return rewriter.fuse(rewriter.sum_of(plain))


def _level(given: IterMapLevel | str | bool) -> IterMapLevel:
    if isinstance(given, bool):
        return IterMapLevel.Bijective if given else IterMapLevel.Surjective
    return IterMapLevel.from_str(given) if isinstance(given, str) else IterMapLevel(given)


Bound = tuple[PrimExpr, PrimExpr | None, PrimExpr | None]


def _rewriter(input_iters: Domains, predicate: Any, trivial: bool) -> tuple[Rewriter, Domains]:
    """What rewrites indices under a condition: bounds of one loop narrow it, those of sums have marks of their own."""
    bounds = [_bound(term, input_iters) for term in ops.conjuncts(literal(predicate))]
    domains = dict(input_iters)
    for expr, low, end in bounds:
        if isinstance(expr, Var):
            domains[expr] = _narrowed(domains[expr], low, end)
    rewriter = Rewriter(domains, trivial)
    sums = [(rewriter.sum_of(expr), low, end) for expr, low, end in bounds if not isinstance(expr, Var)]
    for whole, low, end in sorted(_joined(rewriter, sums), key=lambda item: len(item[0].args)):
        rewriter.bound(whole, low, end)
    return rewriter, domains


def _joined(
    rewriter: Rewriter, sums: Sequence[tuple[IterSumExpr, PrimExpr | None, PrimExpr | None]]
) -> list[tuple[IterSumExpr, PrimExpr | None, PrimExpr | None]]:
    """Both bounds of one sum together."""
    found: list[tuple[IterSumExpr, PrimExpr | None, PrimExpr | None]] = []
    for whole, low, end in sums:
        for place, (known, other_low, other_end) in enumerate(found):
            gap = rewriter.added(known, whole, -1)
            if not gap.args and ops.is_const(gap.base, 0):
                found[place] = (known, _either(ops.max, low, other_low), _either(ops.min, end, other_end))
                break
        else:
            found.append((whole, low, end))
    return found


def _either(choose: Any, a: PrimExpr | None, b: PrimExpr | None) -> PrimExpr | None:
    return a if b is None else b if a is None else choose(a, b)


def _bound(term: PrimExpr, loops: Domains) -> Bound:
    """(what the term bounds, at least, below)."""
    if not isinstance(term, tir.LT | tir.LE | tir.GT | tir.GE | tir.EQ):
        raise NoIterMap(f"the condition {term} is no bound of a sum of loops")
    a, b = term.a, term.b
    in_a, in_b = (any(n in loops for n in post_order(side)) for side in (a, b))
    if not in_a and not in_b:
        raise NoIterMap(f"the condition {term} says nothing of the loops")
    if in_a and in_b:
        a, b = ops.subtract(a, b), literal(0, a.dtype)
    flipped = in_b and not in_a
    expr, number = (b, a) if flipped else (a, b)
    upper = isinstance(term, tir.LT | tir.LE) is not flipped
    after = ops.add(number, literal(1, number.dtype))
    if isinstance(term, tir.EQ):
        return expr, number, after
    strict = isinstance(term, tir.LT | tir.GT)
    return (expr, None, number if strict else after) if upper else (expr, after if strict else number, None)


def _narrowed(domain: Range, low: PrimExpr | None, end: PrimExpr | None) -> Range:
    simplify = Analyzer().simplify
    start, stop = domain.min, ops.add(domain.min, domain.extent)
    start = start if low is None else simplify(ops.max(start, ops.cast(start.dtype, low)))
    stop = stop if end is None else simplify(ops.min(stop, ops.cast(stop.dtype, end)))
    return Range(start, simplify(ops.subtract(stop, start)))


def _overlap(indices: Sequence[IterSumExpr], domains: Domains, rewriter: Rewriter, whole: bool) -> str | None:
    """Why the pieces do not make up each mark without overlap (`whole`: without gaps, and all loops)."""
    used = marks_of(indices)
    if any(mark not in used for mark, _ in rewriter.bounded):
        return "a condition bounds a sum of loops that is no part of the indices"
    for mark, pieces in used.items():
        left, end = list(pieces), literal(1, mark.extent.dtype)
        name = next((n.name for n in post_order(normalize_iter_map_to_expr(mark.source)) if isinstance(n, Var)), "?")
        while left:
            following = next((p for p in left if rewriter.same(p.lower_factor, end)), None)
            if following is None and not whole:
                prove = rewriter.analyzer.prove
                following = next((p for p in left if all(prove(p.lower_factor <= q.lower_factor) for q in left)), None)
                if following is not None and not prove(following.lower_factor >= end):
                    following = None
            if following is None:
                return f"pieces of the loop over {name} overlap or leave gaps"
            left.remove(following)
            end = rewriter.plain(ops.multiply(following.lower_factor, following.extent))
        if whole and not rewriter.same(end, mark.extent):
            return f"not all of the loop over {name} is used"
    loops = {n for mark in used if not isinstance(mark.source, IterSumExpr) for n in post_order(mark.source)}
    unused = [v.name for v, d in domains.items() if v not in loops and not ops.is_const(d.extent, 1)]
    return f"not all of the loop over {unused[0]} is used" if whole and unused else None


def normalize_to_iter_sum(index: Any, input_iters: Domains) -> IterSumExpr:
    """An index as a sum of pieces, not fused, the widest steps first; terms that are none go into its base."""
    rewriter = Rewriter(input_iters, True, others_are_numbers=True)
    whole = rewriter.sum_of(literal(index))
    return whole.with_fields(args=tuple(sorted(whole.args, key=lambda arg: -getattr(arg.scale, "value", 0))))


def normalize_iter_map_to_expr(expr: PrimExpr) -> Any:
    """A map of iterators as an ordinary expression of its loops."""
    simplify = Analyzer().simplify
    match expr:
        case IterSumExpr(args=args, base=base):
            total: PrimExpr = literal(0, base.dtype)
            for arg in args:
                total = ops.add(total, normalize_iter_map_to_expr(arg))
            return simplify(ops.add(total, base))
        case IterSplitExpr(source=mark):
            value = normalize_iter_map_to_expr(mark.source)
            if not ops.is_const(expr.lower_factor, 1):
                value = ops.floordiv(value, expr.lower_factor)
            if not Analyzer().can_prove_equal(ops.multiply(expr.lower_factor, expr.extent), mark.extent):
                value = ops.floormod(value, expr.extent)
            return simplify(ops.multiply(value, expr.scale))
        case _:
            return expr


def iter_map_simplify(
    indices: Sequence[Any],
    input_iters: Domains,
    predicate: Any = True,
    check_level: IterMapLevel | str | bool = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> list[PrimExpr]:
    """The indices simplified as maps of iterators; where they are none, as expressions over those ranges."""
    found = detect_iter_map(indices, input_iters, predicate, check_level, simplify_trivial_iterators)
    plain = map(literal, indices) if found.errors else map(normalize_iter_map_to_expr, found.indices)
    return [*map(Analyzer.over(input_iters).simplify, plain)]


def subspace_divide(
    bindings: Sequence[Any],
    input_iters: Domains,
    sub_iters: Sequence[Var],
    predicate: Any = True,
    check_level: IterMapLevel | str | bool = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> list[list[IterMark]]:
    """Each binding as `outer * extent + inner`, where only `inner` depends on `sub_iters`: [outer, inner] as marks.

    The last entry has the conditions, which are true. Empty where the bindings do not divide.
    """
    found = detect_iter_map(bindings, input_iters, predicate, check_level, simplify_trivial_iterators)
    below = set(sub_iters)
    conditions = _divided(literal(predicate), below, input_iters)
    if found.errors or conditions is None:
        return []
    rewriter, _ = _rewriter(input_iters, predicate, simplify_trivial_iterators)
    made: list[list[IterMark]] = []
    for binding in bindings:
        whole = _fused(rewriter, literal(binding))
        parts = [a for arg in whole.args for a in rewriter.members(arg)]
        inner = [arg for arg in parts if _loops_in(arg) <= below]
        outer = parts[: len(parts) - len(inner)]
        if any(_loops_in(arg) & below for arg in outer):
            return []
        zero = literal(0, whole.base.dtype)
        bases = (zero, whole.base) if inner else (whole.base, zero)  # outer * extent + (inner + base)
        within = _part(inner, bases[1], literal(1, whole.base.dtype))
        made.append([_part(outer, bases[0], within.extent), within])
    return [*made, [IterMark(condition, literal(1)) for condition in conditions]]


def _divided(predicate: PrimExpr, below: set[Var], loops: Domains) -> tuple[PrimExpr, PrimExpr] | None:
    """The condition on the outer loops, and the one on the inner ones; None if a part of it is on both."""
    sides: tuple[list[PrimExpr], list[PrimExpr]] = ([], [])
    for term in ops.conjuncts(predicate):
        named = {n for n in post_order(term) if n in loops}
        if named & below and named - below:
            return None
        sides[bool(named & below)].append(term)
    true: PrimExpr = IntImm("bool", 1)
    outer, inner = (functools.reduce(ops.logical_and, terms, true) for terms in sides)
    return outer, inner


def _loops_in(piece: IterSplitExpr) -> set[Var]:
    return {n for n in post_order(normalize_iter_map_to_expr(piece)) if isinstance(n, Var)}


def _part(parts: Sequence[IterSplitExpr], base: PrimExpr, step: PrimExpr) -> IterMark:
    """Some pieces of a binding as an iterator, of which the binding has `step` times the value."""
    simplify = Analyzer().simplify
    extent: PrimExpr = literal(1, base.dtype)
    for piece in parts:
        extent = simplify(ops.multiply(extent, piece.extent))
    scaled = [p.with_fields(scale=simplify(ops.floordiv(p.scale, step))) for p in parts]
    return IterMark(IterSumExpr(tuple(scaled), base, dtype=base.dtype), extent)


def inverse_affine_iter_map(iter_map: Sequence[IterSumExpr], outputs: Sequence[Any]) -> dict[Var, PrimExpr]:
    """Each loop in terms of the values of the indices. Error `iter-map`: the map is not one to one."""
    simplify = Analyzer().simplify
    used = marks_of(iter_map)
    values: dict[IterMark, PrimExpr] = {}
    for index, output in zip(iter_map, outputs, strict=True):
        _add_values(values, index, ops.subtract(literal(output), index.base))
    found: dict[Var, PrimExpr] = {}
    for mark in used:
        end: PrimExpr = literal(1, mark.extent.dtype)
        for piece in sorted(used[mark], key=lambda p: getattr(p.lower_factor, "value", 0)):
            if not Analyzer().can_prove_equal(piece.lower_factor, end):
                raise fail("iter-map", "the map is not one to one: it has no inverse")
            end = simplify(ops.multiply(end, piece.extent))
        if not Analyzer().can_prove_equal(end, mark.extent):
            raise fail("iter-map", "the map is not one to one: it has no inverse")
        match mark.source:
            case IterSumExpr() as source:
                _add_values(values, source, ops.subtract(values[mark], source.base))
            case Var() as var:
                found[var] = simplify(values[mark])
            case tir.Sub(a=Var() as var, b=start):
                found[var] = simplify(ops.add(values[mark], start))
            case _:
                raise fail("iter-map", f"{mark.source} is no loop: it has no inverse")
    return found


def _add_values(values: dict[IterMark, PrimExpr], index: IterSumExpr, value: PrimExpr) -> None:
    """What a sum's value says of its pieces, added up for their marks."""
    for place, piece in enumerate(index.args):
        own = value if ops.is_const(piece.scale, 1) else ops.floordiv(value, piece.scale)
        if place:  # the first has the widest steps: nothing is above it
            own = ops.floormod(own, piece.extent)
        own = ops.multiply(own, piece.lower_factor)
        known = values.get(piece.source)
        values[piece.source] = own if known is None else ops.add(known, own)
