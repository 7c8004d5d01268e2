"""Index expressions rewritten as sums of pieces of loops, step by step from the loops up.

    i * 15 + j, for i < 4, j < 15            one piece: all of a mark fused of i and j, of extent 60
    (i * 15 + j) // 10                       the same mark // 10, of extent 6
    i * 8 + j where i * 8 + j < 30           one piece of a mark of extent 30

Equal sums are fused to one mark: pieces of it in several indices can be told apart, or seen to overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import children, post_order, rebuild
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.iterators.iter_nodes import Domains, IterMark, IterSplitExpr, IterSumExpr
from baton._src.tir.expr import IntImm, literal


class NoIterMap(Exception):
    """An index is no sum of pieces of loops: what in it is not."""


class Rewriter:
    """The marks of one question. Loops of one iteration are numbers if `trivial_are_numbers`; terms that are no pieces
    of loops are numbers, too, if `others_are_numbers`.
    """

    def __init__(self, domains: Domains, trivial_are_numbers: bool, others_are_numbers: bool = False) -> None:
        self.analyzer = Analyzer.over(domains)
        self.loops = set(domains)
        self.others_are_numbers = others_are_numbers
        self.trivial_are_numbers = trivial_are_numbers
        self.fused: list[IterMark] = []
        self.bounded: list[tuple[IterMark, PrimExpr]] = []
        """Sums whose values a condition bounds: the mark of those left, and the least."""
        self.memo: dict[Any, PrimExpr] = {}
        for var, domain in domains.items():
            at_zero = ops.is_const(domain.min, 0)
            mark = IterMark(var if at_zero else ops.subtract(var, domain.min), domain.extent)
            trivial = trivial_are_numbers and ops.is_const(domain.extent, 1)
            base = ops.cast(var.dtype, domain.min)
            self.memo[var] = IterSumExpr(
                () if trivial else (IterSplitExpr(mark, dtype=var.dtype),), base, dtype=var.dtype
            )

    def sum_of(self, expr: PrimExpr) -> IterSumExpr:
        """The expression as a sum of pieces, not fused. Raises `NoIterMap`."""
        for item in post_order(expr, below=lambda n: () if n in self.memo else children(n)):
            if item in self.memo or not isinstance(item, PrimExpr):
                continue
            try:
                self.memo[item] = self._converted(item)
            except NoIterMap:
                if not self.others_are_numbers:
                    raise
                self.memo[item] = item
        return _as_sum(self.memo[expr])

    def _converted(self, item: Any) -> PrimExpr:
        known = {c: self.memo[c] for c in children(item) if c in self.memo}
        parts = [known[c] for c in children(item) if c in known]
        if not any(isinstance(p, IterSumExpr) for p in parts):  # numbers, of loops of one iteration, too
            changed: dict[Any, Any] = {c: part for c, part in known.items() if part is not c}
            return self.plain(rebuild(item, changed)) if changed else item
        if isinstance(item, tir.Cast) and item.dtype.is_int:
            whole = _as_sum(parts[0])
            return whole.with_fields(dtype=item.dtype, base=ops.cast(item.dtype, whole.base))
        if isinstance(item, tir.Add | tir.Sub):
            return self.added(_as_sum(parts[0]), _as_sum(parts[1]), -1 if isinstance(item, tir.Sub) else 1)
        if isinstance(item, tir.Mul | tir.FloorDiv | tir.FloorMod):
            a, b = (_number_if_one(p) for p in parts)
            if isinstance(item, tir.Mul) and self._is_number(a) != self._is_number(b):
                return self._scaled(_as_sum(a), b) if self._is_number(b) else self._scaled(_as_sum(b), a)
            if not isinstance(item, tir.Mul) and self._is_number(b):
                whole = self.fuse(_as_sum(a))
                is_quotient = isinstance(item, tir.FloorDiv)
                if not whole.args:
                    return (ops.floordiv if is_quotient else ops.floormod)(whole.base, b)
                return (self._quotient if is_quotient else self._remainder)(whole, b)
        raise NoIterMap(f"{item} is not a sum of loops and their pieces")

    # ------------------------------------------------------------------------------------------ arithmetic

    def _is_number(self, part: PrimExpr) -> bool:
        return isinstance(part, IntImm) or (
            not isinstance(part, IterSumExpr) and self.loops.isdisjoint(post_order(part))
        )

    def same(self, a: PrimExpr, b: PrimExpr) -> bool:
        """Whether two numbers are certainly equal."""
        if isinstance(a, IntImm) and isinstance(b, IntImm):
            return a.value == b.value
        return structural_equal(a, b) or self.analyzer.can_prove_equal(a, b)

    def divides(self, divisor: PrimExpr, number: PrimExpr) -> bool:
        """Whether a number is certainly a multiple of the divisor."""
        if isinstance(divisor, IntImm) and isinstance(number, IntImm):
            return divisor.value != 0 and number.value % divisor.value == 0
        return self.analyzer.prove(ops.equal(ops.floormod(number, divisor), literal(0, number.dtype)))

    def plain(self, expr: PrimExpr) -> PrimExpr:
        """A number, simplified."""
        found: PrimExpr = self.analyzer.simplify(expr)
        return found

    def added(self, a: IterSumExpr, b: IterSumExpr, sign: int) -> IterSumExpr:
        """a + b, or a - b if `sign` is negative: multiples of one piece are added up."""
        args = list(a.args)
        for arg in b.args:
            place = next((n for n, own in enumerate(args) if self._same_piece(own, arg)), len(args))
            before = args[place].scale if place < len(args) else literal(0, arg.dtype)
            scale = self.plain(ops.add(before, arg.scale) if sign > 0 else ops.subtract(before, arg.scale))
            args[place : place + 1] = [] if ops.is_const(scale, 0) else [arg.with_fields(scale=scale)]
        base = ops.add(a.base, b.base) if sign > 0 else ops.subtract(a.base, b.base)
        return IterSumExpr(tuple(args), self.plain(base), dtype=base.dtype)

    def _same_piece(self, a: IterSplitExpr, b: IterSplitExpr) -> bool:
        return a.source is b.source and self.same(a.lower_factor, b.lower_factor) and self.same(a.extent, b.extent)

    def _scaled(self, whole: IterSumExpr, number: PrimExpr) -> IterSumExpr:
        if ops.is_const(number, 0):
            return IterSumExpr((), number, dtype=whole.dtype)
        args = [a.with_fields(scale=self.plain(ops.multiply(a.scale, ops.cast(a.dtype, number)))) for a in whole.args]
        return IterSumExpr(tuple(args), self.plain(ops.multiply(whole.base, number)), dtype=whole.dtype)

    def _unscaled(self, whole: IterSumExpr, divisor: PrimExpr) -> tuple[IterSplitExpr, PrimExpr, PrimExpr]:
        """A piece of scale one and what it is divided by; the base, divided too, is below the divisor's steps."""
        (piece,) = whole.args
        if any(isinstance(n, IntImm) and n.value < 1 for n in (piece.scale, divisor)):
            raise NoIterMap(f"{divisor} divides what has the scale {piece.scale}: one of them is negative")
        if not self.divides(piece.scale, divisor) or not self.divides(piece.scale, whole.base):
            raise NoIterMap(f"{divisor} is no multiple of the scale {piece.scale} of what it divides")
        base, rest = (self.plain(ops.floordiv(n, piece.scale)) for n in (whole.base, divisor))
        if not self.divides(rest, base):
            raise NoIterMap(f"what {divisor} divides starts at {whole.base}")
        return piece.with_fields(scale=literal(1, piece.dtype)), base, rest

    def _quotient(self, whole: IterSumExpr, divisor: PrimExpr) -> IterSumExpr:
        """One piece and a base // divisor"""
        (piece,) = whole.args
        if self.divides(divisor, piece.scale):
            scale, base = (self.plain(ops.floordiv(n, divisor)) for n in (piece.scale, whole.base))
            return IterSumExpr((piece.with_fields(scale=scale),), base, dtype=whole.dtype)
        piece, base, rest = self._unscaled(whole, divisor)
        base = self.plain(ops.floordiv(base, rest))
        if self.divides(rest, piece.extent):
            lower = self.plain(ops.multiply(piece.lower_factor, rest))
            extent = self.plain(ops.floordiv(piece.extent, rest))
            kept: tuple[IterSplitExpr, ...] = (piece.with_fields(lower_factor=lower, extent=extent),)
            if self.trivial_are_numbers and ops.is_const(extent, 1):
                kept = ()
            return IterSumExpr(kept, base, dtype=whole.dtype)
        if self.analyzer.prove(ops.less_equal(piece.extent, rest)):
            return IterSumExpr((), base, dtype=whole.dtype)
        raise NoIterMap(f"the extent {piece.extent} of {piece.source.source} is no multiple of {rest}")

    def _remainder(self, whole: IterSumExpr, divisor: PrimExpr) -> IterSumExpr:
        """(One piece and a base) % divisor"""
        (piece,) = whole.args
        if self.divides(divisor, piece.scale):
            return IterSumExpr((), self.plain(ops.floormod(whole.base, divisor)), dtype=whole.dtype)
        scale = piece.scale
        piece, _, rest = self._unscaled(whole, divisor)
        zero = literal(0, whole.base.dtype)
        if self.divides(rest, piece.extent):
            kept = piece.with_fields(extent=self.plain(rest), scale=scale)
        elif self.analyzer.prove(ops.less_equal(piece.extent, rest)):
            kept = piece.with_fields(scale=scale)
        else:
            raise NoIterMap(f"the extent {piece.extent} of {piece.source.source} is no multiple of {rest}")
        return IterSumExpr((kept,), zero, dtype=whole.dtype)

    # --------------------------------------------------------------------------------------------- fusing

    def fuse(self, whole: IterSumExpr) -> IterSumExpr:
        """The sum as one piece and a base. Raises `NoIterMap` if the pieces leave gaps or overlap."""
        args = self._flattened(whole)
        if not args:
            return whole
        first = _least(args)
        units: list[IterSplitExpr] = []
        base, expected = whole.base, first
        while args:
            unit, args, start = self._next(args, expected)
            units.append(unit)
            base = ops.add(base, ops.multiply(start, expected))
            expected = self.plain(ops.multiply(expected, unit.extent))
        if len(units) == 1:
            return IterSumExpr(tuple(units), self.plain(base), dtype=whole.dtype)
        steps = [u.with_fields(scale=self.plain(ops.floordiv(u.scale, first))) for u in reversed(units)]
        mark = self._mark(steps, self.plain(ops.floordiv(expected, first)))
        return IterSumExpr((IterSplitExpr(mark, scale=first),), self.plain(base), dtype=whole.dtype)

    def members(self, piece: IterSplitExpr) -> list[IterSplitExpr]:
        """The pieces that all of a fused mark is fused of; a piece that is no such is its own."""
        return self._flattened(IterSumExpr((piece,), literal(0, piece.dtype), dtype=piece.dtype))

    def _flattened(self, whole: IterSumExpr) -> list[IterSplitExpr]:
        """The pieces, with what is all of a fused mark as the pieces that it is fused of."""
        found = IterSumExpr((), whole.base, dtype=whole.dtype)
        for arg in whole.args:
            inner = arg.source.source
            if arg.source in self.fused and self.same(arg.extent, arg.source.extent):
                assert isinstance(inner, IterSumExpr)
                found = self.added(found, self._scaled(inner, arg.scale), 1)
            else:
                found = self.added(found, IterSumExpr((arg,), literal(0, arg.dtype), dtype=arg.dtype), 1)
        return list(found.args)

    def _next(
        self, args: list[IterSplitExpr], expected: PrimExpr
    ) -> tuple[IterSplitExpr, list[IterSplitExpr], PrimExpr]:
        """The pieces of this scale as one, the pieces left, and what the one starts at."""
        for mark, start in reversed(self.bounded):
            assert isinstance(mark.source, IterSumExpr)
            members = self._scaled(mark.source, expected).args
            used = [arg for m in members for arg in args if self._same_piece(m, arg) and self.same(m.scale, arg.scale)]
            if len(used) == len(members):
                return IterSplitExpr(mark, scale=expected), [a for a in args if a not in used], start
        fits = [arg for arg in args if self.same(arg.scale, expected)]
        if not fits:
            raise NoIterMap("pieces of loops in a sum leave gaps or overlap: it is no iterator")
        unit = next((arg for arg in fits if ops.is_const(arg.extent, 1)), fits[0])
        return unit, [a for a in args if a is not unit], literal(0, expected.dtype)

    def _mark(self, steps: Sequence[IterSplitExpr], extent: PrimExpr) -> IterMark:
        """The mark that these pieces are fused to, the same for the same pieces."""
        for mark in self.fused:
            known = mark.source.args if isinstance(mark.source, IterSumExpr) else ()
            pairs = list(zip(known, steps))
            if len(known) == len(steps) and all(
                self._same_piece(a, b) and self.same(a.scale, b.scale) for a, b in pairs
            ):
                return mark
        dtype = steps[0].dtype
        self.fused.append(IterMark(IterSumExpr(tuple(steps), literal(0, dtype), dtype=dtype), extent))
        return self.fused[-1]

    def bound(self, whole: IterSumExpr, low: PrimExpr | None, end: PrimExpr | None) -> None:
        """Note that the sum is at least `low`, and below `end`."""
        fused = self.fuse(whole)
        if not fused.args:
            return
        (piece,) = fused.args
        if ops.is_const(piece.scale, 1) is False:
            raise NoIterMap(f"a condition bounds an iterator of steps of {piece.scale}")
        start, stop = literal(0, piece.dtype), piece.extent
        if low is not None:
            start = self.plain(ops.max(start, ops.subtract(low, fused.base)))
        if end is not None:
            stop = self.plain(ops.min(stop, ops.subtract(end, fused.base)))
        inner = piece.source.source
        members = inner.args if piece.source in self.fused and isinstance(inner, IterSumExpr) else (piece,)
        source = IterSumExpr(members, self.plain(ops.subtract(literal(0, piece.dtype), start)), dtype=piece.dtype)
        self.bounded.append((IterMark(source, self.plain(ops.subtract(stop, start))), start))


def _as_sum(part: PrimExpr) -> IterSumExpr:
    return part if isinstance(part, IterSumExpr) else IterSumExpr((), part, dtype=part.dtype)


def _number_if_one(part: PrimExpr) -> PrimExpr:
    return part.base if isinstance(part, IterSumExpr) and not part.args else part


def _least(args: Sequence[IterSplitExpr]) -> PrimExpr:
    """The scale that all others are products of, if any is: the least number, or else the first."""
    numbers = [arg.scale for arg in args if isinstance(arg.scale, IntImm)]
    return min(numbers, key=lambda n: n.value, default=args[0].scale)
