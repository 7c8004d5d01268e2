"""Which iterations of a computation read a given element: `indices(axes) == place`, solved for the axes.

A[h + p, w + q], place (a, b), over h, w, p < 3, q < 3   ->   h = a - p and w = b - q, if within their domains
A[i // 8, i % 8], place (a, b)                           ->   i = a * 8 + b
A[B[i]], place (a,)                                      ->   no axis; the condition B[i] == a
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order, substitute
from baton._src.support.dataclass import dataclass
from baton._src.support.disjoint_sets import overlapping
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.iterators.iter_map import invert
from baton._src.tir.arith.systems.linear import detect_linear_equation
from baton._src.tir.expr import IntImm, IterVar, Var


@dataclass
class Solution:
    """Axes that follow from the place and the other axes, and the conditions that remain."""

    values: dict[Var, PrimExpr] = field(default_factory=dict)
    conditions: list[PrimExpr] = field(default_factory=list)

    def put(self, var: Var, value: PrimExpr) -> None:
        """One more axis is known; those known before may have been told by it."""
        self.values = {known: substitute(old, {var: value}) for known, old in self.values.items()}
        self.values[var] = value


def solve(
    indices: Sequence[PrimExpr], place: Sequence[Var], shape: Sequence[PrimExpr], axes: Sequence[IterVar]
) -> Solution:
    """Solve for as many axes as can be told; axes in the values are those that cannot."""
    domains = {axis.var: axis.dom for axis in axes if axis.dom is not None}
    found = Solution()
    for group in _sharing_axes(indices, domains):
        listed = [indices[number] for number in group]
        wanted = [place[number] for number in group]
        if not _inverted(found, listed, wanted, domains):
            for index, one in zip(listed, wanted):
                _one_equation(found, index, one, domains)
    _require_domains(found, domains)
    analyzer = Analyzer.over({var: domain for var, domain in domains.items() if var not in found.values})
    for var, dim in zip(place, shape):
        analyzer.bind(var, Range(ops.const(0, dim.dtype), dim))
    found.values = {var: analyzer.simplify(value) for var, value in found.values.items()}
    told = [analyzer.simplify(substitute(condition, found.values)) for condition in found.conditions]
    found.conditions = [one for one in told if not (isinstance(one, IntImm) and one.value)]
    return found


def _sharing_axes(indices: Sequence[PrimExpr], domains: Iterable[Var]) -> list[list[int]]:
    """The numbers of the indices, those together that have axes in common."""
    known = set(domains)
    return overlapping([{n for n in post_order(index) if isinstance(n, Var)} & known for index in indices])


def _inverted(found: Solution, indices: Sequence[PrimExpr], wanted: Sequence[Var], domains: dict[Var, Range]) -> bool:
    """Solve indices that are one to one; places that no iteration reads do not satisfy them."""
    used = {n: domains[n] for index in indices for n in post_order(index) if isinstance(n, Var) and n in domains}
    if not used or any(not ops.is_const(d.min, 0) for d in used.values()):
        return False
    back = invert(indices, wanted, used)
    if back is None:
        return False
    for var, value in back.items():
        found.put(var, ops.cast(var.dtype, value))
    found.conditions += [ops.equal(one, index) for one, index in zip(wanted, indices)]
    return True


def _one_equation(found: Solution, index: PrimExpr, wanted: Var, domains: dict[Var, Range]) -> None:
    """Solve `index == wanted` for the axis with the largest domain that it is linear in, or make it a condition."""
    rest = substitute(index, found.values)
    difference = ops.subtract(wanted, rest)
    free = [v for v in domains if v not in found.values]
    parts = detect_linear_equation(difference, free)
    usable = [(v, c.value) for v, c in zip(free, parts) if isinstance(c, IntImm) and c.value]
    if not usable:
        found.conditions.append(ops.equal(wanted, rest))
        return
    var, weight = max(usable, key=lambda pair: _size(domains[pair[0]]))
    others = ops.subtract(difference, ops.multiply(var, weight))  # wanted - rest = weight * var + others = 0
    over = Analyzer().simplify(others if weight < 0 else ops.negative(others))
    if abs(weight) > 1:
        found.conditions.append(ops.equal(ops.floormod(over, abs(weight)), 0))
    found.put(var, ops.cast(var.dtype, ops.floordiv(over, abs(weight))))


def _size(domain: Range) -> float:
    return domain.extent.value if isinstance(domain.extent, IntImm) else float("inf")


def _require_domains(found: Solution, domains: dict[Var, Range]) -> None:
    for var in found.values:
        first = domains[var].min
        found.conditions += [ops.greater_equal(var, first), ops.less(var, ops.add(first, domains[var].extent))]
