"""The incomplete gamma functions, by a series, a continued fraction and an integral, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs.functions import log_gamma, polynomial

_TERMS = 60
"""Of the series and of the fraction, exact to rounding for a below `_WIDE`."""
_WIDE = 20.0
"""From which a on the integral is summed."""
_PLACES = 40
"""Of Gauss and Legendre's sum, over as much of the integrand as is not nothing."""
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680)
"""log(a!) less the greater part of it is a polynomial of 1 / a**2 over a."""


def incomplete_gamma(upper: bool) -> Callable[[Any, Any], Any]:
    """The share of gamma(a)'s integral that lies below x, or above.

    Exact to some 1e-14 of 1 for a up to 1e4 (beyond, to 1e-16 * sqrt(a)); small shares keep their digits, but the upper
    one for x below 2, which is 1 less the lower.
    """

    def take_apart(a: Any, x: Any) -> Any:
        torch = torch_library()
        dtype = torch.result_type(a, x)
        a, x = (t.to(torch.float64) for t in torch.broadcast_tensors(a, x))
        early = x < torch.where(a < _WIDE, (a + 1).clamp(min=2), a - 1)
        part = torch.where(a < _WIDE, torch.where(early, _series(a, x), _fraction(a, x)), _integral(a, x, early))
        found = torch.where(early, 1 - part, part) if upper else torch.where(early, part, 1 - part)
        for condition, lower in (
            ((a == 0) | torch.isinf(x), 1.0),
            ((x == 0) | torch.isinf(a), 0.0),
            (torch.isinf(a) & torch.isinf(x), math.nan),
            ((a < 0) | (x < 0) | ((a == 0) & ~(x > 0)), math.nan),
        ):
            found = torch.where(condition, 1 - lower if upper else lower, found)
        return found.to(dtype)

    return take_apart


def _series(a: Any, x: Any) -> Any:
    """The lower share, for x below 2 or a + 1: the sum of x**n / ((a + 1) ... (a + n))."""
    torch = torch_library()
    total = torch.ones_like(x)
    for n in range(_TERMS, 0, -1):
        total = 1 + x / (a + n) * total
    return torch.exp(a * torch.log(x) - x - log_gamma(a + 1)) * total


def _fraction(a: Any, x: Any) -> Any:
    """The upper share, for x above these: 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...))."""
    torch = torch_library()
    rest = x + 2 * _TERMS + 1 - a
    for n in range(_TERMS, 0, -1):
        rest = x + 2 * n - 1 - a - n * (n - a) / rest
    return torch.exp(a * torch.log(x) - x - log_gamma(a)) / rest


def _integral(a: Any, x: Any, early: Any) -> Any:
    """The share on the far side of x from the top of the integrand, which lies at a - 1, for great a."""
    torch = torch_library()
    top = (a - 1).clamp(min=1)
    width = torch.sqrt(top)
    below = torch.minimum(top - 7.5 * width, x - 5 * width).clamp(min=0)
    end = torch.where(early, below, torch.maximum(top + 15 * width, x + 8 * width))
    total = torch.zeros_like(x)
    places, weights = np.polynomial.legendre.leggauss(_PLACES)
    for place, weight in zip(places.tolist(), weights.tolist(), strict=True):
        step = (x + (end - x) * ((place + 1) / 2) - top) / top
        total = total + weight * torch.exp(top * (torch.log1p(step) - step))
    height = torch.exp(-polynomial(_STIRLING, 1 / (top * top)) / top) / torch.sqrt(2 * math.pi * top)
    return total * (end - x).abs() / 2 * height
