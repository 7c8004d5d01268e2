"""C's fmod in float32, exactly: what is left of x when y is taken from it as often as it fits."""

from __future__ import annotations

import math

from baton._src.codegen.llvm.functions.lanes import Lanes
from baton._src.codegen.llvm.functions.rare_lanes import or_c_library

MOST = 2.0**29
"""Up to this quotient, float64 holds its whole part times a float32 exactly, and so the rest."""


def fmod(m: Lanes, x: str, y: str) -> str:
    """fmod(x, y); the quotient may round up to a whole number, which is then one too many."""
    wide, wide_x = m.double(m.unary("fabs", x))
    _, wide_y = m.double(m.unary("fabs", y))
    quotient = wide.div(wide_x, wide_y)
    rest = wide.sub(wide_x, wide.mul(wide.unary("floor", quotient), wide_y))
    rest = wide.choose(wide.compare("olt", rest, 0.0), wide.add(rest, wide_y), rest)
    found = m.copysign(m.single(wide, rest), x)
    rare = wide.flags("or", wide.compare("uge", quotient, MOST), wide.compare("oeq", wide_y, math.inf))
    return or_c_library(m, "fmod", [x, y], rare, found)
