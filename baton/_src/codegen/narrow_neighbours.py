"""`nextafter` of floats of 8 and 16 bits, on their bits: in float32, where narrow floats are computed, the next number
is rounded back to the one it is next to.
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.builders.scalar_functions import isnan, reinterpret
from baton._src.values.dtype import DataType


def neighbour(call: tir.Call) -> PrimExpr:
    """The number next to `x` on the way to `y`: one step of the magnitude's bits, the least number next to 0."""
    x, y = call.args
    dtype = call.dtype
    whole = DataType(f"int{dtype.element.bits}").with_lanes(dtype.lanes)
    bits = reinterpret(whole, x)
    zero, one = ops.const(0, dtype), ops.const(1, whole)
    grows = tir.Or(tir.And(tir.LT(x, y), tir.GT(x, zero)), tir.And(tir.GT(x, y), tir.LT(x, zero)))
    stepped = tir.Select(grows, bits + one, bits - one)
    sign = ops.const(-(1 << (dtype.element.bits - 1)), whole)
    least = (reinterpret(whole, y) & sign) | one
    moved = reinterpret(dtype, tir.Select(tir.EQ(x, zero), least, stepped))
    reached = tir.Select(tir.EQ(x, y), y, moved)
    return tir.Select(tir.Or(isnan(x), isnan(y)), x + y, reached)
