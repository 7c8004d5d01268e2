"""AdjustMatmulOrder: choose between `x @ (a @ b)` and `(x @ a) @ b`: the one that multiplies weights, or else the
cheaper one.

    y = R.matmul(x, R.matmul(a, b))                   ->  y = R.matmul(R.matmul(x, a), b)
    y = R.matmul(x, R.permute_dims(R.matmul(b, a)))   ->  y = R.matmul(R.matmul(x, aT), bT)

Two adjacent weights (parameters from `num_input` on, and values computed from them) are multiplied with each other.
Otherwise multiplications are counted: the order changes if the other one provably takes fewer for all sizes, within the
bounds on shape variables that the function's attributes `tir_var_lower_bound` and `tir_var_upper_bound` ({name:
number}) give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.analysis.compile_time import computable_at_compile_time
from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ops.builders import RELAX
from baton._src.passes.relax.products.product_rules import (
    ProductRules,
    Rule,
    axes_of,
    broadcast,
    matmul,
    permuted,
)
from baton._src.passes.relax.stated_bounds import LOWER, UPPER, stated_bounds
from baton._src.relax.check.variables import defined_symbolic_vars
from baton._src.relax.known_dims import dims_of
from baton._src.relax.nodes import Function
from baton._src.relax.patterns.builders import DFPattern, wildcard
from baton._src.support.dataclass import dataclass
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import literal
from baton._src.tir.operators import add, greater_equal, less, less_equal, multiply
from baton._src.values.dtype import INT64

R: Any = RELAX
Shape = tuple[PrimExpr, ...]


@dataclass(frozen=True)
class AdjustMatmulOrder(ProductRules):
    """See the module."""

    def rules(self, function: Function) -> list[Rule]:
        order = _Order(set(computable_at_compile_time(function)), _sizes(function))
        a, b, c = wildcard(), wildcard(), wildcard()

        def rule(pattern: DFPattern, inner: DFPattern, *, stands_left: bool, is_transposed: bool = False) -> Rule:
            def rewrite(expr: GraphExpr, found: Mapping[DFPattern, Any]) -> Any:
                factors = [found[a], found[b], found[c]]
                if len({v.struct_info.dtype for v in (*factors, found[inner], expr)}) > 1:
                    return None
                if is_transposed:
                    return order.better_of_transposed(factors, axes_of(found[inner]), stands_left=stands_left)
                return order.better(*factors, stands_left=stands_left)

            return pattern, rewrite

        left, right = matmul(a, b), matmul(b, c)
        left_transposed, right_transposed = permuted(matmul(b, a)), permuted(matmul(c, b))
        return [
            rule(matmul(left, c), left, stands_left=True),
            rule(matmul(a, right), right, stands_left=False),
            rule(matmul(left_transposed, c), left_transposed, stands_left=True, is_transposed=True),
            rule(matmul(a, right_transposed), right_transposed, stands_left=False, is_transposed=True),
        ]


def _transposed(expr: GraphExpr, axes: list[int] | None) -> tuple[Any, Shape] | None:
    """The transpose of a factor, and its dims, where the product's transpose swaps rows and columns."""
    shape = dims_of(expr)
    if shape is None or axes is None or len(shape) != len(axes):
        return None
    rank = len(shape)
    swap = [*range(rank - 2), rank - 1, rank - 2]
    if rank < 2 or axes != swap:
        return None
    return R.permute_dims(expr, axes=None if rank == 2 else swap), (*shape[:-2], shape[-1], shape[-2])


def _sizes(function: Function) -> Analyzer:
    """The known bounds of the function's shape variables."""
    analyzer = Analyzer()
    named = {v.name: v for v in defined_symbolic_vars(function)}
    for var in named.values():
        analyzer.assume(greater_equal(var, 1))
    for attribute, holds in ((LOWER, greater_equal), (UPPER, less_equal)):
        for name, bound in stated_bounds(function, attribute).items():
            if name in named:
                analyzer.assume(holds(named[name], bound))
    return analyzer


class _Order:
    """Decides for one function."""

    def __init__(self, weights: set[Any], analyzer: Analyzer) -> None:
        self.weights = weights
        self.analyzer = analyzer

    def better(self, a: Any, b: Any, c: Any, *, stands_left: bool) -> Any:
        """The product in the other order, if that is better; otherwise None."""
        ahead = [v in self.weights for v in (a, b, c)]
        if all(ahead):
            return None
        shapes = [dims_of(v) for v in (a, b, c)]
        if ahead[1] and (ahead[0] or ahead[2]) and _associate(shapes):
            return None if ahead[0] == stands_left else _product((a, b, c), left=ahead[0])
        return self.cheaper((a, b, c), shapes, stands_left=stands_left)

    def better_of_transposed(self, factors: list[Any], axes: list[int] | None, *, stands_left: bool) -> Any:
        """Like `better`, for an inner product that is transposed by `axes`: its factors are transposed instead."""
        if all(v in self.weights for v in factors):
            return None
        shapes = [dims_of(v) for v in factors]
        for place in (0, 1) if stands_left else (1, 2):
            made = _transposed(factors[place], axes)
            if made is None:
                return None
            factors[place], shapes[place] = made
        return self.cheaper(factors, shapes, stands_left=stands_left)

    def cheaper(self, factors: Sequence[Any], shapes: Sequence[Shape | None], *, stands_left: bool) -> Any:
        """The product in the other order, if that takes fewer multiplications for all sizes."""
        costs = self._costs(*shapes) if _associate(shapes) else None
        if costs is None:
            return None
        now, then = costs if stands_left else reversed(costs)
        return _product(factors, left=not stands_left) if self.analyzer.prove(less(then, now)) else None

    def _costs(self, a: Any, b: Any, c: Any) -> tuple[PrimExpr, PrimExpr] | None:
        """Multiplications of (a @ b) @ c and of a @ (b @ c); None where batch dims are not known to fit."""
        rows, inner = (literal(1, INT64), a[0]) if len(a) == 1 else a[-2:]
        outer, columns = (c[0], literal(1, INT64)) if len(c) == 1 else c[-2:]
        batch = [v[:-2] for v in (a, b, c)]
        left, right = self._together(batch[:2]), self._together(batch[1:])
        whole = self._together(batch)
        if left is None or right is None or whole is None:
            return None
        left_first = add(_count(*left, rows, inner, outer), _count(*whole, rows, outer, columns))
        right_first = add(_count(*right, inner, outer, columns), _count(*whole, rows, inner, columns))
        return left_first, right_first

    def _together(self, batches: Sequence[Sequence[PrimExpr]]) -> Sequence[PrimExpr] | None:
        found: Sequence[PrimExpr] | None = ()
        for batch in batches:
            found = None if found is None else broadcast(found, batch, self.analyzer)
        return found


def _associate(shapes: Sequence[Shape | None]) -> bool:
    """Whether both orders mean the same: a vector may be at either end of a chain of matrices, but not inside."""
    ranks = [0 if s is None else len(s) for s in shapes]
    return 0 not in ranks and ranks[1] > 1 and (1 not in ranks or max(ranks) == 2)


def _count(*dims: PrimExpr) -> PrimExpr:
    total: PrimExpr = literal(1, INT64)
    for dim in dims:
        total = multiply(total, dim)
    return total


def _product(factors: Sequence[Any], *, left: bool) -> Any:
    a, b, c = factors
    return R.matmul(R.matmul(a, b), c) if left else R.matmul(a, R.matmul(b, c))
