"""Bessel's functions of both kinds in float64: by powers near zero, integrals, and Hankel's series far away."""

from __future__ import annotations

import math
from typing import Any

from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs.functions import polynomial
from baton._src.frontends.torch.programs.series import Function, in_float64

_TURNS = 16
"""Places on a quarter of a circle where Bessel's integral is summed: exact for arguments up to _FAR."""
_FAR = 25.0
_NEAR = 2.0
"""Up to where the second kind is summed by powers, so many of them."""
_POWERS = 16
_PLACES = 24
"""Where integrals are summed that fall to nothing at both ends: their sums are exact to rounding."""
_NOTHING = 20.0
"""exp(-2 * this) is nothing beside 1."""


def bessel(order: int) -> Function:
    """J0 or J1: Bessel's integral over a quarter of a circle, and from 25 on Hankel's series in 1 / x."""

    def function(x: Any) -> Any:
        torch = torch_library()
        size = x.abs()
        near = size.clamp(max=_FAR)
        heights = [math.sin(math.pi * (k + 0.5) / (2 * _TURNS)) for k in range(_TURNS)]
        inner = sum(h * torch.sin(near * h) if order else torch.cos(near * h) for h in heights) / _TURNS
        found = torch.where(size < _FAR, inner, _waves(order, size.clamp(min=_FAR))[0])
        return torch.where(x < 0, -found, found) if order else found

    return in_float64(function)


def second_bessel(order: int) -> Function:
    """Y0 or Y1 of positive numbers; minus infinity at 0.

    Between, J comes down from far above by J(n - 1) = 2 n / x J(n) - J(n + 1), made right by J0 + 2 J2 + 2 J4 + ... = 1
    (Miller), and Y is Neumann's series of these.
    """

    def function(x: Any) -> Any:
        torch = torch_library()
        little, far = x.clamp(max=_NEAR), x.clamp(min=_FAR)
        near = _logarithmic(order, -1, little) / math.pi
        if order:
            near = near - 2 / (math.pi * little)
        between = _by_neumann(order, x.clamp(_NEAR, _FAR))
        found = torch.where(x < _NEAR, near, torch.where(x < _FAR, between, _waves(order, far)[1]))
        return torch.where(x == 0, -math.inf, found)

    return in_float64(function)


def second_modified_bessel(order: int, scaled: bool) -> Function:
    """K0 or K1 of positive numbers, times exp(x) if scaled; infinity at 0.

    From 2 on the integral of exp(-x cosh t) cosh(order t), whose integrand and all its slopes vanish at both ends.
    """

    def function(x: Any) -> Any:
        torch = torch_library()
        little, rest = x.clamp(max=_NEAR), x.clamp(min=_NEAR)
        near = _logarithmic(order, 1, little) / (2 if order else -2)
        if order:
            near = near + 1 / little
        step = 2 * torch.asinh(torch.sqrt(_NOTHING / rest)) / _PLACES
        total = torch.full_like(rest, 0.5)
        for k in range(1, _PLACES + 1):
            height = torch.sinh(k * step / 2)
            part = torch.exp(-2 * rest * height * height)
            total = total + (part * torch.cosh(k * step) if order else part)
        far = torch.where(torch.isinf(rest), 0.0, total * step)
        near, far = (near * torch.exp(little), far) if scaled else (near, far * torch.exp(-rest))
        found = torch.where(x < _NEAR, near, far)
        return torch.where(x == 0, math.inf, torch.where(torch.isnan(x), x, found))

    return in_float64(function)


def _logarithmic(order: int, sign: int, x: Any) -> Any:
    """2 log(x / 2) times the function of the first kind (J: -1, I: 1), less its powers times sums of digamma."""
    first = [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(_POWERS)]
    second = [f * (_whole_digamma(k + 1) + _whole_digamma(k + order + 1)) for k, f in enumerate(first)]
    half = x / 2
    square = sign * half * half
    found = 2 * torch_library().log(half) * polynomial(first, square) - polynomial(second, square)
    return found * half if order else found


def _whole_digamma(n: int) -> float:
    return sum(1 / k for k in range(1, n)) - _EULER


_EULER = 0.57721566490153286
"""Euler's constant."""
_ABOVE = 64
"""An order whose function is nothing for arguments up to _FAR."""


def _by_neumann(order: int, x: Any) -> Any:
    """Y0 or Y1 for arguments between `_NEAR` and `_FAR`."""
    torch = torch_library()
    above, here = torch.zeros_like(x), torch.full_like(x, 1e-100)
    total, series = torch.zeros_like(x), torch.zeros_like(x)
    for n in range(_ABOVE, 0, -1):
        if n % 2 == 0:
            total = total + 2 * here
        if n % 2 == order and n > 1:
            series = series + _neumann_factor(n) * here
        above, here = here, 2 * n / x * here - above
    total = total + here
    log = torch.log(x / 2) + _EULER
    found = (log - 1) * above - here / x + series if order else log * here + series
    return found / total * (2 / math.pi)


def _neumann_factor(n: int) -> float:
    """Of J(n) in pi / 2 times Y0 (n even) or Y1 (n odd)."""
    k = n // 2
    size = n / (k * (k + 1)) if n % 2 else 2 / k
    return size if k % 2 else -size


def _waves(order: int, x: Any) -> tuple[Any, Any]:
    """(J, Y) by Hankel's series, from 25 on."""
    torch = torch_library()
    series = [1.0]
    for k in range(1, 20):
        series.append(series[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    even = [(-1) ** (k // 2) * f for k, f in enumerate(series) if k % 2 == 0]
    odd = [(-1) ** (k // 2) * f for k, f in enumerate(series) if k % 2]
    phase, square = x - (2 * order + 1) * math.pi / 4, 1 / (x * x)
    height, turn = polynomial(even, square), polynomial(odd, square) / x
    cosine, sine, size = torch.cos(phase), torch.sin(phase), torch.sqrt(2 / (math.pi * x))
    return (cosine * height - sine * turn) * size, (sine * height + cosine * turn) * size


def spherical_bessel(x: Any) -> Any:
    """sin(x) / x, by its series near zero."""
    torch = torch_library()
    small = x.abs() < 0.5
    factors = [(-1) ** k / math.factorial(2 * k + 1) for k in range(9)]
    series = polynomial(factors, torch.where(small, x * x, 0.0))
    found = torch.where(small, series, torch.sin(x) / torch.where(small, 1.0, x))
    return torch.where(torch.isinf(x), 0.0, found)
