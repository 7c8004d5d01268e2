"""Bounds of float expressions, so that a cast to integers need not saturate."""

from __future__ import annotations

from math import ceil, floor, inf, isfinite

import numpy as np

from baton._src.ir.expr import Op, PrimExpr
from baton._src.tir import expr as tir
from baton._src.values.dtype import DataType

DEEPEST = 6
"""Depth to which expressions are inspected: clipping is usually directly below a cast."""
_ROUNDINGS = ("tir.nearbyint", "tir.floor", "tir.ceil", "tir.trunc", "tir.round")

LARGE = 1e30
"""Sums of a few numbers up to this do not overflow."""

Range = tuple[float, float]
EVERYTHING: Range = (-inf, inf)


def fits(value: PrimExpr, target: DataType) -> bool:
    """Whether each value that is a number is one of the signed integer dtype after rounding towards zero."""
    low, high = float_range(value)
    return low >= -(2.0 ** (target.bits - 1)) and high < 2.0 ** (target.bits - 1)


def float_range(value: PrimExpr, depth: int = DEEPEST) -> Range:
    """The least and the greatest value of a float expression (which may also be NaN)."""
    if depth == 0:
        return EVERYTHING
    match value:
        case tir.FloatImm(value=number):
            return _rounded(number, number, value.dtype) if number == number else EVERYTHING
        case tir.Broadcast(value=inner):
            return float_range(inner, depth - 1)
        case tir.Cast(value=inner):
            narrow = inner.dtype.kind in ("int", "uint") and inner.dtype.bits <= 16 and value.dtype.bits >= 32
            low, high = inner.dtype.int_range if narrow else EVERYTHING
            return float(low), float(high)
        case tir.Call(op=Op(name=name), args=[inner]) if name in _ROUNDINGS:
            return _whole(float_range(inner, depth - 1))
        case tir.Min() | tir.Max() | tir.Add() | tir.Sub():
            return _combined(value, float_range(value.a, depth - 1), float_range(value.b, depth - 1))
        case _:
            return EVERYTHING


def is_finite(value: PrimExpr) -> bool:
    """Whether a float expression is certainly a finite number: a literal, an integer, or a sum of such ones."""
    pending, wide = [value], True
    while pending and wide:
        match pending.pop():
            case tir.FloatImm(value=number) as literal:
                wide = abs(number) <= LARGE and literal.dtype.bits >= 32
            case tir.Broadcast(value=inner):
                pending.append(inner)
            case tir.Cast(value=inner) as cast:
                wide = inner.dtype.kind in ("int", "uint") and cast.dtype.bits >= 32
            case tir.Add(a=a, b=b) | tir.Sub(a=a, b=b):
                pending += [a, b]
            case _:
                wide = False
    return wide


def _combined(node: PrimExpr, a: Range, b: Range) -> Range:
    if isinstance(node, tir.Min):
        return min(a[0], b[0]), min(a[1], b[1])
    if isinstance(node, tir.Max):
        return max(a[0], b[0]), max(a[1], b[1])
    if EVERYTHING in (a, b):
        return EVERYTHING
    if isinstance(node, tir.Sub):
        b = -b[1], -b[0]
    return _rounded(a[0] + b[0], a[1] + b[1], node.dtype)


def _whole(ends: Range) -> Range:
    """The ends as far as rounding may move them, whichever way it rounds."""
    low, high = ends
    return float(floor(low)) if isfinite(low) else low, float(ceil(high)) if isfinite(high) else high


def _rounded(low: float, high: float, dtype: DataType) -> Range:
    """Both ends as numbers of the dtype: 2147483647 is 2147483648 as a float32, which is no int32 any more."""
    kind = dtype.numpy.type
    with np.errstate(over="ignore"):
        return float(kind(low)), float(kind(high))
