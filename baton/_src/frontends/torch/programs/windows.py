"""Windows of signals and the frequencies of transforms, in terms of PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from baton._src.frontends.torch.library import torch_library


def _window(form: Callable[..., Any]) -> Callable[..., Any]:
    """`form` of places from 0 to 1; a periodic window leaves out the last element, which would repeat the first."""

    def window(length: int, periodic: bool = True, *numbers: float, dtype: Any = None, **_: Any) -> Any:
        torch = torch_library()
        dtype = dtype or torch.get_default_dtype()
        if length < 2:
            return torch.ones(length, dtype=dtype)
        return form(torch.arange(length, dtype=dtype) / (length if periodic else length - 1), *numbers)

    return window


def _triangle(x: Any) -> Any:
    return 1 - (2 * x - 1).abs()


def _two_cosines(x: Any) -> Any:
    return 0.42 - 0.5 * (2 * math.pi * x).cos() + 0.08 * (4 * math.pi * x).cos()


def _cosine(x: Any, alpha: float = 0.54, beta: float = 0.46) -> Any:
    return alpha - beta * (2 * math.pi * x).cos()


def _bessel(x: Any, beta: float = 12.0) -> Any:
    torch = torch_library()
    return torch.i0(beta * (1 - (2 * x - 1).square()).sqrt()) / torch.i0(torch.full((), beta, dtype=x.dtype))


def frequencies(n: int, d: float = 1.0, *, dtype: Any = None, **_: Any) -> Any:
    """`fft.fftfreq`: those of the second half are negative."""
    torch = torch_library()
    k = torch.arange(n, dtype=dtype or torch.get_default_dtype())
    return torch.where(k < (n + 1) // 2, k, k - n) * (1 / (n * d))


def frequencies_of_reals(n: int, d: float = 1.0, *, dtype: Any = None, **_: Any) -> Any:
    """`fft.rfftfreq`"""
    torch = torch_library()
    return torch.arange(n // 2 + 1, dtype=dtype or torch.get_default_dtype()) * (1 / (n * d))


_PLAIN = ("default", "periodic")

WINDOWS: dict[str, Callable[..., Any]] = {
    **{f"aten.bartlett_window.{kind}": _window(_triangle) for kind in _PLAIN},
    **{f"aten.blackman_window.{kind}": _window(_two_cosines) for kind in _PLAIN},
    **{f"aten.hamming_window.{kind}": _window(_cosine) for kind in (*_PLAIN, "periodic_alpha", "periodic_alpha_beta")},
    **{f"aten.kaiser_window.{kind}": _window(_bessel) for kind in (*_PLAIN, "beta")},
    "aten.fft_fftfreq.default": frequencies,
    "aten.fft_rfftfreq.default": frequencies_of_reals,
}
