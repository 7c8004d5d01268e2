"""Functions of mathematics that PyTorch keeps whole, in its own terms."""

from __future__ import annotations

import math
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
    """Winitzki's approximation, made exact by Newton's method on erfc, which keeps what is small near the ends."""
    torch = torch_library()
    given = _floats(x)
    y = given.to(torch.float64)
    size = y.abs()
    inside = torch.where(size < 1, size, torch.zeros_like(size))
    logs = torch.log1p(-inside * inside)
    first = 2 / (math.pi * 0.147) + logs / 2
    guess = torch.sqrt(torch.sqrt(first * first - logs / 0.147) - first)
    for _ in range(4):
        error = (1 - inside) - torch.erfc(guess)
        step = error / (-2 / math.sqrt(math.pi) * torch.exp(-guess * guess))
        guess = guess + step / (1 + guess * step)
    found = torch.where(size == 1, torch.full_like(y, math.inf), guess)
    found = torch.where(size <= 1, found, torch.full_like(y, math.nan))
    return torch.where(y < 0, -found, found).to(given.dtype)


def greatest_divisor(x: Any, y: Any) -> Any:
    """Euclid's algorithm, as many steps as two numbers of the dtype can take (neighbours among Fibonacci's)."""
    torch = torch_library()
    a, b = torch.broadcast_tensors(x, y)
    a, b = a.abs(), b.abs()
    for _ in range(math.ceil(torch.iinfo(a.dtype).bits * math.log(2) / math.log((1 + math.sqrt(5)) / 2)) + 1):
        done = b == 0
        a, b = torch.where(done, a, b), torch.where(done, b, torch.remainder(a, torch.where(done, 1, b)))
    return a


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
    """How many elements each of equally wide bins has; the last one has its upper end, too."""
    torch = torch_library()
    if min == max:
        return NotImplemented
    flat = x.reshape(-1)
    seen = (flat >= min) & (flat <= max)
    inside = torch.where(seen, flat, torch.full_like(flat, min))
    places = ((inside - min) * bins / (max - min)).to(torch.int64).clamp(max=bins - 1)
    return torch.zeros(bins, dtype=x.dtype).index_add(0, places, seen.to(x.dtype))
