"""C's fmod, exactly: what is left of x when y is taken from it as often as it fits."""

from __future__ import annotations

import math
from collections.abc import Collection

from baton._src.codegen.llvm.functions.lanes import Lanes
from baton._src.codegen.llvm.functions.rare_lanes import or_c_library

MOST, MOST_64 = 2.0**29, 2.0**52
"""Up to this quotient, float64 holds its whole part times a float32 exactly, and so the rest. Of two float64, it holds
the whole part itself, and a fused multiply-add leaves the rest.
"""


def has_vector_fmod(bits: int, features: Collection[str]) -> bool:
    """Whether `fmod` is for floats of so many bits on a processor: those of 64 need fused multiply-adds."""
    return bits <= 32 or "fma" in features or "neon" in features


def fmod(m: Lanes, x: str, y: str) -> str:
    """fmod(x, y); the quotient may round up to a whole number, which is then one too many."""
    size, divisor = m.unary("fabs", x), m.unary("fabs", y)
    wide, wide_x, wide_y = m, size, divisor
    if m.bits == 32:
        wide, wide_x = m.double(size)
        _, wide_y = m.double(divisor)
    quotient = wide.div(wide_x, wide_y)
    taken = wide.neg(wide.unary("floor", quotient))
    rest = wide.add(wide_x, wide.mul(taken, wide_y)) if m.bits == 32 else wide.fused(taken, wide_y, wide_x)
    rest = wide.choose(wide.compare("olt", rest, 0.0), wide.add(rest, wide_y), rest)
    found = m.copysign(m.single(wide, rest) if m.bits == 32 else rest, x)
    most = MOST if m.bits == 32 else MOST_64
    rare = wide.flags("or", wide.compare("uge", quotient, most), wide.compare("oeq", wide_y, math.inf))
    return or_c_library(m, "fmod", [x, y], rare, found)
