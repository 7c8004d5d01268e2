"""The values that axes of a block take in the loops around it: whether all there are, and whether none twice.

vi = i * 4 + j                  for i in 4, j in 4: each value of [0, 16) once
vi = i * 4 + j                  for i in 4, j in 6: each, some of them twice (tiles with what lies around them)
vi = i * 2                      every second one
vi, vj = f // 5, f % 5          where f < 20: each pair of [0, 4) and [0, 5) once

Values are read as maps of iterators; what is none is computed for all iterations, if those are few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.analysis.certain_stores import dense
from baton._src.tir.analysis.iteration_points import Points, Unknown
from baton._src.tir.analysis.loop_accesses import needed_loops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.iterators.iter_affine_map import detect_iter_map, normalize_to_iter_sum
from baton._src.tir.arith.iterators.iter_nodes import IterMapLevel, IterSumExpr
from baton._src.tir.expr import IntImm
from baton._src.values.dtype import INT64

Loops = Mapping[tir.Var, Range]
"""Around a block, outermost first."""


def take_all(
    values: Sequence[PrimExpr], domains: Sequence[Range], loops: Loops, conditions: Sequence[PrimExpr]
) -> bool:
    """Whether the values are each tuple of their domains at least once. `conditions` only keep them in there."""
    if len(values) == 1 and _takes_all_by_itself(values[0], domains[0], loops):
        return True
    used = needed_loops(loops, (*values, *conditions))
    found = detect_iter_map(values, used, ops.all(True, *conditions))
    if not found.errors and all(_is_whole(index, domain) for index, domain in zip(found.indices, domains)):
        return True
    rows = _rows(values, used, conditions)
    sizes = [domain.extent.value for domain in domains if isinstance(domain.extent, IntImm)]
    starts = [domain.min.value for domain in domains if isinstance(domain.min, IntImm)]
    if rows is None or not len(sizes) == len(starts) == len(values):
        return False
    inside = ((rows >= starts) & (rows < np.add(starts, sizes))).all(axis=1)
    return len(np.unique(rows[inside], axis=0)) == int(np.prod(sizes, dtype=object))


def _takes_all_by_itself(value: PrimExpr, domain: Range, loops: Loops) -> bool:
    """One axis: the steps of inner loops leave no holes between those of outer ones; they may overlap."""
    own = loops.get(value) if isinstance(value, tir.Var) else None
    if own is not None and _same(own.min, domain.min) and _same(own.extent, domain.extent):
        return True
    index = normalize_to_iter_sum(value, loops)
    analyzer = Analyzer.over(loops)
    over = dense(index, analyzer) if len({arg.source for arg in index.args}) == len(index.args) else None
    if over is None:
        return False
    ends = (ops.add(over.min, over.extent), ops.add(domain.min, domain.extent))
    return _is_ordered(over.min, domain.min, analyzer) and _is_ordered(ends[1], ends[0], analyzer)


def _is_whole(index: IterSumExpr, domain: Range) -> bool:
    extent: PrimExpr = index.args[0].extent if index.args else ops.const(1, index.dtype)
    is_plain = all(ops.is_const(arg.scale, 1) for arg in index.args)
    return is_plain and _same(index.base, domain.min) and _same(extent, domain.extent)


def are_distinct(values: Sequence[PrimExpr], loops: Loops, conditions: Sequence[PrimExpr]) -> bool:
    """Whether no two iterations of the loops (whatever stands around them) give the same tuple of values."""
    several = {var: domain for var, domain in loops.items() if not ops.is_const(domain.extent, 1)}
    if not several.keys() <= set(post_order(list(values))):
        return False
    for told in ((), conditions):  # without conditions it is true of more
        if not detect_iter_map(values, loops, ops.all(True, *told), IterMapLevel.Bijective).errors:
            return True
    rows = _rows(values, loops, conditions)
    return rows is not None and len(np.unique(rows, axis=0)) == len(rows)


def _rows(values: Sequence[PrimExpr], loops: Loops, conditions: Sequence[PrimExpr]) -> Any:
    """The values in all iterations, one row each; None if those are too many, or not known."""
    points = Points({})
    try:
        for var, domain in loops.items():
            points.loop(var, domain.min, domain.extent)
        for condition in conditions:
            points.keep(points.value(condition) != 0)
        columns = [np.broadcast_to(points.value(value), points.count) for value in values]
    except Unknown:
        return None
    return np.stack(columns, axis=1) if points.complete else None


def _same(a: PrimExpr, b: PrimExpr) -> bool:
    return Analyzer().can_prove_equal(ops.cast(INT64, a), ops.cast(INT64, b))


def _is_ordered(a: PrimExpr, b: PrimExpr, analyzer: Analyzer) -> bool:
    return analyzer.prove(ops.less_equal(ops.cast(INT64, a), ops.cast(INT64, b)))
