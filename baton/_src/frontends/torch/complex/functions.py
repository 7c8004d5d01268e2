"""Functions of complex numbers in terms of their parts, for operators that PyTorch does not decompose.

The parts are computed in float64, so that cancellation costs float32 no precision. On branch cuts the sign of a zero
decides the side, as in PyTorch: 1 - z is made part by part. Those of inverse sines follow W. Kahan, "Branch cuts for
complex elementary functions" (1987).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from baton._src.frontends.torch.library import torch_library

Parts = tuple[Any, Any]
"""The real and the imaginary part, doubles."""
Function = Callable[[Any, Any], Parts]
_STEEP = 175.0
"""From which on tanh is 1, while the square of sinh is still a number."""


def of_parts(function: Function) -> Callable[[Any], Any]:
    """A function of a complex tensor from one of its parts."""

    def take_apart(z: Any) -> Any:
        torch = torch_library()
        real, imag = z.real, z.imag
        return torch.complex(
            *(part.to(real.dtype) for part in function(real.to(torch.float64), imag.to(torch.float64)))
        )

    return take_apart


def logarithm(base: float = math.e) -> Function:
    scale = 1 / math.log(base)

    def function(a: Any, b: Any) -> Parts:
        torch = torch_library()
        return torch.log(torch.hypot(a, b)) * scale, torch.atan2(b, a) * scale

    return function


def logarithm_of_next(a: Any, b: Any) -> Parts:
    """log(1 + z), where little of z is not lost."""
    torch = torch_library()
    near = torch.log1p(a * (2 + a) + b * b) / 2
    far = torch.log(torch.hypot(1 + a, b))
    return torch.where(torch.maximum(a.abs(), b.abs()) < 1, near, far), torch.atan2(b, 1 + a)


def exponential(a: Any, b: Any) -> Parts:
    torch = torch_library()
    size = torch.exp(a)
    return size * torch.cos(b), torch.where(b == 0, b, size * torch.sin(b))


def exponential_less_one(a: Any, b: Any) -> Parts:
    torch = torch_library()
    half = torch.sin(b / 2)
    return torch.expm1(a) * torch.cos(b) - 2 * half * half, torch.exp(a) * torch.sin(b)


def power_of_two(a: Any, b: Any) -> Parts:
    return exponential(a * math.log(2), b * math.log(2))


def root(a: Any, b: Any) -> Parts:
    """The square root right of zero: one part by the size, the other one by what twice their product is."""
    torch = torch_library()
    long = torch.sqrt((torch.hypot(a, b) + a.abs()) / 2)
    short = torch.where(long == 0, 0.0, b.abs() / (2 * torch.where(long == 0, 1.0, long)))
    return torch.where(a < 0, short, long), torch.copysign(torch.where(a < 0, long, short), b)


def reciprocal(a: Any, b: Any) -> Parts:
    """Scaled by the larger part, so that nothing overflows; of zero infinite, in PyTorch."""
    torch = torch_library()
    scale = torch.maximum(a.abs(), b.abs())
    c, d = a / scale, b / scale
    below = scale * (c * c + d * d)
    return torch.where(scale == 0, math.inf, c / below), -d / below


def reciprocal_root(a: Any, b: Any) -> Parts:
    return reciprocal(*root(a, b))


def sigmoid(a: Any, b: Any) -> Parts:
    """1 / (1 + exp(-z)), of the side on which exp is small."""
    torch = torch_library()
    x, y = exponential(-a.abs(), torch.where(a < 0, b, -b))
    right = reciprocal(1 + x, y)
    left = product_of_parts(x, y, *right)
    return torch.where(a < 0, left[0], right[0]), torch.where(a < 0, left[1], right[1])


def silu(a: Any, b: Any) -> Parts:
    return product_of_parts(a, b, *sigmoid(a, b))


def product_of_parts(a: Any, b: Any, c: Any, d: Any) -> Parts:
    return a * c - b * d, a * d + b * c


def sine(a: Any, b: Any) -> Parts:
    return _over_i(hyperbolic_sine(*_times_i(a, b)))


def cosine(a: Any, b: Any) -> Parts:
    return hyperbolic_cosine(*_times_i(a, b))


def tangent(a: Any, b: Any) -> Parts:
    return _over_i(hyperbolic_tangent(*_times_i(a, b)))


def _times_i(a: Any, b: Any) -> Parts:
    """iz"""
    return -b, a


def _over_i(z: Parts) -> Parts:
    """z / i"""
    return z[1], -z[0]


def hyperbolic_sine(a: Any, b: Any) -> Parts:
    torch = torch_library()
    return torch.sinh(a) * torch.cos(b), torch.where(b == 0, b, torch.cosh(a) * torch.sin(b))


def hyperbolic_cosine(a: Any, b: Any) -> Parts:
    torch = torch_library()
    return torch.cosh(a) * torch.cos(b), torch.where(b == 0, b, torch.sinh(a) * torch.sin(b))


def hyperbolic_tangent(a: Any, b: Any) -> Parts:
    torch = torch_library()
    a = a.clamp(-_STEEP, _STEEP)
    sinh, cos = torch.sinh(a), torch.cos(b)
    below = sinh * sinh + cos * cos
    return sinh * torch.cosh(a) / below, torch.sin(b) * cos / below


def inverse_sine(a: Any, b: Any) -> Parts:
    torch = torch_library()
    below, above = root(1 - a, -b), root(1 + a, b)
    real, _ = product_of_parts(*below, *above)
    _, imag = product_of_parts(below[0], -below[1], *above)
    return torch.atan2(a, real), torch.asinh(imag)


def inverse_cosine(a: Any, b: Any) -> Parts:
    torch = torch_library()
    below, above = root(1 - a, -b), root(1 + a, b)
    _, imag = product_of_parts(above[0], -above[1], *below)
    return 2 * torch.atan2(below[0], above[0]), torch.asinh(imag)


def inverse_hyperbolic_cosine(a: Any, b: Any) -> Parts:
    torch = torch_library()
    below, above = root(a - 1, b), root(a + 1, b)
    real, _ = product_of_parts(below[0], -below[1], *above)
    return torch.asinh(real), 2 * torch.atan2(below[1], above[0])


def inverse_hyperbolic_sine(a: Any, b: Any) -> Parts:
    return _over_i(inverse_sine(*_times_i(a, b)))


def inverse_tangent(a: Any, b: Any) -> Parts:
    return _over_i(inverse_hyperbolic_tangent(*_times_i(a, b)))


def inverse_hyperbolic_tangent(a: Any, b: Any) -> Parts:
    torch = torch_library()
    short = (1 - a.abs()) * (1 - a.abs()) + b * b
    real = torch.copysign(torch.log1p(4 * a.abs() / short) / 4, a)
    return real, torch.atan2(2 * b, (1 - a) * (1 + a) - b * b) / 2


def sign(a: Any, b: Any) -> Parts:
    """z / |z|; nothing has none."""
    torch = torch_library()
    size = torch.hypot(a, b)
    size = torch.where(size == 0, 1.0, size)
    return a / size, b / size
