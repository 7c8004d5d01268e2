"""Orthogonal polynomials by the recurrences that lead from two degrees to the next one, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs.series import in_float64
from baton._src.support.dataclass import dataclass

_MOST = 128
"""Each degree is a step of the program."""


@dataclass(frozen=True)
class Family:
    """Polynomials of degree 0, 1, ...: 1, `first(x)`, and `following(k, x, p_k, p_(k-1))`."""

    first: Callable[[Any], Any]
    following: Callable[[int, Any, Any, Any], Any]

    def of(self, degree: int, x: Any) -> Any:
        """The one of a degree, which is 0 or more."""
        if not degree:
            return torch_library().ones_like(x)
        before, found = 1.0, self.first(x)
        for k in range(1, degree):
            before, found = found, self.following(k, x, found, before)
        return found


def _chebyshev(first: Callable[[Any], Any], shifted: bool) -> Family:
    """By twice the point; shifted ones live on [0, 1]."""

    def point(x: Any) -> Any:
        return 2 * x - 1 if shifted else x

    return Family(lambda x: first(point(x)), lambda k, x, p, before: 2 * point(x) * p - before)


_FIRST: dict[str, Callable[[Any], Any]] = {
    "t": lambda x: x,
    "u": lambda x: 2 * x,
    "v": lambda x: 2 * x - 1,
    "w": lambda x: 2 * x + 1,
}
"""Chebyshev's four kinds."""

FAMILIES: dict[str, Family] = {
    **{f"chebyshev_polynomial_{kind}": _chebyshev(first, False) for kind, first in _FIRST.items()},
    **{f"shifted_chebyshev_polynomial_{kind}": _chebyshev(first, True) for kind, first in _FIRST.items()},
    "hermite_polynomial_h": Family(lambda x: 2 * x, lambda k, x, p, before: 2 * (x * p - k * before)),
    "hermite_polynomial_he": Family(lambda x: x, lambda k, x, p, before: x * p - k * before),
    "laguerre_polynomial_l": Family(
        lambda x: 1 - x, lambda k, x, p, before: ((2 * k + 1 - x) * p - k * before) / (k + 1)
    ),
    "legendre_polynomial_p": Family(lambda x: x, lambda k, x, p, before: ((2 * k + 1) * x * p - k * before) / (k + 1)),
}
"""By the names that `torch.special` gives them."""


def polynomial_of_degree(name: str) -> Callable[[Any, Any], Any]:
    """A member of a family, whose degree must be known; below zero there is nothing."""

    def take_apart(x: Any, degree: Any) -> Any:
        if degree > _MOST:
            return NotImplemented
        found = in_float64(lambda y: FAMILIES[name].of(max(int(degree), 0), y))(x)
        return found if degree >= 0 else torch_library().zeros_like(found)

    return take_apart
