"""ReorderPermuteDimsAfterConcat: transpose a concatenation once instead of each of its operands.

R.concat((R.permute_dims(a), R.permute_dims(b)), axis=1)      ->      R.permute_dims(R.concat((a, b), axis=0))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ops.builders import RELAX
from baton._src.passes.relax.products.product_rules import ProductRules, Rule, axes_of, permuted
from baton._src.relax.nodes import Function, Tuple
from baton._src.relax.patterns.builders import DFPattern, is_op, is_tuple, wildcard
from baton._src.support.dataclass import dataclass

R: Any = RELAX


@dataclass(frozen=True)
class ReorderPermuteDimsAfterConcat(ProductRules):
    """See the module."""

    most: int = 11
    """How many operands a concatenation may have to be looked at."""

    def rules(self, function: Function) -> list[Rule]:
        return [self._rule(count) for count in range(2, self.most + 1)]

    def _rule(self, count: int) -> Rule:
        inputs = [wildcard() for _ in range(count)]
        transposed = [permuted(x) for x in inputs]
        pattern = is_op("relax.concat")(is_tuple(transposed))

        def reorder(expr: Any, found: Mapping[DFPattern, Any]) -> Any:
            first = found[transposed[0]]
            order = axes_of(first)
            if order is None or any(axes_of(found[p]) != order for p in transposed):
                return None
            axis = expr.attrs.axis or 0
            joined = R.concat(Tuple([found[x] for x in inputs]), axis=order[axis % len(order)])
            return R.permute_dims(joined, axes=first.attrs.axes)

        return pattern, reorder
