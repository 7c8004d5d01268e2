"""What a region covers when the variables in it run over their ranges: exactly, at least, at most.

    [Range(8 * i, 8 * i + 8)] for i in [0, 4)   ->   [0, 31]

The starts of regions are read as maps of iterators (`iter_affine_map`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import Range
from baton._src.ir.traverse import post_order
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.int_set import IntSet, eval_set
from baton._src.tir.arith.iterators.iter_affine_map import detect_iter_map
from baton._src.tir.arith.iterators.iter_nodes import Domains


def estimate_region_lower_bound(
    region: Sequence[Range], var_dom: Domains, predicate: Any = True
) -> list[IntSet] | None:
    """What is certainly covered of each axis when the variables run over their ranges; None if that cannot be told."""
    return estimate_region_strict_bound(region, var_dom, predicate)


def estimate_region_strict_bound(
    region: Sequence[Range], var_dom: Domains, predicate: Any = True
) -> list[IntSet] | None:
    """What is covered of each axis, exactly; None if that is no box or cannot be told."""
    found = detect_iter_map([r.min for r in region], var_dom, predicate)
    if found.errors:
        return None
    prover = Analyzer()
    sets: list[IntSet] = []
    for index, part in zip(found.indices, region):
        if any(node in var_dom for node in post_order(part.extent)):
            return None
        first, last = index.base, ops.add(index.base, ops.subtract(part.extent, 1))
        for arg in index.args:
            is_rising = prover.prove(ops.greater_equal(arg.scale, 0))
            step = arg.scale if is_rising else ops.negative(arg.scale)
            if not prover.prove(ops.all(step >= 0, step <= part.extent)):  # wider steps than the part leave holes
                return None
            way = ops.multiply(ops.subtract(arg.extent, 1), arg.scale)
            first, last = (first, ops.add(last, way)) if is_rising else (ops.add(first, way), last)
        sets.append(IntSet(prover.simplify(first), prover.simplify(last)))
    return sets


def estimate_region_upper_bound(region: Sequence[Range], var_dom: Domains, predicate: Any = True) -> list[IntSet]:
    """A box that covers all that is touched when the variables run over their ranges, whatever the `predicate`."""
    exact = estimate_region_strict_bound(region, var_dom, predicate)
    if exact is not None:
        return exact
    found: list[IntSet] = []
    for part in region:
        first = eval_set(part.min, dict(var_dom))
        last = eval_set(Analyzer().simplify(ops.subtract(ops.add(part.min, part.extent), 1)), dict(var_dom))
        found.append(IntSet(first.min, last.max))
    return found
