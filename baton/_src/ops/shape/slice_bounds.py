"""What a slice takes: bounds counted from either end, clipped to the axis, and how many elements lie between them.

As NumPy's: a negative bound counts from the end; with a negative stride elements are taken backwards. A symbolic
bound counts from the front (a dim cannot be negative). `inbound`: bounds are promised to lie on the axis, so nothing
is clipped.
"""

from __future__ import annotations

from baton._src.ir.tensor_info import Dim
from baton._src.ir.traverse import post_order
from baton._src.ops.dims import DimMath, is_any
from baton._src.tir import expr as tir

Bound = Dim | None
"""A bound of a cut; None: the end of the axis."""
FAR = 2**31 - 1
"""Bounds at least this far out mean "to the end" of an axis whose extent is not a number."""
_ENDS = (FAR, -FAR, -FAR - 1)
"""What stands for the ends of any axis where it is written."""


def bounds(math: DimMath, begin: Bound, end: Bound, stride: int, dim: Dim, inbound: bool) -> tuple[Dim, Dim]:
    """The first index, and the index to stop before (-1: backwards to the start). None is the default."""
    forward = stride > 0
    if inbound:
        start = _default_begin(math, dim, forward) if begin is None else _from_front(math, begin, dim)
        stop = _default_end(dim, forward) if end is None else _from_front(math, end, dim)
        return start, stop
    start = _default_begin(math, dim, forward) if begin is None else _clip(math, begin, dim, forward)
    stop = _default_end(dim, forward) if end is None else _clip(math, end, dim, forward)
    return start, stop


def length(math: DimMath, start: Dim, stop: Dim, stride: int, inbound: bool) -> Dim:
    """How many elements there are from `start` to `stop`."""
    span = math.subtract(stop, start) if stride > 0 else math.subtract(start, stop)
    if isinstance(span, int):
        span = max(span, 0)
    elif not inbound and not is_any(span) and not is_non_negative(span):
        span = math.maximum(span, 0)
    return math.ceil_divide(span, abs(stride))


def _default_begin(math: DimMath, dim: Dim, forward: bool) -> Dim:
    return 0 if forward else math.subtract(dim, 1)


def _default_end(dim: Dim, forward: bool) -> Dim:
    return dim if forward else -1


def _from_front(math: DimMath, bound: Dim, dim: Dim) -> Dim:
    return math.add(dim, bound) if isinstance(bound, int) and bound < 0 else math.normal(bound)


def _clip(math: DimMath, bound: Dim, dim: Dim, forward: bool) -> Dim:
    """`bound` from the front, in [0, dim] (in [-1, dim - 1] going backwards)."""
    low, high = (0, dim) if forward else (-1, math.subtract(dim, 1))
    if isinstance(bound, int):
        if bound in _ENDS or (abs(bound) >= FAR and not isinstance(dim, int)):
            return high if bound > 0 else low
        if bound < 0:
            moved = math.add(dim, bound)
            return max(moved, low) if isinstance(moved, int) else math.maximum(moved, low)
        if bound == 0 and forward:
            return 0
    bound = math.normal(bound)
    if is_any(bound) or is_any(dim):
        return tir.AnyDim()
    if math.same(bound, high):
        return high
    clipped = math.minimum(bound, high)
    if isinstance(bound, int) or is_non_negative(bound):
        return clipped
    return math.maximum(clipped, low)


def is_non_negative(value: Dim) -> bool:
    """Whether `value` is certainly >= 0, dims being so: sums, products, quotients and extrema of dims and numbers."""
    if isinstance(value, int):
        return value >= 0
    known: dict[object, bool] = {}
    for node in post_order(value):
        match node:
            case tir.Var():
                known[node] = True
            case tir.IntImm():
                known[node] = node.value >= 0
            case tir.Add() | tir.Mul() | tir.FloorDiv() | tir.Min() | tir.Div():
                known[node] = known.get(node.a, False) and known.get(node.b, False)
            case tir.Max():
                known[node] = known.get(node.a, False) or known.get(node.b, False)
            case tir.FloorMod():
                known[node] = known.get(node.b, False)
            case tir.Cast():
                known[node] = known.get(node.value, False)
            case _:
                pass
    return known.get(value, False)
