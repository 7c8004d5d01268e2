"""Whether expressions have effects, and whether they read what statements change."""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.tir.expr import BufferLoad, Call
from baton._src.tir.intrinsics import Effect, is_pure_call


def is_pure(expr: PrimExpr) -> bool:
    """Whether evaluation has no effects."""
    return all(not isinstance(n, Call) or is_pure_call(n, Effect.READ) for n in post_order(expr))


def is_stable(expr: PrimExpr) -> bool:
    """Whether the value cannot change while statements run: it reads no memory and calls nothing with effects."""
    return not any(isinstance(n, BufferLoad) or (isinstance(n, Call) and not is_pure_call(n)) for n in post_order(expr))
