"""Sizes that should be equal: choose the simplest expression for all of them."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.frontends.graph_builder.operands import as_int
from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import Dim
from baton._src.ir.traverse import post_order
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.expr import Max, Var

PROBES = (5040, 240, 32, 8)
"""Sizes to try when two computed ones may be equal: multiples of common divisors, and values below common length
limits.
"""


def plainest(dims: tuple[Dim, ...], prover: Analyzer) -> Dim | None:
    """The expression to use for dims that should be equal: a constant, else the only variable among computed dims, else
    the expression common to all except for `max(0, length)` (the length of a range may be zero; that of a tensor is not
    negative), else the first of several computed from the same sizes, else None. Sizes computed from the same ones that
    are never equal (`n // 2` and `n // 5`) do not qualify: one of them is 1 in some run, and is broadcast there.
    """
    others = [d for d in dims if not (isinstance(d, int) and d == 1)]
    numbers = [d for d in others if isinstance(d, int)]
    if numbers:
        return numbers[0]
    names = list({id(d): d for d in others if isinstance(d, Var)}.values())
    symbols = [frozenset(v for v in post_order(d) if isinstance(v, Var)) for d in others]
    alike = len(set(symbols)) == 1
    if alike and not _meet(others, sorted(symbols[0], key=lambda v: v.name)):
        return None
    if len(names) == 1:
        return names[0]
    lengths = [_length(d) for d in others]
    if lengths and all(prover.equal(lengths[0], d) for d in lengths[1:]):
        return lengths[0]
    return others[0] if alike and not names else None


def _meet(dims: Sequence[Dim], symbols: Sequence[Var]) -> bool:
    """Whether these sizes are all equal for some of the `PROBES`."""
    for size in PROBES:
        values = {v: size * (k + 1) for k, v in enumerate(symbols)}
        if len({evaluate(d, values) if isinstance(d, PrimExpr) else d for d in dims}) == 1:
            return True
    return False


def _length(dim: Dim) -> Dim:
    """`n` for `max(0, n)`."""
    if not isinstance(dim, Max):
        return dim
    lengths = [d for d in (as_int(dim.a), as_int(dim.b)) if not (isinstance(d, int) and d == 0)]
    return lengths[0] if len(lengths) == 1 else dim
