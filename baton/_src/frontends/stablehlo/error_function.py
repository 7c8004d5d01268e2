"""The inverse of the error function."""

from __future__ import annotations

import math
from collections.abc import Sequence

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.values.dtype import FLOAT32, FLOAT64

# Coefficients, highest power first: M. Giles, "Approximating the erfinv function", GPU Computing Gems, 2011.
_CENTRE = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 2.1858087e-04, -1.25372503e-03, -4.17768164e-03,
    2.46640727e-01, 1.50140941,
)  # fmt: skip
_TAIL = (
    -2.00214257e-04, 1.00950558e-04, 1.34934322e-03, -3.67342844e-03, 5.73950773e-03, -7.6224613e-03, 9.43887047e-03,
    1.00167406, 2.83297682,
)  # fmt: skip


def erf_inverse(g: GraphBuilder, x: Value) -> Value:
    """y with erf(y) = x: polynomials of w = -log(1 - x^2), exact to seven digits, computed in float32 or float64."""
    wide = x if x.dtype == FLOAT64 else g.cast(x, FLOAT32)
    one = g.scalar(1, wide)
    room = g.call("multiply", g.call("subtract", one, wide), g.call("add", one, wide))
    w = g.call("negative", g.call("log", room))
    centre = _polynomial(g, _CENTRE, g.call("subtract", w, g.scalar(2.5, wide)))
    tail = _polynomial(g, _TAIL, g.call("subtract", g.call("sqrt", w), g.scalar(3, wide)))
    found = g.call("multiply", g.call("where", g.call("less", w, g.scalar(5, wide)), centre, tail), wide)
    if wide.dtype == FLOAT64:
        found = _improved(g, found, wide)
    ends = g.call("equal", g.call("abs", wide), one)
    return g.cast(g.call("where", ends, g.call("multiply", wide, g.scalar(math.inf, wide)), found), x.dtype)


def _improved(g: GraphBuilder, y: Value, x: Value) -> Value:
    """A step of Newton's method."""
    falls = g.call("exp", g.call("negative", g.call("multiply", y, y)))
    slope = g.call("multiply", g.scalar(2 / math.sqrt(math.pi), x), falls)
    return g.call("subtract", y, g.call("divide", g.call("subtract", g.call("erf", y), x), slope))


def _polynomial(g: GraphBuilder, coefficients: Sequence[float], x: Value) -> Value:
    found = g.scalar(coefficients[0], x)
    for coefficient in coefficients[1:]:
        found = g.call("add", g.call("multiply", found, x), g.scalar(coefficient, x))
    return found
