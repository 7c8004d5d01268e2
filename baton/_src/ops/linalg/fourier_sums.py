"""Fourier transforms as sums, for lengths that are open, and those that no faster way is found for.

The sines of one turn are computed once, n of them, and read at f * t mod n, which keeps them exact for long signals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from baton._src.ir.tensor_info import Dim
from baton._src.ops import kernel_words as k

LONG = "float64"
"""What is added up."""
_TURN = 2 * np.pi


def tables(count: Dim, sign: float) -> tuple[k.Tensor, k.Tensor]:
    """(cos, sin) of 0, 1, ... count - 1 parts of a turn."""

    def angle(i: k.Scalar) -> k.Scalar:
        return k.const(sign * _TURN, LONG) * k.cast(LONG, i) / k.cast(LONG, k.index(count))

    one, other = (
        k.compute((count,), lambda i, f=f: f(angle(i)), name) for f, name in ((k.cos, "cosines"), (k.sin, "sines"))
    )
    return one, other


def sums(
    parts: Sequence[k.Tensor],
    count: Dim,
    sign: float,
    results: Sequence[k.Result],
    scaled: Callable[[k.Scalar], k.Scalar],
    weight: Callable[[k.Scalar], k.Scalar] | None = None,
) -> list[k.Tensor]:
    """The real and the imaginary part (as many as there are `results`) of the transform of `count` elements, of which
    `parts` hold some; each element times its `weight`, each sum `scaled`.
    """
    cosines, sines = tables(count, sign)

    def part(number: int, result: k.Result) -> k.Tensor:
        axis = k.reduce_axis(parts[0].shape[-1], "t")

        def body(*i: k.Scalar) -> k.Scalar:
            place = i[-1] * axis.var % k.divisor(count)
            x = [k.cast(LONG, p(*i[:-1], axis.var)) for p in parts]
            own, other = (sines, cosines) if number else (cosines, sines)
            value = x[0] * own(place)
            if len(x) == 2:
                value = value + x[1] * other(place) if number else value - x[1] * other(place)
            return k.reduce_sum(value if weight is None else value * weight(axis.var), [axis])

        total = k.compute(k.dims(result.shape), body, f"part{number}")
        return k.compute(
            k.dims(result.shape), lambda *i: k.cast(result.dtype, scaled(total(*i))), f"part{number}_scaled"
        )

    return [part(number, result) for number, result in enumerate(results)]
