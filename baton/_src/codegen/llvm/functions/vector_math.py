"""exp, log, tanh, erf, sin, ... in LLVM IR: polynomials over any number of lanes, no library needed.

float32: relative error about 1e-7 (a few units in the last place), infinities, NaN and subnormals as in C. pow and
exp10 compute in float64 inside. float64 has exp and log of its own (what pow needs), expm1, sigmoid and tanh; other
float64 functions call the C library (see `intrinsics`).

Each function becomes one internal helper `@baton.exp.v16f32` of the module, inlined by LLVM. Coefficients: least-
squares fits towards the minimax polynomial, or Taylor series for float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from baton._src.codegen.llvm.functions.lanes import Lanes
from baton._src.codegen.llvm.functions.remainder import fmod, has_vector_fmod
from baton._src.codegen.llvm.functions.trigonometry import acos, asin, atan, cos, sin, tan
from baton._src.codegen.llvm.text import FunctionText, ModuleText, mangle

LN2 = math.log(2.0)
# Coefficients of 1/k! and of the atanh series, for float64.
_EXP64 = [1 / math.factorial(k) for k in range(14)]
_LOG64 = [2 / (2 * k + 1) for k in range(11)]
_EXP = [0.5, 0.166665181517601, 0.04166620597243309, 0.008368887938559055, 0.0013950485736131668]
_LOG = [
    0.3333331048488617, -0.24999986588954926, 0.20002226531505585, -0.16669249534606934, 0.14218655228614807,
    -0.12384369969367981, 0.11873016506433487, -0.11789695918560028, 0.06915146857500076,
]  # fmt: skip
_TANH_ABOVE = [
    1.0, 0.13400466740131378, 0.0035187434405088425, 2.099382436426822e-05, 1.389762172010478e-08,
]  # fmt: skip
_TANH_BELOW = [
    1.0, 0.46733787655830383, 0.02596489153802395, 0.00033236469607800245, 7.996522981557064e-07,
]  # fmt: skip
_ERF_ABOVE = [
    1.1283791065216064, 0.1904016137123108, 0.05274805426597595, 0.0037653998006135225, 0.00028487647068686783,
    2.0501074686762877e-06,
]  # fmt: skip
_ERF_BELOW = [
    1.0, 0.5020717978477478, 0.11410707980394363, 0.014968784525990486, 0.0011624802136793733, 3.809159534284845e-05,
]  # fmt: skip


def helper(module: ModuleText, name: str, kind: str) -> str:
    """The helper function `name` for values of `kind` ("<16 x float>"), written into the module on first use."""
    symbol = f"baton.{name}.{mangle(kind)}"
    if symbol not in module.definitions:
        f = FunctionText(module)
        operands = ["%x", "%y"][: 2 if name in TWO_OPERANDS else 1]
        result = FUNCTIONS[name](Lanes(f, kind, helper), *operands)
        f.line(f"ret {kind} {result}")
        params = ", ".join(f"{kind} {operand}" for operand in operands)
        pure = "alwaysinline memory(none) nounwind willreturn"  # as a call it can be hoisted out of loops and shared
        module.definitions[symbol] = f.finish(f"define internal {kind} @{symbol}({params}) {pure} #0")
    return f"@{symbol}"


def _exp_of_rest(m: Lanes, r: str) -> str:
    """e^r for |r| <= ln(2)/2."""
    if m.bits == 64:
        return m.add(_exp_reduced(m, r), 1.0)
    return m.fma(r, m.fma(r, m.poly(r, _EXP), 1.0), 1.0)


def _exp_reduced(m: Lanes, r: str) -> str:
    """e^r - 1 for |r| <= ln(2)/2."""
    if m.bits == 64:
        return m.mul(r, m.poly(r, _EXP64[1:]))
    return m.fma(m.mul(r, r), m.poly(r, _EXP), r)


def _reduce_exp(m: Lanes, x: str, rounding: Callable[[str, float], tuple[str, str]]) -> tuple[str, str]:
    """x = n ln(2) + r: (r, n as `rounding` gives it). ln(2) is in two pieces; n times the first, short one is exact."""
    high = 0.693145751953125 if m.bits == 32 else 0.6931471803691238
    low = 1.4286068203094172e-06 if m.bits == 32 else 1.9082149292705877e-10
    rounded, n = rounding(x, 1 / LN2)
    return m.fma(rounded, -low, m.fma(rounded, -high, x)), n


def _exp(m: Lanes, x: str) -> str:
    low, high = (-104.0, 89.0) if m.bits == 32 else (-746.0, 710.0)
    r, n = _reduce_exp(m, m.clamp(x, low, high), m.round_to_exponent)
    return m.scale(_exp_of_rest(m, r), n)


def _exp_flushed(m: Lanes, x: str) -> str:
    """Of what is not above 0. What is subnormal is zero: sums and products of such numbers take a hundred cycles on
    some processors."""
    low = -87.33654 if m.bits == 32 else -708.3964
    r, n = _reduce_exp(m, m.at_least(x, low), m.round_to_exponent)
    power = m.scale(_exp_of_rest(m, r), n, normal=True)
    return m.choose(m.compare("olt", x, low), 0.0, power)


def _exp2(m: Lanes, x: str) -> str:
    x = m.clamp(x, -151.0, 129.0)
    rounded, n = m.round_to_exponent(x)
    return m.scale(m.add(_exp_reduced(m, m.mul(m.sub(x, rounded), LN2)), 1.0), n)


def _exp10(m: Lanes, x: str) -> str:
    wide, y = m.double(x)
    return m.single(wide, wide.call("exp", wide.mul(y, math.log(10.0))))


def _expm1(m: Lanes, x: str) -> str:
    clamped = m.clamp(x, -30.0, 89.0) if m.bits == 32 else m.clamp(x, -40.0, 710.0)
    r, n = _reduce_exp(m, clamped, m.round_to_int)
    p = _exp_reduced(m, r)
    # 2^n p + (2^n - 1): the second part is exact where it matters. 2^128 is no float32: go through half of it.
    half = m.power_of_two(m.int_op("sub", n, 1))
    moderate = m.mul(m.fma(half, p, m.sub(half, 0.5)), 2.0)
    return m.choose(m.compare("oeq", x, 0.0), x, moderate)


def _log_parts(m: Lanes, x: str) -> tuple[str, str]:
    """x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)): (f, e). Subnormals are scaled up first."""
    mantissa, tiny, lift = (23, 1.1754943508222875e-38, 25) if m.bits == 32 else (52, 2.2250738585072014e-308, 54)
    small = m.compare("olt", x, tiny)
    bits = m.to_bits(m.choose(small, m.mul(x, 2.0**lift), x))
    # Subtracting the bits of sqrt(1/2) puts the exponent's rounding in the right place.
    start = 0x3F3504F3 if m.bits == 32 else 0x3FE6A09E667F3BCD
    shifted = m.int_op("sub", bits, start)
    e = m.to_float(m.int_op("ashr", shifted, mantissa))
    e = m.sub(e, m.choose(small, float(lift), 0.0))
    fraction = m.int_op("add", m.int_op("and", shifted, (1 << mantissa) - 1), start)
    return m.sub(m.from_bits(fraction), 1.0), e


def _log_edges(m: Lanes, x: str, regular: str) -> str:
    found = m.choose(m.compare("oeq", x, math.inf), math.inf, regular)
    found = m.choose(m.compare("oeq", x, 0.0), -math.inf, found)
    found = m.choose(m.compare("olt", x, 0.0), math.nan, found)
    return m.choose(m.compare("uno", x, x), x, found)


def _log_fraction(m: Lanes, f: str) -> str:
    """log(1 + f)"""
    square = m.mul(f, f)
    if m.bits == 32:
        tail = m.mul(m.mul(square, f), m.poly(f, _LOG))
        return m.add(f, m.fma(square, -0.5, tail))
    s = m.div(f, m.add(f, 2.0))
    return m.mul(s, m.poly(m.mul(s, s), _LOG64))


def _log(m: Lanes, x: str) -> str:
    f, e = _log_parts(m, x)
    if m.bits == 64:
        return _log_edges(m, x, m.fma(e, LN2, _log_fraction(m, f)))
    square = m.mul(f, f)
    tail = m.fma(m.mul(square, f), m.poly(f, _LOG), m.mul(e, -2.12194440e-4))
    small = m.add(f, m.fma(square, -0.5, tail))
    return _log_edges(m, x, m.fma(e, 0.693359375, small))


def _log_scaled(factor: float) -> Callable[[Lanes, str], str]:
    """log to another base: e log_b(2) + log(1 + f) / log(b)."""

    def emit(m: Lanes, x: str) -> str:
        f, e = _log_parts(m, x)
        return _log_edges(m, x, m.fma(e, LN2 * factor, m.mul(_log_fraction(m, f), factor)))

    return emit


def _log1p(m: Lanes, x: str) -> str:
    """log(u) x / (u - 1) with u = 1 + x rounded: the rounding cancels."""
    u = m.add(x, 1.0)
    regular = m.mul(m.call("log", u), m.div(x, m.sub(u, 1.0)))
    regular = m.choose(m.compare("oeq", u, math.inf), u, regular)
    regular = m.choose(m.compare("oeq", x, -1.0), -math.inf, regular)
    return m.choose(m.compare("oeq", u, 1.0), x, regular)


def _odd_quotient(m: Lanes, x: str, most: float, above: list[float], below: list[float]) -> str:
    """x P(x^2) / Q(x^2), fitted up to where the result rounds to one: half the instructions of a form with exp.

    Beyond `most` the result is exactly one; the quotient must exceed one there by more than its rounding error.
    """
    bounded = m.clamp(x, -most, most)
    square = m.mul(bounded, bounded)
    quotient = m.div(m.mul(bounded, m.poly(square, above)), m.poly(square, below))
    return m.clamp(quotient, -1.0, 1.0)


def _tanh(m: Lanes, x: str) -> str:
    """In float64 t / (t + 2) with t = e^(2|x|) - 1."""
    if m.bits == 64:
        t = m.call("expm1", m.clamp(m.mul(m.unary("fabs", x), 2.0), 0.0, 40.0))
        return m.copysign(m.div(t, m.add(t, 2.0)), x)
    return _odd_quotient(m, x, 8.7, _TANH_ABOVE, _TANH_BELOW)


def _sigmoid(m: Lanes, x: str) -> str:
    """Powers less than e^-40 vanish beside one; subnormal ones would be slow, too. The greatest are infinite: a result
    not quite 0, times the least x, would be a large number in x * sigmoid(x)."""
    r, n = _reduce_exp(m, m.clamp(m.neg(x), -40.0, 89.0 if m.bits == 32 else 710.0), m.round_to_exponent)
    return m.div(1.0, m.add(m.scale_to_infinity(_exp_of_rest(m, r), n), 1.0))


def _erf(m: Lanes, x: str) -> str:
    return _odd_quotient(m, x, 4.1, _ERF_ABOVE, _ERF_BELOW)


def _sinh(m: Lanes, x: str) -> str:
    """(t + t / (t + 1)) / 2 with t = e^|x| - 1; near overflow (e^(|x|/2) / 2) e^(|x|/2)."""
    size = m.unary("fabs", x)
    t = m.call("expm1", m.clamp(size, 0.0, 88.0))
    found = m.mul(m.add(t, m.div(t, m.add(t, 1.0))), 0.5)
    half = m.call("exp", m.mul(size, 0.5))
    found = m.choose(m.compare("ogt", size, 88.0), m.mul(m.mul(half, 0.5), half), found)
    return m.copysign(found, x)


def _cosh(m: Lanes, x: str) -> str:
    half = m.call("exp", m.mul(m.unary("fabs", x), 0.5))
    square = m.mul(m.mul(half, 0.5), half)
    e = m.call("exp", m.unary("fabs", x))
    regular = m.mul(m.add(e, m.div(1.0, e)), 0.5)
    return m.choose(m.compare("ogt", m.unary("fabs", x), 88.0), square, regular)


def _asinh(m: Lanes, x: str) -> str:
    """log1p(a + a^2 / (1 + sqrt(a^2 + 1))) with a = |x|; log(a) + log(2) where a^2 could overflow."""
    size = m.unary("fabs", x)
    square = m.mul(size, size)
    root = m.unary("sqrt", m.add(square, 1.0))
    found = m.call("log1p", m.add(size, m.div(square, m.add(root, 1.0))))
    huge = m.add(m.call("log", size), LN2)
    return m.copysign(m.choose(m.compare("ogt", size, 1e9), huge, found), x)


def _acosh(m: Lanes, x: str) -> str:
    """log1p(t + sqrt(t (t + 2))) with t = x - 1."""
    t = m.sub(x, 1.0)
    found = m.call("log1p", m.add(t, m.unary("sqrt", m.mul(t, m.add(t, 2.0)))))
    found = m.choose(m.compare("ogt", x, 1e9), m.add(m.call("log", x), LN2), found)
    return m.choose(m.compare("olt", x, 1.0), math.nan, found)


def _atanh(m: Lanes, x: str) -> str:
    size = m.unary("fabs", x)
    found = m.mul(m.call("log1p", m.div(m.mul(size, 2.0), m.sub(1.0, size))), 0.5)
    return m.copysign(found, x)


def _pow(m: Lanes, x: str, y: str) -> str:
    """exp(y log|x|) in float64, then the sign and C's special cases."""
    wide, wide_x = m.double(m.unary("fabs", x))
    wide_y = m.f.value(f"fpext {m.kind} {y} to {wide.kind}")
    product = wide.mul(wide_y, wide.call("log", wide_x))
    found = m.single(wide, wide.call("exp", product))
    whole = m.compare("oeq", m.unary("trunc", y), y)
    half = m.mul(y, 0.5)
    odd = m.flags("and", whole, m.compare("une", m.unary("trunc", half), half))
    signed = m.copysign(found, m.choose(odd, x, 1.0))
    # An infinite y counts as an even integer; a negative finite x needs an integer y.
    bad = m.flags("and", m.compare("olt", x, 0.0), m.compare("une", m.unary("trunc", y), y))
    bad = m.flags("and", bad, m.compare("one", x, -math.inf))
    found = m.choose(bad, math.nan, signed)
    ends = m.flags("or", m.compare("oeq", x, 1.0), m.compare("oeq", y, 0.0))
    unit = m.flags("and", m.compare("oeq", x, -1.0), m.compare("oeq", m.unary("fabs", y), math.inf))
    return m.choose(m.flags("or", ends, unit), 1.0, found)


TWO_OPERANDS = frozenset({"pow", "fmod"})
FUNCTIONS: dict[str, Callable[..., str]] = {
    "exp": _exp,
    "exp_flushed": _exp_flushed,
    "exp2": _exp2,
    "exp10": _exp10,
    "expm1": _expm1,
    "log": _log,
    "log2": _log_scaled(1 / LN2),
    "log10": _log_scaled(1 / math.log(10.0)),
    "log1p": _log1p,
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "erf": _erf,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "sinh": _sinh,
    "cosh": _cosh,
    "atan": atan,
    "asin": asin,
    "acos": acos,
    "asinh": _asinh,
    "acosh": _acosh,
    "atanh": _atanh,
    "pow": _pow,
    "fmod": fmod,
}
"""By name; all take one operand but `TWO_OPERANDS`."""
OWN_FLOAT64 = frozenset({"exp", "exp_flushed", "expm1", "log", "sigmoid", "tanh", "sin", "cos", "tan"})
"""Those that are written for float64, too."""


def is_own(name: str, bits: int, features: Collection[str]) -> bool:
    """Whether a function is ours for floats of so many bits: others are left to the C library."""
    if name == "fmod":
        return has_vector_fmod(bits, features)
    return bits < 64 or name in OWN_FLOAT64
