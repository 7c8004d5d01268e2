"""Arithmetic on small known tensors of whole numbers, some of which are symbolic sizes: object arrays of ints and
PrimExprs. Importers fold with it what models compute of shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.ops.shape.slice_bounds import is_non_negative
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import Var
from baton._src.tir.operators import max as tir_max
from baton._src.tir.operators import min as tir_min
from baton._src.tir.operators import truncdiv
from baton._src.values.tensor import AnyArray


class Undecided(Exception):
    """What is asked of symbolic sizes depends on them."""


def is_symbolic(contents: Any) -> bool:
    """Whether an element is no number."""
    return any(isinstance(e, PrimExpr) for e in np.asarray(contents, dtype=object).reshape(-1))


def elementwise(function: Callable[..., Any], operands: Sequence[AnyArray]) -> AnyArray | None:
    """`function` of the elements of operands that are broadcast; None for more than a vector."""
    arrays = np.broadcast_arrays(*operands)
    if arrays[0].ndim > 1:
        return None
    found = np.empty(arrays[0].shape, dtype=object)
    for index in np.ndindex(found.shape):
        found[index] = function(*(array[index] for array in arrays))
    return found


def divide(p: Any, q: Any) -> Any:
    """Rounded to zero; of what is not negative that is rounding down, which is proved more of."""
    if isinstance(q, int) and q == 0:
        raise Undecided
    return p // q if is_non_negative(p) and is_non_negative(q) else truncdiv(p, q)


def equal(p: Any, q: Any) -> int:
    """A size against a marker such as -1 (no size is that) is decided; against another size it mostly is not."""
    if p is q:
        return 1
    prover = Analyzer()
    sizes = [node for side in (p, q) if isinstance(side, PrimExpr) for node in post_order(side)]
    prover.mark_nonnegative(*(node for node in sizes if isinstance(node, Var)))
    same = prover.equal(p, q)
    if same is None:
        raise Undecided
    return int(same)


def minimum(p: Any, q: Any) -> Any:
    return tir_min(p, q) if isinstance(p, PrimExpr) or isinstance(q, PrimExpr) else min(p, q)


def maximum(p: Any, q: Any) -> Any:
    return tir_max(p, q) if isinstance(p, PrimExpr) or isinstance(q, PrimExpr) else max(p, q)


def product(numbers: Sequence[Any]) -> Any:
    """Of all elements of a list."""
    total: Any = 1
    for element in numbers:
        total = element * total
    return total
