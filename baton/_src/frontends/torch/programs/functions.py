"""Decompositions of mathematical functions that PyTorch does not decompose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from baton._src.frontends.torch.library import torch_library

_LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
)  # fmt: skip
"""Lanczos' approximation with g = 7 and nine terms."""


def _floats(x: Any) -> Any:
    return x if x.is_floating_point() else x.to(torch_library().get_default_dtype())


def log_gamma(x: Any) -> Any:
    """log |gamma(x)| by Lanczos; left of 1/2 reflected: gamma(x) * gamma(1 - x) = pi / sin(pi * x).

    Computed in float64: near 1 and 2 what is added nearly cancels.
    """
    torch = torch_library()
    given = _floats(x)
    y = given.to(torch.float64)
    left = y < 0.5
    z = torch.where(left, 1 - y, y) - 1
    total = torch.full_like(z, _LANCZOS[0])
    for k, term in enumerate(_LANCZOS[1:], 1):
        total = total + term / (z + k)
    t = z + 7.5
    right = 0.5 * math.log(2 * math.pi) + (z + 0.5) * torch.log(t) - t + torch.log(total)
    turn = torch.sin(math.pi * (y - torch.floor(y))).abs()
    reflected = math.log(math.pi) - torch.log(torch.where(y == torch.floor(y), torch.zeros_like(turn), turn)) - right
    found = torch.where(left, reflected, right)
    return torch.where(torch.isinf(y), torch.full_like(y, math.inf), found).to(given.dtype)


def inverse_erf(x: Any) -> Any:
    """Winitzki's approximation, made exact by Newton's method: on erf near zero, and on erfc near the ends, as each
    keeps what is small there."""
    torch = torch_library()
    given = _floats(x)
    y = given.to(torch.float64)
    size = y.abs()
    inside = torch.where(size < 1, size, torch.zeros_like(size))
    logs = torch.log1p(-inside * inside)
    first = 2 / (math.pi * 0.147) + logs / 2
    guess = torch.sqrt(torch.sqrt(first * first - logs / 0.147) - first)
    for _ in range(4):
        error = torch.where(inside < 0.5, torch.erf(guess) - inside, (1 - inside) - torch.erfc(guess))
        step = error / (-2 / math.sqrt(math.pi) * torch.exp(-guess * guess))
        guess = guess + step / (1 + guess * step)
    found = torch.where(size == 1, torch.full_like(y, math.inf), guess)
    found = torch.where(size <= 1, found, torch.full_like(y, math.nan))
    return torch.where(y < 0, -found, found).to(given.dtype)


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730)
"""B2, B4, ..."""


def digamma(x: Any) -> Any:
    """The slope of log gamma: brought to 10 and more by psi(x) = psi(x + 1) - 1 / x, then by Stirling's series; left of
    1/2 reflected. Computed in float64."""
    torch = torch_library()
    given = _floats(x)
    y = given.to(torch.float64)
    left = y < 0.5
    z, total = torch.where(left, 1 - y, y), torch.zeros_like(y)
    for _ in range(10):
        small = z < 10
        total = torch.where(small, total - 1 / z, total)
        z = torch.where(small, z + 1, z)
    square = 1 / (z * z)
    series, power = torch.zeros_like(z), square
    for k, number in enumerate(_BERNOULLI, 1):
        series, power = series + power * (number / (2 * k)), power * square
    right = total + torch.log(z) - 0.5 / z - series
    reflected = right - math.pi / torch.tan(math.pi * (y - torch.round(y)))
    found = torch.where(left, reflected, right)
    pole = torch.where(y == 0, torch.copysign(torch.full_like(y, math.inf), -y), torch.full_like(y, math.nan))
    return torch.where((y <= 0) & (y == torch.floor(y)), pole, found).to(given.dtype)


def modified_bessel(order: int, scaled: bool) -> Any:
    """I0 or I1, times exp(-|x|) if scaled: their power series, and from 20 on the one in 1 / x. Computed in float64."""
    rising, falling = [0.5**order], [1.0]
    for k in range(1, 50):
        rising.append(rising[-1] / (k * (k + order)))
    for k in range(1, 20):
        falling.append(falling[-1] * ((2 * k - 1) ** 2 - 4 * order**2) / (8 * k))

    def take_apart(x: Any) -> Any:
        torch = torch_library()
        given = _floats(x)
        y = given.to(torch.float64)
        size = y.abs()
        near, far = size.clamp(max=20), size.clamp(min=20)
        series = polynomial(rising, near * near / 4) * (near if order else 1)
        tail = polynomial(falling, 1 / far) / torch.sqrt(2 * math.pi * far)
        if scaled:
            found = torch.where(size < 20, series * torch.exp(-near), tail)
        else:
            found = torch.where(size < 20, series, tail * torch.exp(far))
        found = torch.where(torch.isnan(y), y, found)
        return (torch.where(y < 0, -found, found) if order else found).to(given.dtype)

    return take_apart


def polynomial(factors: Sequence[float], x: Any) -> Any:
    """The sum of `factors[k] * x**k`, by Horner."""
    total: Any = factors[-1]
    for factor in reversed(factors[:-1]):
        total = total * x + factor
    return total


def greatest_divisor(x: Any, y: Any) -> Any:
    """Euclid's algorithm, as many steps as two numbers of the dtype can take (neighbours among Fibonacci's).

    Pairs that are done stay so, as a number leaves nothing of itself; two zeros are 1 and 0 meanwhile. The least number
    has no size within its dtype: it stays negative, as in PyTorch.
    """
    torch = torch_library()
    a, b = torch.broadcast_tensors(x, y)
    a, b = a.abs(), b.abs()
    nothing = (a == 0) & (b == 0)
    a = torch.where(nothing, 1, a)
    for _ in range(math.ceil(torch.iinfo(a.dtype).bits * math.log(2) / math.log((1 + math.sqrt(5)) / 2)) + 1):
        divisor = torch.where(b == 0, a, b)
        a, b = divisor, torch.fmod(a, divisor)
    return torch.where(nothing, 0, a)


def least_multiple(x: Any, y: Any) -> Any:
    """Small dtypes are wrapped at the end, as their numbers are multiplied in wider ones."""
    torch = torch_library()
    wide = torch.promote_types(x.dtype, torch.int32)
    a, b = x.to(wide), y.to(wide)
    divisor = greatest_divisor(a, b)
    nothing = divisor == 0
    found = torch.div(a, torch.where(nothing, 1, divisor), rounding_mode="trunc") * b
    return torch.where(nothing, 0, found.abs()).to(x.dtype)


def in_bins(x: Any, bins: int = 100, min: Any = 0, max: Any = 0) -> Any:
    """How many elements each of equally wide bins has; the last one has its upper end, too.

    Without bounds these are the least and the greatest element, or one less and one more where they are equal.
    """
    torch = torch_library()
    flat = x.reshape(-1)
    if min == max:
        least, greatest = flat.min(), flat.max()
        wider = (least == greatest).to(x.dtype)
        min, max = least - wider, greatest + wider
    seen = (flat >= min) & (flat <= max)
    inside = torch.where(seen, flat, torch.ones_like(flat) * min)
    places = ((inside - min) * bins / (max - min)).to(torch.int64).clamp(max=bins - 1)
    return torch.zeros(bins, dtype=x.dtype).index_add(0, places, seen.to(x.dtype))


_TINY = 2.0**-1000
"""Smaller numbers are made larger by this much: what is left of floats there may be read as zero by functions."""


def fraction_and_exponent(x: Any) -> Any:
    """(f, e) of x = f * 2**e with 1/2 <= |f| < 1; zeros, infinities and NaN have the exponent 0. Exact in float64.

    The logarithm may round to the next whole number, which a second step makes good. The power is applied in halves,
    as the reciprocal of 2**1024 has fewer bits, and many machines take it for zero.
    """
    torch = torch_library()
    y = x.to(torch.float64)
    plain = torch.isfinite(y) & (y != 0)
    f = torch.where(plain, y, 1.0)
    tiny = f.abs() < _TINY
    f = torch.where(tiny, f / _TINY, f)
    e = torch.floor(torch.log2(f.abs())) + 1
    half = torch.floor(e / 2)
    f = f * torch.exp2(-half) * torch.exp2(half - e)
    for wrong, times, more in ((f.abs() >= 1, 0.5, 1), (f.abs() < 0.5, 2.0, -1)):
        f, e = torch.where(wrong, f * times, f), torch.where(wrong, e + more, e)
    e = torch.where(tiny, e + math.log2(_TINY), e)
    return torch.where(plain, f, y).to(x.dtype), torch.where(plain, e, 0).to(torch.int32)


def next_number(x: Any, y: Any) -> Any:
    """The neighbour of x towards y: half as far where x is a power of two and y is nearer to zero. Exact in float64."""
    torch = torch_library()
    dtype = torch.result_type(x, y)
    limits = torch.finfo(dtype)
    digits, least = 1 - int(math.log2(limits.eps)), int(math.log2(limits.tiny * limits.eps))
    x, y = (t.to(torch.float64) for t in torch.broadcast_tensors(x, y))
    share, exponent = fraction_and_exponent(x)
    inward = (share.abs() == 0.5) & ((y > x) != (x > 0))
    exponent = exponent.to(torch.float64) - digits - inward.to(torch.float64)
    exponent = torch.where(x == 0, least, exponent.clamp(min=least))
    half = torch.floor(exponent / 2)
    step = torch.exp2(half) * torch.exp2(exponent - half)
    found = torch.where(y > x, x + step, x - step)
    found = torch.where(torch.isinf(x), torch.copysign(torch.full_like(x, limits.max), x), found)
    found = torch.where(torch.isnan(x) | torch.isnan(y), math.nan, torch.where(x == y, y, found))
    return found.to(dtype)
