"""Whether two expressions are the same computation of the same variables and buffers.

`structural_equal` pairs buffers that neither side declares: `p[i]` and `q[i]` are equal to it, as to TVM's. Who
replaces one expression by another asks here.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order
from baton._src.tir.buffer import Buffer


def same_value(a: PrimExpr, b: PrimExpr) -> bool:
    """Whether both give the same wherever they stand: equal up to nothing but the names of what they bind."""
    return a is b or (structural_equal(a, b) and _buffers(a) == _buffers(b))


def same_values(one: Sequence[PrimExpr], other: Sequence[PrimExpr]) -> bool:
    """`same_value` of as many expressions."""
    return len(one) == len(other) and all(map(same_value, one, other))


def _buffers(expr: PrimExpr) -> list[Buffer]:
    """The buffers of an expression in order of first use."""
    return list(dict.fromkeys(n for n in post_order(expr) if isinstance(n, Buffer)))
