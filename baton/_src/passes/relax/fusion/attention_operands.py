"""The operands of an attention: where queries, keys and values come from, through operators that only move them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.ir.structural import structural_equal
from baton._src.passes.relax.fusion.attention_kernel import Term
from baton._src.relax.nodes import Call, Constant, ShapeExpr, Var, is_call
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.tir.expr import IntImm
from baton._src.tir.operators import is_const

Values = Mapping[Var, Any]
"""What variables are known to hold."""


def source(
    lasting: Values, value: Any, terms: list[Term], factors: list[float] | None = None
) -> tuple[Any, tuple[Term, ...]]:
    """The origin of a factor, looking through operators that only move its elements, and those that multiply it by
    numbers if `factors`, to which these are added, is given.
    """
    while True:
        call = lasting.get(value) if isinstance(value, Var) else None
        if isinstance(call, Var):
            value = call
        elif is_call(call, "relax.permute_dims"):
            rank = len(terms)
            axes = [int(a) % rank for a in call.attrs.axes] if call.attrs.axes is not None else range(rank)[::-1]
            moved: list[Term] = [(-1, 1)] * rank
            for place, axis in enumerate(axes):
                moved[axis] = terms[place]
            terms, value = moved, call.args[0]
        elif factors is not None and is_call(call, "relax.multiply") and (scaled := _scaled(call)) is not None:
            value = scaled[0]
            factors.append(scaled[1])
        else:
            repeated = _repeated(lasting, call, terms)
            if repeated is None:
                return value, tuple(terms)
            value, terms = repeated


def _repeated(lasting: Values, call: Any, terms: list[Term]) -> tuple[Any, list[Term]] | None:
    """(b, h, 1, n, d) broadcast to (b, h, g, n, d) and seen as (b, h * g, n, d): index h * g is divided by g."""
    if not is_call(call, "relax.reshape"):
        return None
    wide = lasting.get(call.args[0]) if isinstance(call.args[0], Var) else None
    if not is_call(wide, "relax.broadcast_to"):
        return None
    dims, spread, narrow = dims_of(call), dims_of(wide), dims_of(wide.args[0])
    if dims is None or spread is None or narrow is None or not len(spread) == len(narrow) == len(dims) + 1:
        return None
    places = [n for n in range(len(dims)) if all_same((*dims[:n], *dims[n + 1 :]), (*spread[:n], *spread[n + 2 :]))]
    for place in places:
        heads, times = spread[place], spread[place + 1]
        merged = dims[place]
        known = all(isinstance(s, IntImm) for s in (heads, times, merged))
        if not known or merged.value != heads.value * times.value or terms[place][1] != 1:
            continue
        kept = (*narrow[: place + 1], *narrow[place + 2 :])
        if is_const(narrow[place + 1], 1) and all_same(kept, (*spread[: place + 1], *spread[place + 2 :])):
            axis = terms[place][0]
            found = [*terms[:place], (axis, times.value), (-1, 1), *terms[place + 1 :]]
            return _without_ones(lasting, wide.args[0], found)
    return None


def _without_ones(lasting: Values, value: GraphExpr, terms: list[Term]) -> tuple[Any, list[Term]]:
    """What was reshaped to have one more dim of 1, if that is how it came."""
    call = lasting.get(value) if isinstance(value, Var) else None
    dims = dims_of(value)
    if dims is None or not is_call(call, "relax.reshape", "relax.expand_dims"):
        return value, terms
    before = dims_of(call.args[0])
    for place, dim in enumerate(dims):
        if before is not None and is_const(dim, 1) and terms[place][0] < 0:
            rest = (*dims[:place], *dims[place + 1 :])
            if len(rest) == len(before) and all_same(rest, before):
                return call.args[0], [*terms[:place], *terms[place + 1 :]]
    return value, terms


def number_of(value: GraphExpr) -> float | None:
    """The number that a constant of one element is."""
    return float(value.data.data.item()) if isinstance(value, Constant) and value.data.data.size == 1 else None


def is_all_zero(value: GraphExpr) -> bool:
    """Whether this is a constant of zeros."""
    return isinstance(value, Constant) and not value.data.data.any()


def _scaled(call: Call) -> tuple[Any, float] | None:
    """What a product multiplies by a number, and the number."""
    for value, other in (call.args, call.args[::-1]):
        number = number_of(other)
        if number is not None and all_same(dims_of(value), dims_of(call)):
            return value, number
    return None


def dims_of(value: GraphExpr) -> tuple[Any, ...] | None:
    info = getattr(value, "struct_info_", None)
    shape = info.shape if isinstance(info, TensorStructInfo) else None
    return shape.values if isinstance(shape, ShapeExpr) else None


def all_same(a: Any, b: Any) -> bool:
    return a is not None and b is not None and len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, IntImm) or isinstance(b, IntImm):
        return isinstance(a, IntImm) and isinstance(b, IntImm) and a.value == b.value
    return a is b or structural_equal(a, b)
