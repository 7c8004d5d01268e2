"""Rewrites of matrix products that keep their values, up to rounding.

    AdjustMatmulOrder        x @ (a @ b)                ->  (x @ a) @ b          where that costs less, and back
    ExpandMatmulOfSum        x @ (a + b)                ->  x @ a + x @ b        where a or b is a product
    ReorderTakeAfterMatmul   x @ take(w, i, axis=1)     ->  take(x @ w, i, axis=-1)
    ReorderPermuteDimsAfterConcat   concat((aT, bT), 1) ->  permute_dims(concat((a, b), 0))

Costs count multiplications; dims that are not numbers count as many (a weight's dims are numbers, a batch is not).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAX
from baton._src.passes.relax.rewrite_patterns import Rewriter, rewrite_calls
from baton._src.relax.nodes import Function, ShapeExpr, Tuple
from baton._src.relax.patterns.builders import DFPattern, is_op, is_tuple, wildcard
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.tir.expr import IntImm
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

R: Any = RELAX
Rule = tuple[DFPattern, Rewriter]
_UNKNOWN_DIM = 1 << 10


@dataclass(frozen=True)
class _Rewriting(FunctionPass):
    """What these passes have in common: rules for the calls of a function."""

    opt_level = 1
    function_class = Function

    def rules(self) -> list[Rule]:
        """The patterns and what replaces them."""
        raise NotImplementedError

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return rewrite_calls(self.rules(), function, module)


def _matmul(a: Any, b: Any) -> DFPattern:
    return is_op("relax.matmul")(a, b)


def dims(expr: Any) -> list[int] | None:
    """The dims of a tensor as numbers for comparing costs; None if its rank is unknown."""
    info = expr.struct_info_
    if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
        return None
    return [d.value if isinstance(d, IntImm) else _UNKNOWN_DIM for d in info.shape.values]


def _cost(a: list[int], b: list[int]) -> tuple[int, list[int]]:
    """Multiplications of a @ b (ranks at least 2), and the dims of the result."""
    batch = a[:-2] if len(a) >= len(b) else b[:-2]
    return math.prod(batch) * a[-2] * a[-1] * b[-1], [*batch, a[-2], b[-1]]


def _is_matrix(*shapes: list[int] | None) -> bool:
    return all(s is not None and len(s) >= 2 for s in shapes)


@dataclass(frozen=True)
class AdjustMatmulOrder(_Rewriting):
    """x @ (a @ b) or (x @ a) @ b, whichever needs fewer multiplications."""

    def rules(self) -> list[Rule]:
        x, a, b = wildcard(), wildcard(), wildcard()

        def leftwards(expr: Any, found: Mapping[DFPattern, Any]) -> Any:
            return _cheaper(found[x], found[a], found[b], right_first=True)

        p, q, r = wildcard(), wildcard(), wildcard()

        def rightwards(expr: Any, found: Mapping[DFPattern, Any]) -> Any:
            return _cheaper(found[p], found[q], found[r], right_first=False)

        return [(_matmul(x, _matmul(a, b)), leftwards), (_matmul(_matmul(p, q), r), rightwards)]


def _cheaper(x: Any, a: Any, b: Any, right_first: bool) -> Any:
    """The product in the other order, if that is cheaper; `right_first` is how it stands."""
    one, two, three = dims(x), dims(a), dims(b)
    if one is None or two is None or three is None or not _is_matrix(one, two, three):
        return None
    first, left = _cost(one, two)
    second, _ = _cost(left, three)
    inner, right = _cost(two, three)
    outer, _ = _cost(one, right)
    if right_first:
        return R.matmul(R.matmul(x, a), b) if first + second < inner + outer else None
    return R.matmul(x, R.matmul(a, b)) if inner + outer < first + second else None


@dataclass(frozen=True)
class ExpandMatmulOfSum(_Rewriting):
    """x @ (a + b) as x @ a + x @ b, where one of the summands is a product itself (a low-rank correction)."""

    def rules(self) -> list[Rule]:
        x, a, b = wildcard(), wildcard(), wildcard()
        low = _matmul(wildcard(), wildcard())
        either = is_op("relax.add")(a, b & low) | is_op("relax.add")(a & low, b)

        def expand(expr: Any, found: Mapping[DFPattern, Any]) -> Any:
            left, right = dims(found[a]), dims(found[b])
            if left != right:
                return None
            return R.add(R.matmul(found[x], found[a]), R.matmul(found[x], found[b]))

        return [(_matmul(x, either), expand)]


@dataclass(frozen=True)
class ReorderTakeAfterMatmul(_Rewriting):
    """Columns of a product instead of a product of columns."""

    def rules(self) -> list[Rule]:
        x, w, i = wildcard(), wildcard(), wildcard()
        take = is_op("relax.take")(w, i)

        def reorder(expr: Any, found: Mapping[DFPattern, Any]) -> Any:
            shape, indices, left = dims(found[w]), dims(found[i]), dims(found[x])
            axis = found[take].attrs.axis
            if shape is None or indices is None or left is None or len(shape) != 2 or len(indices) != 1:
                return None
            if axis not in (1, -1) or len(left) < 2:
                return None
            product = R.matmul(found[x], found[w])
            return R.take(product, found[i], axis=len(left) - 1)

        return [(_matmul(x, take), reorder)]


@dataclass(frozen=True)
class ReorderPermuteDimsAfterConcat(_Rewriting):
    """One transpose of a concatenation instead of several transposes."""

    most: int = 8
    """How many operands a concatenation may have to be looked at."""

    def rules(self) -> list[Rule]:
        return [self._rule(count) for count in range(2, self.most + 1)]

    def _rule(self, count: int) -> Rule:
        inputs = [wildcard() for _ in range(count)]
        permuted = [is_op("relax.permute_dims")(x) for x in inputs]
        pattern = is_op("relax.concat")(is_tuple(permuted))

        def reorder(expr: Any, found: Mapping[DFPattern, Any]) -> Any:
            orders = [_order(found[p]) for p in permuted]
            if orders[0] is None or any(o != orders[0] for o in orders):
                return None
            order = orders[0]
            axis = expr.attrs.axis or 0
            joined = R.concat(Tuple([found[x] for x in inputs]), axis=order[axis % len(order)])
            return R.permute_dims(joined, axes=list(order))

        return pattern, reorder


def _order(permute: Any) -> list[int] | None:
    """The axes of a permutation, written out."""
    rank = permute.struct_info.ndim
    if rank == -1:
        return None
    axes = permute.attrs.axes
    return list(reversed(range(rank))) if axes is None else [int(a) % rank for a in axes]
