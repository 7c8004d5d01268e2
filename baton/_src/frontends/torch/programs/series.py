"""Functions of mathematics that PyTorch keeps whole, by series, fractions and sums in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs.functions import digamma, polynomial

Function = Callable[[Any], Any]
_ERFCX = (
    0.5107913526210115, 0.3435803422069051, 0.13973604627802735, 0.018221115753461418, -0.010755330944743213,
    -0.003239592534655014, 0.001545306029656217, 0.00041864804431780765, -0.000331536754536941,
    -1.7185840159673632e-05, 7.223539810023321e-05, -1.707374027362626e-05, -1.0848266170054718e-05,
    8.05774418734809e-06, -5.622017389294364e-07, -1.8147502308396875e-06, 9.99681059790912e-07,
    -1.4173148256804559e-08, -2.838403336958219e-07, 1.7908279015125605e-07, -3.2879636227603558e-09,
    -6.991599125811103e-08, 2.999579690914985e-08, 1.330982841170542e-08, -1.0077813696987433e-08,
    -1.0739706490607777e-09, 1.2565872268596197e-09,
)  # fmt: skip
"""erfcx(x) / t is this polynomial of 2 t - 1 to 5e-16, where t = 2 / (2 + x) and x is not negative.

It interpolates at Chebyshev's points.
"""
_ABRAMOWITZ = ((2.515517, 0.802853, 0.010328), (1.0, 1.432788, 0.189269, 0.001308))
"""A quotient of polynomials of sqrt(-2 log p), which is how far the normal quantile is below it (to 4.5e-4)."""
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
"""B2, B4, ..."""
_SHIFT = 12
"""From where on Euler and Maclaurin's series is taken."""
_STEEP = 300
"""The power of which all numbers from _SHIFT on are nothing."""


def in_float64(function: Function) -> Function:
    """`function` of doubles; whole numbers give the default dtype."""

    def take_apart(x: Any) -> Any:
        torch = torch_library()
        dtype = x.dtype if x.is_floating_point() else torch.get_default_dtype()
        return function(x.to(torch.float64)).to(dtype)

    return take_apart


def scaled_erfc(x: Any) -> Any:
    """exp(x²) erfc(x), mirrored below zero."""
    torch = torch_library()
    right = _right_of_zero(x.abs())
    return torch.where(x < 0, 2 * torch.exp(x * x) - right, right)


def erfc(x: Any) -> Any:
    """1 - erf(x), which keeps what little is left of it where x is large."""
    torch = torch_library()
    size = x.clamp(min=0)
    return torch.where(x < 0.5, 1 - torch.erf(x), torch.exp(-size * size) * _right_of_zero(size))


def _right_of_zero(x: Any) -> Any:
    t = 2 / (2 + x)
    return t * polynomial(_ERFCX, 2 * t - 1)


def normal_quantile(p: Any) -> Any:
    """Where the normal distribution reaches p: an approximation, made exact by Newton's method on the logarithm of the
    smaller tail, which keeps what is small."""
    torch = torch_library()
    inside = (p > 0) & (p < 1)
    tail = torch.where(inside, torch.minimum(p, 1 - p), 0.25)
    logs = torch.log(tail)
    start = torch.sqrt(-2 * logs)
    top, bottom = _ABRAMOWITZ
    found = start - polynomial(top, start) / polynomial(bottom, start)
    for _ in range(3):
        scaled = scaled_erfc(found / math.sqrt(2))
        error = torch.log(scaled / 2) - found * found / 2 - logs
        found = found + error * scaled * math.sqrt(math.pi / 2)
    found = torch.where(p < 0.5, -found, found)
    found = torch.where(p == 0.5, 0.0, found)
    ends = torch.where(p == 0, -math.inf, torch.where(p == 1, math.inf, math.nan))
    return torch.where(inside, found, ends)


def polygamma(n: int, x: Any) -> Any:
    """The n-th derivative of digamma."""
    return digamma(x) if n == 0 else in_float64(lambda y: _derived_digamma(n, y))(x)


def _derived_digamma(n: int, x: Any) -> Any:
    """By sums of powers; left of 1/2 reflected: the derivatives of pi cot(pi x) are polynomials of the cotangent."""
    torch = torch_library()
    left = x < 0.5
    right = (-1) ** (n + 1) * math.factorial(n) * _zeta(n + 1, torch.where(left, 1 - x, x))
    angle = math.pi * (x - torch.round(x))  # small near poles, from either side
    cotangent = torch.cos(angle) / torch.sin(angle)
    reflected = (-1) ** n * right - polynomial(_derived_cotangent(n), cotangent)
    pole = left & (x == torch.floor(x))
    found = torch.where(pole, math.inf if n % 2 else -math.inf, torch.where(left, reflected, right))
    return torch.where(torch.isnan(x) | (x == (math.inf if n > 1 else -math.inf)), math.nan, found)


def _derived_cotangent(n: int) -> list[float]:
    """The factors of the powers of c = cot(pi x) in the n-th derivative of pi c, as c' is -pi (1 + c²)."""
    factors = [0, 1]
    for _ in range(n):
        slope = [k * f for k, f in enumerate(factors)][1:]
        factors = [-(a + b) for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return [f * math.pi ** (n + 1) for f in factors]


def hurwitz_zeta(s: Any, q: Any) -> Any:
    """The sum of (q + k) ** -s for all k from 0 on, s > 1; of whole s for q below zero, too.

    What is below zero goes up from a fraction f in [0, 1), so it is a difference of sums above: those of (1 - f + k).
    """
    torch = torch_library()
    dtype = torch.result_type(s, q)
    dtype = dtype if dtype.is_floating_point else torch.get_default_dtype()
    s, q = _double(s), _double(q)
    fraction = q - torch.floor(q)
    sign = torch.where(torch.fmod(s, 2) == 0, 1.0, -1.0)
    below = sign * (_zeta(s, 1 - fraction) - _zeta(s, 1 - torch.where(q > 0, fraction, q)))
    found = _zeta(s, torch.where(q > 0, q, fraction)) + torch.where(q > 0, 0.0, below)
    missing = torch.where(fraction == 0, math.inf, torch.where(s == torch.floor(s), found, math.nan))
    found = torch.where(q > 0, found, missing)
    found = torch.where(s > 1, found, torch.where(s == 1, math.inf, math.nan))
    return torch.where(torch.isnan(q) & (s != 1), math.nan, found).to(dtype)


def _double(x: Any) -> Any:
    """A tensor or a number in float64."""
    torch = torch_library()
    return x.to(torch.float64) if isinstance(x, torch.Tensor) else torch.full((), x, dtype=torch.float64)


def _zeta(s: Any, q: Any) -> Any:
    """The sum of (q + k) ** -s for all k from 0 on, q above 0: the first ones, then Euler and Maclaurin's.

    Great s are nothing to the latter, whose products they would overflow.
    """
    total = q**-s
    for k in range(1, _SHIFT):
        total = total + (q + k) ** -s
    far, s = q + _SHIFT, min(s, _STEEP) if isinstance(s, int) else s.clamp(max=_STEEP)
    total = total + far ** (1 - s) / (s - 1) + far**-s / 2
    rising = s
    for k, number in enumerate(_BERNOULLI, 1):
        total = total + number / math.factorial(2 * k) * rising * far ** (1 - s - 2 * k)
        rising = rising * (s + 2 * k - 1) * (s + 2 * k)
    return total
