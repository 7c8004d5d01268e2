"""The angles of points, and the signs of zeros that they depend on."""

from __future__ import annotations

import math

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value


def is_negative(g: GraphBuilder, x: Value) -> Value:
    """Whether numbers are below zero, or zeros that come from there."""
    below = g.call("less", x, g.scalar(0, x))
    if not x.dtype.is_float:
        return below
    zero = g.call("equal", x, g.scalar(0, x))
    turned = g.call("less", g.call("divide", g.scalar(1, x), x), g.scalar(0, x))
    return g.call("logical_or", below, g.call("logical_and", zero, turned))


def atan2(g: GraphBuilder, y: Value, x: Value) -> Value:
    """The angle of (x, y): that of (larger, smaller) side by side, mirrored into its octant. Zeros have signs."""
    high, wide = g.call("abs", y), g.call("abs", x)
    steep = g.call("greater", high, wide)
    large, small = g.call("maximum", high, wide), g.call("minimum", high, wide)
    one = g.scalar(1, x)
    same = g.call("equal", large, small)  # zero by zero and infinity by infinity, too
    ratio = g.call("where", same, one, g.call("divide", small, large))
    nothing = g.call("equal", large, g.scalar(0, x))
    angle = g.call("atan", g.call("where", nothing, g.scalar(0, x), ratio))
    angle = g.call("where", steep, g.call("subtract", g.scalar(math.pi / 2, x), angle), angle)
    angle = g.call("where", is_negative(g, x), g.call("subtract", g.scalar(math.pi, x), angle), angle)
    return g.call("where", is_negative(g, y), g.call("negative", angle), angle)
