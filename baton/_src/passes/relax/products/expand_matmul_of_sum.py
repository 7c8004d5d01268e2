"""ExpandMatmulOfSum: turn the product with a sum into a sum of products.

    y = R.matmul(x, R.add(a, b))      ->      y = R.add(R.matmul(x, a), R.matmul(x, b))

The same for a sum that is transposed. A sum of two weights (parameters from `num_input` on, and values computed from
them) stays: it is computed ahead, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.analysis.compile_time import computable_at_compile_time
from baton._src.ops.builders import RELAX
from baton._src.passes.relax.products.product_rules import ProductRules, Rule, matmul, permuted
from baton._src.relax.known_dims import dims_of
from baton._src.relax.nodes import Function
from baton._src.relax.patterns.builders import DFPattern, is_op, wildcard
from baton._src.support.dataclass import dataclass
from baton._src.tir.arith.analyzer import Analyzer

R: Any = RELAX


@dataclass(frozen=True)
class ExpandMatmulOfSum(ProductRules):
    """See the module."""

    def rules(self, function: Function) -> list[Rule]:
        weights = set(computable_at_compile_time(function))
        x, a, b = wildcard(), wildcard(), wildcard()
        plain = is_op("relax.add")(a, b)
        transposed = permuted(plain)

        def expand(expr: Any, found: Mapping[DFPattern, Any]) -> Any:
            left, right = found[a], found[b]
            dtype = left.struct_info.dtype
            if expr.struct_info.dtype != dtype and not dtype.is_float:
                return None  # sums of narrow integers wrap, those of their products in a wider dtype do not
            if (left in weights and right in weights) or not _same_matrices(left, right, transposed in found):
                return None
            if transposed in found:
                axes = found[transposed].attrs.axes
                left, right = (R.permute_dims(v, axes=axes) for v in (left, right))
            return R.add(*(R.matmul(found[x], v, out_dtype=expr.attrs.out_dtype) for v in (left, right)))

        return [(matmul(x, plain), expand), (matmul(x, transposed), expand)]


def _same_matrices(left: Any, right: Any, same_rank: bool) -> bool:
    """Whether no row or column of a summand is broadcast against the other, which its product alone would not be."""
    one, other = dims_of(left), dims_of(right)
    if not one or not other or (len(one) != len(other) and (same_rank or 1 in (len(one), len(other)))):
        return False
    analyzer = Analyzer()
    return all(analyzer.equal(p, q) is True for p, q in zip(one[-2:], other[-2:]))
