"""sin, cos, tan and their inverses in LLVM IR, for `vector_math`.

The argument of sin, cos and tan is reduced in float64, that of a float64 in two of them, whose precision does not
suffice for large quotients: beyond `FAR` the C library is called.
"""

from __future__ import annotations

import math

from baton._src.codegen.llvm.functions.lanes import Lanes
from baton._src.codegen.llvm.functions.rare_lanes import or_c_library

FAR, FAR_64 = 2.0**40, 1e5
"""Up to this |x| the remainder of x / (pi / 2) is exact enough; larger arguments are rare, but must be correct."""
CLOSE = 1e-5
"""Remainders in float64 have errors of 1e-21."""
_FIRST = math.ldexp(math.floor(math.ldexp(math.pi / 2, 32)), -32)
HALF_PI = _FIRST, (math.pi / 2 - _FIRST) + 6.123233995736766e-17
"""pi/2: 33 bits, whose products with a quotient are exact, and what they leave."""

_SIN_64 = [(-1) ** k / math.factorial(2 * k + 1) for k in range(1, 9)]
_COS_64 = [(-1) ** k / math.factorial(2 * k) for k in range(2, 9)]

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


def _quadrant(m: Lanes, x: str) -> tuple[str, str, str]:
    """x = n pi/2 + r + s: (r, s, n), where s is what r leaves of float64, and 0 in float32, reduced in float64."""
    if m.bits == 64:
        rounded, n = m.round_to_int(m.mul(x, 2 / math.pi))
        most = m.fma(rounded, -HALF_PI[0], x)
        little = m.mul(rounded, HALF_PI[1])
        r = m.sub(most, little)
        return r, m.sub(m.sub(most, r), little), n
    wide, y = m.double(x)
    rounded, n = wide.round_to_int(wide.mul(y, 2 / math.pi))
    r = wide.fma(rounded, -1.5707963267948966, y)
    r = wide.fma(rounded, -6.123233995736766e-17, r)
    return m.single(wide, r), m.constant(0.0), m.f.value(f"trunc {wide.int} {n} to {m.int}")


def _sine_polynomials(m: Lanes, r: str, s: str) -> tuple[str, str]:
    """(sine, cosine) of r + s"""
    square = m.mul(r, r)
    if m.bits == 64:
        half = m.mul(square, 0.5)
        rest = m.fma(m.mul(square, r), m.poly(square, _SIN_64), m.mul(s, m.sub(1.0, half)))
        most = m.sub(1.0, half)
        lost = m.sub(m.sub(1.0, most), half)
        tail = m.sub(m.mul(m.mul(square, square), m.poly(square, _COS_64)), m.mul(r, s))
        return m.add(r, rest), m.add(most, m.add(lost, tail))
    sine = m.fma(m.mul(square, r), m.poly(square, _SIN), r)
    cosine = m.fma(m.mul(square, square), m.poly(square, _COS), m.fma(square, -0.5, 1.0))
    return sine, cosine


def _sine_in_quadrant(m: Lanes, r: str, s: str, n: str) -> str:
    """sin(r + s + n pi/2)"""
    sine, cosine = _sine_polynomials(m, r, s)
    found = m.choose(m.is_set(m.int_op("and", n, 1)), cosine, sine)
    return m.choose(m.is_set(m.int_op("and", n, 2)), m.neg(found), found)


def _or_far(m: Lanes, name: str, x: str, r: str, near: str) -> str:
    """`near`; in lanes beyond `FAR`, the result of the C library. In float64 also in those that are so close to a
    multiple of pi/2 that little is left of what r is computed from.
    """
    size = m.unary("fabs", x)
    if m.bits == 32:
        return or_c_library(m, name, [x], m.compare("ogt", size, FAR), near)
    close = m.flags("and", m.compare("olt", m.unary("fabs", r), CLOSE), m.compare("ogt", size, 0.5))
    return or_c_library(m, name, [x], m.flags("or", m.compare("ogt", size, FAR_64), close), near)


def sin(m: Lanes, x: str) -> str:
    """sin(x); x itself for 0, whose sign stays"""
    r, s, n = _quadrant(m, x)
    return _or_far(m, "sin", x, r, m.choose(m.compare("oeq", x, 0.0), x, _sine_in_quadrant(m, r, s, n)))


def cos(m: Lanes, x: str) -> str:
    """cos(x)"""
    r, s, n = _quadrant(m, x)
    return _or_far(m, "cos", x, r, _sine_in_quadrant(m, r, s, m.int_op("add", n, 1)))


def tan(m: Lanes, x: str) -> str:
    """tan(x); x itself for 0, whose sign stays"""
    r, s, n = _quadrant(m, x)
    sine, cosine = _sine_polynomials(m, r, s)
    odd = m.is_set(m.int_op("and", n, 1))
    found = m.div(m.choose(odd, m.neg(cosine), sine), m.choose(odd, sine, cosine))
    return _or_far(m, "tan", x, r, m.choose(m.compare("oeq", x, 0.0), x, found))


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
