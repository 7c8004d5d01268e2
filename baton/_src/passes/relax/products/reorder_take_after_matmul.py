"""ReorderTakeAfterMatmul: take columns of a product instead of multiplying with taken columns.

    R.matmul(x, R.take(w, i, axis=1))      ->      R.take(R.matmul(x, w), i, axis=-1)

The same for a factor that each batch takes from a table, `x[b] @ table[i[b]]`: it becomes a product with the whole
table, from which each batch takes its part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ops.builders import RELAX
from baton._src.passes.relax.products.product_rules import ProductRules, Rule, matmul
from baton._src.relax.known_dims import dims_of
from baton._src.relax.nodes import Function, ShapeExpr, Tuple
from baton._src.relax.patterns.builders import DFPattern, is_op, wildcard
from baton._src.support.dataclass import dataclass
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.operators import multiply

R: Any = RELAX


@dataclass(frozen=True)
class ReorderTakeAfterMatmul(ProductRules):
    """See the module."""

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
    """(batch, rows, k) @ take((n, k, m), (batch,)), the factors of the table side by side in one product."""
    left, right, chosen = dims_of(data), dims_of(table), dims_of(indices)
    if left is None or right is None or chosen is None or Analyzer().equal(left[0], chosen[0]) is not True:
        return None
    count, depth, width = right
    side_by_side = R.reshape(R.permute_dims(table, axes=[1, 0, 2]), ShapeExpr([depth, multiply(count, width)]))
    product = R.matmul(data, side_by_side, out_dtype=expr.attrs.out_dtype)
    by_factor = R.reshape(product, ShapeExpr([left[0], left[1], count, width]))
    return R.einsum(Tuple([R.take(by_factor, indices, axis=2, mode=mode)]), subscripts="ijik->ijk")
