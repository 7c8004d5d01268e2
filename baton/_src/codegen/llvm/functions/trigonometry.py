"""sin, cos, tan and their inverses in LLVM IR, for `vector_math`.

The argument of sin, cos and tan is reduced in float64, whose precision does not suffice for large quotients: beyond
`FAR` the C library is called.
"""

from __future__ import annotations

import math

from baton._src.codegen.llvm.functions.lanes import Lanes
from baton._src.codegen.llvm.functions.rare_lanes import or_c_library

FAR = 2.0**40
"""Up to this |x| the remainder of x / (pi / 2) is exact enough; larger arguments are rare, but must be correct."""

_SIN = [-0.1666666716337204, 0.008333329111337662, -0.0001983933470910415, 2.71831163445313e-06]
_COS = [0.04166664555668831, -0.001388736767694354, 2.443845005473122e-05]
_ATAN = [
    -0.33333301544189453, 0.19998638331890106, -0.1426524519920349, 0.10957571864128113, -0.08419445902109146,
    0.0582343190908432, -0.03145546838641167, 0.011064315214753151, -0.0018271846929565072,
]  # fmt: skip
_ASIN = [
    0.16666659712791443, 0.07500510662794113, 0.04451572149991989, 0.03181760758161545, 0.014402614906430244,
    0.037565186619758606,
]  # fmt: skip


def _quadrant(m: Lanes, x: str) -> tuple[str, str]:
    """x = n pi/2 + r, reduced in float64: (r, n)."""
    wide, y = m.double(x)
    rounded, n = wide.round_to_int(wide.mul(y, 2 / math.pi))
    r = wide.fma(rounded, -1.5707963267948966, y)
    r = wide.fma(rounded, -6.123233995736766e-17, r)
    return m.single(wide, r), m.f.value(f"trunc {wide.int} {n} to {m.int}")


def _sine_polynomials(m: Lanes, r: str) -> tuple[str, str]:
    square = m.mul(r, r)
    sine = m.fma(m.mul(square, r), m.poly(square, _SIN), r)
    cosine = m.fma(m.mul(square, square), m.poly(square, _COS), m.fma(square, -0.5, 1.0))
    return sine, cosine


def _sine_in_quadrant(m: Lanes, r: str, n: str) -> str:
    """sin(r + n pi/2)"""
    sine, cosine = _sine_polynomials(m, r)
    found = m.choose(m.is_set(m.int_op("and", n, 1)), cosine, sine)
    return m.choose(m.is_set(m.int_op("and", n, 2)), m.neg(found), found)


def _or_far(m: Lanes, name: str, x: str, near: str) -> str:
    """`near`; in lanes beyond `FAR`, the result of the C library."""
    return or_c_library(m, name, [x], m.compare("ogt", m.unary("fabs", x), FAR), near)


def sin(m: Lanes, x: str) -> str:
    """sin(x); x itself for 0, whose sign stays"""
    r, n = _quadrant(m, x)
    return _or_far(m, "sin", x, m.choose(m.compare("oeq", x, 0.0), x, _sine_in_quadrant(m, r, n)))


def cos(m: Lanes, x: str) -> str:
    """cos(x)"""
    r, n = _quadrant(m, x)
    return _or_far(m, "cos", x, _sine_in_quadrant(m, r, m.int_op("add", n, 1)))


def tan(m: Lanes, x: str) -> str:
    """tan(x); x itself for 0, whose sign stays"""
    r, n = _quadrant(m, x)
    sine, cosine = _sine_polynomials(m, r)
    odd = m.is_set(m.int_op("and", n, 1))
    found = m.div(m.choose(odd, m.neg(cosine), sine), m.choose(odd, sine, cosine))
    return _or_far(m, "tan", x, m.choose(m.compare("oeq", x, 0.0), x, found))


def atan(m: Lanes, x: str) -> str:
    """atan(x); pi/2 - atan(1/x) for |x| > 1"""
    size = m.unary("fabs", x)
    large = m.compare("ogt", size, 1.0)
    t = m.choose(large, m.div(1.0, size), size)
    square = m.mul(t, t)
    found = m.fma(m.mul(square, t), m.poly(square, _ATAN), t)
    return m.copysign(m.choose(large, m.sub(math.pi / 2, found), found), x)


def asin(m: Lanes, x: str) -> str:
    """asin(x); pi/2 - 2 asin(sqrt((1 - x) / 2)) for x > 1/2"""
    size = m.unary("fabs", x)
    large = m.compare("ogt", size, 0.5)
    square = m.choose(large, m.mul(m.sub(1.0, size), 0.5), m.mul(x, x))
    t = m.choose(large, m.unary("sqrt", square), size)
    found = m.fma(m.mul(square, t), m.poly(square, _ASIN), t)
    return m.copysign(m.choose(large, m.fma(found, -2.0, math.pi / 2), found), x)


def acos(m: Lanes, x: str) -> str:
    """2 asin(sqrt((1 - x) / 2)) for x > 1/2, pi less that of -x for x < -1/2, else pi/2 - asin(x)."""
    size = m.unary("fabs", x)
    outer = m.mul(m.call("asin", m.unary("sqrt", m.mul(m.sub(1.0, size), 0.5))), 2.0)
    outer = m.choose(m.compare("olt", x, 0.0), m.sub(math.pi, outer), outer)
    inner = m.sub(math.pi / 2, m.call("asin", x))
    return m.choose(m.compare("ogt", size, 0.5), outer, inner)
