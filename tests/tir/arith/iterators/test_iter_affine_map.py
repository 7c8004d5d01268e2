"""Maps of iterators as scripts ask for them: taken apart, put together, divided, inverted, and regions covered."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from baton._src.ir.expr import PrimExpr, Range
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import operators as ops
from baton._src.tir.arith import region_bounds
from baton._src.tir.arith.iterators import iter_affine_map as maps
from baton._src.tir.arith.iterators.iter_affine_map import IterMapLevel, detect_iter_map, normalize_iter_map_to_expr
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.expr import Var, literal
from baton._src.tir.text.printer import node_text

X, Y, F = Var("x", "int32"), Var("y", "int32"), Var("f", "int32")
GRID = {X: Range(literal(0), literal(3)), Y: Range(literal(0), literal(4))}
FLAT = {F: Range(literal(0), literal(24))}


def test_a_fused_index_is_one_iterator() -> None:
    """Guards the mark, its extent, scale and base, and the way back to an expression."""
    (index,) = detect_iter_map([X * 8 + Y * 2 + 5], GRID).indices
    assert [node_text(e) for e in (index.base, index.args[0].scale, index.args[0].source.extent)] == ["5", "2", "12"]
    assert node_text(normalize_iter_map_to_expr(index)) == node_text(ops.convert(X * 8 + Y * 2 + 5))


@pytest.mark.parametrize(
    ("indices", "domains", "level"),
    [
        ([F // 6, F % 6], FLAT, IterMapLevel.Bijective),
        ([F // 4 % 3, F // 12, F % 4], FLAT, IterMapLevel.Bijective),
        ([F // 12, F % 3], FLAT, IterMapLevel.Surjective),
        ([Y * 3 + X], GRID, IterMapLevel.Bijective),
        ([(X * 4 + Y) // 6, (X * 4 + Y) % 6], GRID, IterMapLevel.Bijective),
        ([F % 4 * 6 + F // 4], FLAT, IterMapLevel.Bijective),
        ([Y], {Y: Range(literal(2), literal(4))}, IterMapLevel.Bijective),
    ],
)
def test_maps_are_the_same_functions(indices: list[PrimExpr], domains: dict[Var, Range], level: IterMapLevel) -> None:
    """Guards that what is detected has the value of the index everywhere, and that bijective ones are inverted."""
    found = detect_iter_map(indices, domains, check_level=level)
    assert not found.errors
    back = [normalize_iter_map_to_expr(i) for i in found.indices]
    outputs = [Var(f"o{n}", "int32") for n in range(len(indices))]
    inverse = maps.inverse_affine_iter_map(found.indices, outputs) if level == IterMapLevel.Bijective else {}
    for point in itertools.product(*(range(evaluate(d.extent, {})) for d in domains.values())):
        moved: Any = {v: p + evaluate(domains[v].min, {}) for v, p in zip(domains, point)}
        values = [evaluate(i, moved) for i in indices]
        assert [evaluate(e, moved) for e in back] == values
        given = dict(zip(outputs, values))
        assert {v: evaluate(e, given) for v, e in inverse.items()} == {v: moved[v] for v in inverse}


def test_loops_of_one_iteration_are_numbers_in_quotients() -> None:
    """Guards (x + 5) // 4 and (x + 5) % 4 of x < 1: what is divided has no pieces, which ended in a KeyError."""
    one = {X: Range(literal(0), literal(1))}
    found = detect_iter_map([(X + 5) // 4, (X + 5) % 4], one)
    assert not found.errors
    assert [node_text(normalize_iter_map_to_expr(i)) for i in found.indices] == ["1", "1"]


def test_what_is_no_such_map_says_why() -> None:
    """Guards overlaps, gaps, other terms and conditions."""
    assert detect_iter_map([X, X], GRID).errors == ("pieces of the loop over x overlap or leave gaps",)
    assert detect_iter_map([X], GRID, check_level="bijective").errors == ("not all of the loop over y is used",)
    assert "not a sum of loops" in detect_iter_map([X * Y], GRID).errors[0]
    assert "no part of the indices" in detect_iter_map([X, Y], GRID, X * 4 + Y < 10).errors[0]
    assert "no bound" in detect_iter_map([X, Y], GRID, ops.not_equal(X, Y)).errors[0]
    assert detect_iter_map([X, X], GRID, check_level="nocheck").indices
    with pytest.raises(DiagnosticError, match="not one to one"):
        maps.inverse_affine_iter_map(detect_iter_map([F % 6], FLAT).indices, [X])
    with pytest.raises(ValueError, match="not a level"):
        detect_iter_map([X], GRID, check_level="nearly")


def test_conditions_bound_iterators() -> None:
    """Guards bounds of one loop, of sums, from both sides, and sums of which a bounded one is a part."""
    bounded = ops.logical_and(X * 4 + Y < 10, X * 4 + Y >= 3)
    cases = [
        (X, X < 2, 2, 0),
        (X * 4 + Y, X * 4 + Y < 10, 10, 0),
        (X * 4 + Y, bounded, 7, 3),
        (F * 7 + X * 4 + Y - 3, bounded, 168, 0),
    ]
    for index, condition, extent, base in cases:
        (found,) = detect_iter_map([index], {**GRID, **FLAT}, condition).indices
        assert (evaluate(found.args[0].extent, {}), evaluate(found.base, {})) == (extent, base)
    inverse = maps.inverse_affine_iter_map(detect_iter_map([X * 4 + Y], GRID, bounded).indices, [F])
    assert node_text(inverse[X]) == "f // 4"
    _, conditions = maps.subspace_divide([X * 4 + Y], GRID, [Y], X < 2)
    assert [node_text(m.source) for m in conditions] == ["x < 2", "T.bool(True)"]


def test_spaces_divide() -> None:
    """Guards outer and inner parts, and that inner loops must be the faster ones."""
    ((outer, inner), _) = maps.subspace_divide([X * 4 + Y], GRID, [Y])
    assert [node_text(normalize_iter_map_to_expr(m.source)) for m in (outer, inner)] == ["x", "y"]
    assert [evaluate(m.extent, {}) for m in (outer, inner)] == [3, 4]
    assert maps.subspace_divide([X * 4 + Y], GRID, [X]) == []


BINDINGS = [X * 4 + Y + 2, X * 12 + Y * 3 - 1, (X * 8 + Y * 2) // 2, (X * 8 + Y * 2 - 3) % 2 + X]


@pytest.mark.parametrize("inner", [[], [Y], [X, Y]])
@pytest.mark.parametrize("binding", BINDINGS)
def test_what_is_divided_is_the_binding(binding: PrimExpr, inner: list[Var]) -> None:
    """Guards outer * extent + inner: starts were multiplied, steps lost, and what only simplifies to a map raised."""
    divided = maps.subspace_divide([binding], GRID, inner)
    if detect_iter_map([binding], GRID).errors or not divided:
        return
    outer, within = (normalize_iter_map_to_expr(mark.source) for mark in divided[0])
    for x, y in itertools.product(range(3), range(4)):
        found = evaluate(outer * divided[0][1].extent + within, {X: x, Y: y})
        assert found == evaluate(binding, {X: x, Y: y})


def test_loops_of_one_iteration_are_numbers() -> None:
    """Guards bases, in which they stayed as variables."""
    once = {X: Range(literal(1), literal(1)), Y: Range(literal(0), literal(4))}
    index, other = detect_iter_map([X // 2 * 4 + X % 3, Y], once).indices
    assert node_text(index.base) == "1"
    assert node_text(other.base) == "0"


def test_simplified_as_maps() -> None:
    """Guards indices that fall apart again, and those that are no maps."""
    assert [node_text(e) for e in maps.iter_map_simplify([(X * 4 + Y) // 4, (X * 4 + Y) % 4], GRID)] == ["x", "y"]
    assert node_text(maps.iter_map_simplify([X * X + 0], GRID)[0]) == "x * x"


def test_regions_that_loops_cover() -> None:
    """Guards exact boxes, boxes with holes (none below, one above), and moved starts."""
    window = [Range(ops.convert(F * 2 + 1), literal(4))]
    holes = [Range(ops.convert(F * 8), literal(4))]
    (box,) = region_bounds.estimate_region_strict_bound(window, FLAT) or ()
    assert (evaluate(box.min_value, {}), evaluate(box.max_value, {})) == (1, 50)
    assert region_bounds.estimate_region_lower_bound(holes, FLAT) is None
    (box,) = region_bounds.estimate_region_upper_bound(holes, FLAT)
    assert (evaluate(box.min_value, {}), evaluate(box.max_value, {})) == (0, 187)


def test_regions_that_fall_or_grow() -> None:
    """Guards loops that count down, whose first place was taken to be the least, and parts as long as a loop says."""
    falling = [Range(ops.convert(30 - F), literal(1))]
    (box,) = region_bounds.estimate_region_strict_bound(falling, FLAT) or ()
    assert (evaluate(box.min_value, {}), evaluate(box.max_value, {})) == (7, 30)
    growing = [Range(ops.convert(F * 2), ops.convert(F + 2))]
    assert region_bounds.estimate_region_strict_bound(growing, FLAT) is None
    (box,) = region_bounds.estimate_region_upper_bound(growing, FLAT)
    assert (evaluate(box.min_value, {}), evaluate(box.max_value, {})) == (0, 70)


def test_maps_are_made_of_numbers_of_python() -> None:
    """Guards constructors that scripts call with integers: they become literals of the iterator's dtype."""
    wide = Var("w", "int64")
    mark = maps.IterMark(wide, 16)
    index = maps.IterSumExpr([maps.IterSplitExpr(mark, 1, 16, 4)], 3)
    assert {str(e.dtype) for e in (mark.extent, index.base, index.args[0].scale, index)} == {"int64"}
    assert node_text(normalize_iter_map_to_expr(index)) == node_text(ops.convert(wide * 4 + 3))
