"""Rewrites of matrix products that keep their values, up to rounding.

ExpandMatmulOfSum        x @ (a + b)                ->  x @ a + x @ b        unless both a and b are weights
ReorderTakeAfterMatmul   x @ take(w, i, axis=1)     ->  take(x @ w, i, axis=-1)
ReorderPermuteDimsAfterConcat   concat((aT, bT), 1) ->  permute_dims(concat((a, b), 0))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from baton._src.analysis.compile_time import computable_at_compile_time
from baton._src.ops.builders import RELAX
from baton._src.passes.relax.products.product_rules import ProductRules, Rule, axes_of, dims_of, matmul, permuted
from baton._src.relax.nodes import Function, ShapeExpr, Tuple
from baton._src.relax.patterns.builders import DFPattern, is_op, is_tuple, wildcard
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.operators import multiply

R: Any = RELAX


@dataclass(frozen=True)
class ExpandMatmulOfSum(ProductRules):
    """x @ (a + b) as x @ a + x @ b; a transposed sum, too.

    A sum of two weights (parameters from `num_input` on, and what follows from them) stays: it is made once, ahead.
    """

    def rules(self, function: Function) -> list[Rule]:
        weights = set(computable_at_compile_time(function))
        x, a, b = wildcard(), wildcard(), wildcard()
        plain = is_op("relax.add")(a, b)
        turned = permuted(plain)

        def expand(expr: Any, found: Mapping[DFPattern, Any]) -> Any:
            left, right = found[a], found[b]
            if (left in weights and right in weights) or not _same_matrices(left, right, turned in found):
                return None
            if turned in found:
                axes = found[turned].attrs.axes
                left, right = (R.permute_dims(v, axes=axes) for v in (left, right))
            return R.add(*(R.matmul(found[x], v, out_dtype=expr.attrs.out_dtype) for v in (left, right)))

        return [(matmul(x, plain), expand), (matmul(x, turned), expand)]


def _same_matrices(left: Any, right: Any, same_rank: bool) -> bool:
    """Whether no row or column of one summand is spread over the other, as no product of it alone would be."""
    one, other = dims_of(left), dims_of(right)
    if not one or not other or (len(one) != len(other) and (same_rank or 1 in (len(one), len(other)))):
        return False
    analyzer = Analyzer()
    return all(analyzer.equal(p, q) is True for p, q in zip(one[-2:], other[-2:]))


@dataclass(frozen=True)
class ReorderTakeAfterMatmul(ProductRules):
    """Columns of a product instead of a product of columns.

    So, too, for the factor of each batch taken from a table, `x[b] @ table[i[b]]`: the product with the whole table,
    and of it what each batch asked for.
    """

    def rules(self, function: Function) -> list[Rule]:
        x, w, i = wildcard(), wildcard(), wildcard()
        take = is_op("relax.take")(w, i)

        def reorder(expr: Any, found: Mapping[DFPattern, Any]) -> Any:
            data, table, indices = found[x], found[w], found[i]
            ranks = [v.struct_info.ndim for v in (data, table, indices, expr)]
            axis, mode = found[take].attrs.axis, found[take].attrs.mode
            if axis is None or -1 in ranks or ranks[2] != 1 or found[take].attrs.batch_dims:
                return None
            axis %= ranks[1]
            if axis == ranks[1] - 1 and ranks[1] > 1:
                product = R.matmul(data, table, out_dtype=expr.attrs.out_dtype)
                return R.take(product, indices, axis=ranks[3] - 1, mode=mode)
            return _from_whole_table(expr, data, table, indices, mode) if axis == 0 and ranks[:2] == [3, 3] else None

        return [(matmul(x, take), reorder)]


def _from_whole_table(expr: Any, data: Any, table: Any, indices: Any, mode: str) -> Any:
    """(batch, rows, k) @ take((n, k, m), (batch,)), all factors beside one another in one product."""
    left, right, chosen = dims_of(data), dims_of(table), dims_of(indices)
    if left is None or right is None or chosen is None or Analyzer().equal(left[0], chosen[0]) is not True:
        return None
    count, depth, width = right
    beside = R.reshape(R.permute_dims(table, axes=[1, 0, 2]), ShapeExpr([depth, multiply(count, width)]))
    product = R.matmul(data, beside, out_dtype=expr.attrs.out_dtype)
    by_factor = R.reshape(product, ShapeExpr([left[0], left[1], count, width]))
    return R.einsum(Tuple([R.take(by_factor, indices, axis=2, mode=mode)]), subscripts="ijik->ijk")


@dataclass(frozen=True)
class ReorderPermuteDimsAfterConcat(ProductRules):
    """One transpose of a concatenation instead of several transposes."""

    most: int = 11
    """How many operands a concatenation may have to be looked at."""

    def rules(self, function: Function) -> list[Rule]:
        return [self._rule(count) for count in range(2, self.most + 1)]

    def _rule(self, count: int) -> Rule:
        inputs = [wildcard() for _ in range(count)]
        turned = [permuted(x) for x in inputs]
        pattern = is_op("relax.concat")(is_tuple(turned))

        def reorder(expr: Any, found: Mapping[DFPattern, Any]) -> Any:
            first = found[turned[0]]
            order = axes_of(first)
            if order is None or any(axes_of(found[p]) != order for p in turned):
                return None
            axis = expr.attrs.axis or 0
            joined = R.concat(Tuple([found[x] for x in inputs]), axis=order[axis % len(order)])
            return R.permute_dims(joined, axes=first.attrs.axes)

        return pattern, reorder
