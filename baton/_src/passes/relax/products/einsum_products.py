"""EinsumProducts: sums over several axes of two tensors become products of matrices.

    R.einsum((x, w), "ibnd,hnd->ibh")
    ->
    R.matmul(R.reshape(x, (i, b, n * d)), R.reshape(R.permute_dims(w, (1, 2, 0)), (n * d, h)))

Only where one operand has the letters that it gives to the result, in order, and then those that are summed: it and the
result are seen in another shape, which costs nothing. The other one may be transposed, since it is mostly a weight,
which is then packed as that of any product. Products with letters in both operands and the result are left to the rules
of kernels, which read them where they lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from baton._src.ir.expr import GraphExpr
from baton._src.ops.builders import RELAX
from baton._src.ops.linalg.einsum import parse_equation
from baton._src.passes.relax.products.product_rules import ProductRules, Rule
from baton._src.relax.known_dims import dims_of
from baton._src.relax.nodes import Function, ShapeExpr
from baton._src.relax.patterns.builders import DFPattern, is_op, is_tuple, wildcard
from baton._src.support.dataclass import dataclass
from baton._src.tir.arith.analyzer import Analyzer

R: Any = RELAX


class _Letters(NamedTuple):
    """Of a product: `rows` of the one operand, `columns` of the other one, and those `summed`."""

    rows: str
    columns: str
    summed: str


@dataclass(frozen=True)
class EinsumProducts(ProductRules):
    """See the module."""

    def rules(self, function: Function) -> list[Rule]:
        operands = (wildcard(), wildcard())
        pattern = is_op("relax.einsum")(is_tuple(operands))

        def rewrite(expr: Any, found: Mapping[DFPattern, Any]) -> Any:
            letters, result = parse_equation(expr.attrs.subscripts)
            values = [found[p] for p in operands]
            if len(letters) != 2 or not expr.struct_info.dtype.is_float:
                return None
            for rows, columns in ((0, 1), (1, 0)):
                roles = _roles(letters[rows], letters[columns], result)
                if roles is not None:
                    return _product(roles, letters[columns], values[rows], values[columns])
            return None

        return [(pattern, rewrite)]


def _roles(left: str, right: str, result: str) -> _Letters | None:
    """What the letters of two operands are, if the first one is rows and then what is summed."""
    summed = "".join(c for c in left if c not in result)
    rows, columns = left[: len(left) - len(summed)], "".join(c for c in result if c not in left)
    plain = "." not in left + right and len(set(left)) == len(left) and len(set(right)) == len(right)
    fits = left == rows + summed and result == rows + columns and set(right) == set(columns + summed)
    return _Letters(rows, columns, summed) if plain and fits and rows and columns and summed else None


def _product(letters: _Letters, order: str, left: Any, right: Any) -> Any:
    """The product of `left` and of `right`, whose letters are in this order; None where sizes may be repeated."""
    of_left, of_right = dims_of(left), dims_of(right)
    if of_left is None or of_right is None:
        return None
    sizes = dict(zip(order, of_right))
    rows, shared = of_left[: len(letters.rows)], of_left[len(letters.rows) :]
    analyzer = Analyzer()
    if not all(analyzer.equal(a, sizes[c]) for a, c in zip(shared, letters.summed)):
        return None
    columns = [sizes[c] for c in letters.columns]
    if (wanted := letters.summed + letters.columns) != order:
        right = R.permute_dims(right, axes=[order.index(c) for c in wanted])
    found = R.matmul(_seen_as(left, (*rows, _count(shared))), _seen_as(right, (_count(shared), _count(columns))))
    return _seen_as(found, (*rows, *columns))


def _count(dims: Sequence[Any]) -> Any:
    return dims[0] if len(dims) == 1 else prod(dims[1:], start=dims[0])


def _seen_as(value: GraphExpr, dims: Sequence[Any]) -> Any:
    return R.reshape(value, ShapeExpr(list(dims)))
