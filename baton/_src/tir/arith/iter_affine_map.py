"""Indices as fused and split iterators (`tvm.arith.detect_iter_map` and what goes with it).

detect_iter_map([i * 8 + j], {i: Range(0, 4), j: Range(0, 8)}).indices     one iterator of extent 32, made of i and j

An index is a sum of pieces `(loop // lower) % extent * scale`, and a constant. `tir.arith.iter_map` decomposes and
inverts maps; this module has the classes and functions that scripts use.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node, init_field, node
from baton._src.ir.traverse import substitute
from baton._src.support.diagnostics import fail
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.iter_map import IterPiece, invert, pieces_of
from baton._src.tir.expr import IntImm, Var, literal


class IterMapExpr(PrimExpr):
    """Base class of indices as maps of iterators."""

    __slots__ = ()


@node
class IterMark(Node):
    """An expression that takes each value in [0, extent)."""

    source: PrimExpr
    extent: PrimExpr

    def __post_init__(self) -> None:
        init_field(self, "extent", literal(self.extent, self.source.dtype))


@node
class IterSplitExpr(IterMapExpr):
    """`(source // lower_factor) % extent * scale`"""

    source: IterMark
    lower_factor: PrimExpr
    extent: PrimExpr
    scale: PrimExpr

    def __post_init__(self) -> None:
        init_field(self, "dtype", self.source.source.dtype)
        for name in ("lower_factor", "extent", "scale"):
            init_field(self, name, literal(getattr(self, name), self.dtype))


@node
class IterSumExpr(IterMapExpr):
    """The sum of `args`, and `base`."""

    args: tuple[IterSplitExpr, ...]
    base: PrimExpr

    def __post_init__(self) -> None:
        init_field(self, "args", tuple(self.args))
        init_field(self, "base", literal(self.base, self.args[0].dtype if self.args else None))
        init_field(self, "dtype", self.base.dtype)


class IterMapLevel(enum.IntEnum):
    """The required property of a map: bijective, surjective, or none."""

    Bijective = 0
    Surjective = 1
    NoCheck = 3

    @staticmethod
    def from_str(name: str) -> IterMapLevel:
        """By name, in any case."""
        names = {"bijective": IterMapLevel.Bijective, "surjective": IterMapLevel.Surjective}
        found = {**names, "nocheck": IterMapLevel.NoCheck}.get(name.lower())
        if found is None:
            raise ValueError(f"{name!r} is not a level of iterator maps: bijective, surjective, nocheck")
        return found


NEVER = IntImm("bool", 0)


@dataclass(frozen=True)
class IterMapResult:
    """The indices as sums of iterators, or why they are none: `errors`. (Nothing is ever padded here.)"""

    indices: tuple[IterSumExpr, ...] = ()
    errors: tuple[str, ...] = ()
    padding_predicate: PrimExpr = NEVER


Domains = Mapping[Var, Range]


def detect_iter_map(
    indices: Sequence[Any],
    input_iters: Domains,
    predicate: Any = True,
    check_level: IterMapLevel | str | bool = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> IterMapResult:
    """The indices as sums of iterators that share no piece of a loop. Only loops as they are: no `predicate`."""
    del simplify_trivial_iterators  # iterators of one step are never kept
    if not ops.is_const(literal(predicate), 1):
        return IterMapResult(errors=("conditions on the loops are not taken into account",))
    level = _level(check_level)
    found: list[tuple[list[IterPiece], PrimExpr]] = []
    for index in indices:
        parts = _pieces(literal(index), input_iters)
        if parts is None:
            return IterMapResult(errors=(f"{index} is not a sum of loops and their pieces",))
        found.append(parts)
    if level != IterMapLevel.NoCheck:
        error = _overlap([p for parts, _ in found for p in parts], input_iters, level == IterMapLevel.Bijective)
        if error is not None:
            return IterMapResult(errors=(error,))
    return IterMapResult(tuple(_sum(parts, base, input_iters) for parts, base in found))


def _level(given: IterMapLevel | str | bool) -> IterMapLevel:
    if isinstance(given, bool):
        return IterMapLevel.Bijective if given else IterMapLevel.Surjective
    return IterMapLevel.from_str(given) if isinstance(given, str) else IterMapLevel(given)


def _pieces(index: PrimExpr, domains: Domains) -> tuple[list[IterPiece], PrimExpr] | None:
    """The pieces of an index, slowest first, and what it starts at."""
    starts: dict[Any, Any] = {v: domain.min for v, domain in domains.items()}
    moved: dict[Any, Any] = {v: ops.add(v, m) for v, m in starts.items() if not ops.is_const(m, 0)}
    base = Analyzer().simplify(substitute(index, starts))
    from_zero = {v: Range(literal(0, v.dtype), domain.extent) for v, domain in domains.items()}
    parts = pieces_of(ops.subtract(substitute(index, moved), base), from_zero)
    return None if parts is None else (parts, base)


def _overlap(pieces: Sequence[IterPiece], domains: Domains, whole: bool) -> str | None:
    """Why the pieces do not make up each loop without overlap (`whole`: without gaps, too)."""
    prover = Analyzer()
    for var, domain in domains.items():
        own = [p for p in pieces if p.source is var]
        end: PrimExpr = literal(1, var.dtype)
        while own:
            following = next((p for p in own if prover.can_prove_equal(p.lower, end)), None)
            if following is None and not whole:
                following = next((p for p in own if all(prover.prove(p.lower <= q.lower) for q in own)), None)
                if following is not None and not prover.prove(following.lower >= end):
                    following = None
            if following is None:
                return f"pieces of the loop over {var.name} overlap or leave gaps"
            own.remove(following)
            end = prover.simplify(ops.multiply(following.lower, following.extent))
        if whole and not prover.can_prove_equal(end, domain.extent):
            return f"not all of the loop over {var.name} is used"
    return None


def _sum(parts: Sequence[IterPiece], base: PrimExpr, domains: Domains) -> IterSumExpr:
    """Several pieces become one iterator: what they are fused to."""
    if not parts:
        return IterSumExpr((), base, dtype=base.dtype)
    one = literal(1, base.dtype)
    scale = parts[-1].scale
    if len(parts) == 1:
        return IterSumExpr((_split(parts[0], domains),), base, dtype=base.dtype)
    simplify = Analyzer().simplify
    inner = [_split(p, domains).with_fields(scale=simplify(ops.floordiv(p.scale, scale))) for p in parts]
    total: PrimExpr = one
    for part in parts:
        total = simplify(ops.multiply(total, part.extent))
    fused = IterMark(IterSumExpr(tuple(inner), literal(0, base.dtype), dtype=base.dtype), total)
    return IterSumExpr((IterSplitExpr(fused, one, total, scale, dtype=base.dtype),), base, dtype=base.dtype)


def _split(piece: IterPiece, domains: Domains) -> IterSplitExpr:
    mark = IterMark(piece.source, domains[piece.source].extent)
    return IterSplitExpr(mark, piece.lower, piece.extent, piece.scale, dtype=piece.source.dtype)


def normalize_to_iter_sum(index: Any, input_iters: Domains) -> IterSumExpr:
    """An index as a sum of the pieces that can be found, not fused. Error `iter-map`: it has other terms."""
    found = _pieces(literal(index), input_iters)
    if found is None:
        raise fail("iter-map", f"{index} is not a sum of loops and their pieces")
    return IterSumExpr(tuple(_split(p, input_iters) for p in found[0]), found[1], dtype=found[1].dtype)


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
    if not found.errors:
        return [normalize_iter_map_to_expr(index) for index in found.indices]
    analyzer = Analyzer.over(input_iters)
    return [analyzer.simplify(literal(index)) for index in indices]


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
    if found.errors:
        return []
    below, made = set(sub_iters), []
    for binding in bindings:
        parts, base = _pieces(literal(binding), input_iters) or ([], literal(0))
        inner = [p for p in parts if p.source in below]
        outer = parts[: len(parts) - len(inner)]
        if any(p.source in below for p in outer):
            return []
        made.append([_part(outer, base, input_iters), _part(inner, literal(0, base.dtype), input_iters)])
    true, one = IntImm("bool", 1), literal(1)
    return [*made, [IterMark(true, one), IterMark(true, one)]]


def _part(parts: Sequence[IterPiece], base: PrimExpr, domains: Domains) -> IterMark:
    """Some pieces of a binding as an iterator of steps of one."""
    simplify = Analyzer().simplify
    extent: PrimExpr = literal(1, base.dtype)
    for piece in parts:
        extent = simplify(ops.multiply(extent, piece.extent))
    unit = parts[-1].scale if parts else extent
    scaled = [_split(p, domains).with_fields(scale=simplify(ops.floordiv(p.scale, unit))) for p in parts]
    return IterMark(IterSumExpr(tuple(scaled), simplify(ops.floordiv(base, unit)), dtype=base.dtype), extent)


def inverse_affine_iter_map(iter_map: Sequence[IterSumExpr], outputs: Sequence[Any]) -> dict[Var, PrimExpr]:
    """Each loop in terms of the values of the indices. Error `iter-map`: the map is not one to one."""
    domains: dict[Var, Range] = {}
    indices: list[PrimExpr] = []
    values: list[PrimExpr] = []
    simplify = Analyzer().simplify
    for index, output in zip(iter_map, outputs, strict=True):
        _collect(index, domains)
        scale = index.args[0].scale if len(index.args) == 1 else literal(1, index.base.dtype)
        plain = normalize_iter_map_to_expr(index.with_fields(base=literal(0, index.base.dtype)))
        indices.append(simplify(ops.floordiv(plain, scale)))
        values.append(simplify(ops.floordiv(ops.subtract(literal(output), index.base), scale)))
    found = invert(indices, values, domains)
    if found is None:
        raise fail("iter-map", "the map is not one to one: it has no inverse")
    return found


def _collect(expr: Any, domains: dict[Var, Range]) -> None:
    """The loops that a map is made of, with their ranges."""
    stack = [expr]
    while stack:
        match stack.pop():
            case IterSumExpr(args=args):
                stack += reversed(args)
            case IterSplitExpr(source=mark):
                stack.append(mark)
            case IterMark(source=Var() as var, extent=extent):
                domains[var] = Range(literal(0, var.dtype), extent)
            case IterMark(source=source):
                stack.append(source)
            case _:
                pass
