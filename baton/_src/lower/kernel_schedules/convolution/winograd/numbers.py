"""The transform matrices of Winograd's algorithm: m results of a filter of 3 taps from m + 2 products instead of 3 m.

    y = A^T ((G g) * (B^T d))        in two dims:   Y = A^T [(G g G^T) * (B^T d B)] A

The products are values at points of polynomials: 0, +-a (+-b), infinity. B and A are applied while the kernel runs, so
they are kept as short straight-line programs that share common terms; G is applied to weights when compiling. The
points are not the usual 1 and 2: with a = 1 / sqrt 2, b = sqrt 2 the numbers in B and A stay near one, and the error of
float32 is about half.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import numpy.typing as npt

from baton._src.support.dataclass import dataclass
from baton._src.values.tensor import AnyArray

TAPS = 3

Terms = tuple[tuple[float, int], ...]
"""A sum of factors times slots."""


@dataclass(frozen=True)
class Steps:
    """A linear map: slots 0, ..., inputs - 1 are given, every step makes the next slot, `outputs` are the result."""

    inputs: int
    steps: tuple[Terms, ...]
    outputs: tuple[int, ...]

    def matrix(self) -> AnyArray:
        """The map as (outputs, inputs)."""
        slots = list(np.eye(self.inputs))
        for terms in self.steps:
            slots.append(sum((factor * slots[slot] for factor, slot in terms), np.zeros(self.inputs)))
        return np.stack([slots[n] for n in self.outputs])


@dataclass(frozen=True)
class Transform:
    """F(m x m, 3 x 3): `results` points in each direction from `points` inputs."""

    results: int
    data: Steps
    """B^T"""
    sums: Steps
    """A^T"""
    filter: tuple[tuple[float, ...], ...]
    """G, row by row"""

    @property
    def points(self) -> int:
        return self.results + TAPS - 1

    @property
    def products(self) -> int:
        """Products for one tile and pair of channels."""
        return self.points * self.points

    def both(self, dtype: npt.DTypeLike) -> AnyArray:
        """(points^2, 9): what takes the nine taps of a filter g to G g G^T, rounded once."""
        g = np.array(self.filter)
        found: AnyArray = np.einsum("ik,jl->ijkl", g, g).reshape(self.products, TAPS * TAPS).astype(dtype)
        return found


def _filter(points: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    """A filter's values at finite points, over what B leaves out there, and at infinity."""
    rows = []
    for p in points:
        scale = 1.0
        for q in points:
            scale *= p - q if q != p else 1.0
        rows.append(tuple(p**k / scale for k in range(TAPS)))
    return (*rows, (0.0, 0.0, 1.0))


def _two() -> Transform:
    """Points 0, 1, -1, infinity."""
    data = Steps(4, (((1, 2), (-1, 0)), ((1, 2), (1, 1)), ((1, 2), (-1, 1)), ((1, 3), (-1, 1))), (4, 5, 6, 7))
    sums = Steps(4, (((1, 1), (1, 2)), ((1, 0), (1, 4)), ((1, 1), (-1, 2)), ((1, 6), (1, 3))), (5, 7))
    return Transform(2, data, sums, _filter((0.0, 1.0, -1.0)))


def _four(aa: float, bb: float) -> Transform:
    """Points 0, a, -a, b, -b, infinity, from the squares of a and b.

    Rows of a and -a are one even and one odd half, added and subtracted.
    """
    a, b = sqrt(aa), sqrt(bb)
    data = Steps(
        6,
        (
            ((1, 4), (-bb, 2)),  # 6: even at a
            ((1, 3), (-bb, 1)),  # 7: odd at a
            ((1, 4), (-aa, 2)),  # 8: even at b
            ((1, 3), (-aa, 1)),  # 9: odd at b
            ((1, 4), (-aa - bb, 2), (aa * bb, 0)),
            ((1, 6), (a, 7)),
            ((1, 6), (-a, 7)),
            ((1, 8), (b, 9)),
            ((1, 8), (-b, 9)),
            ((1, 5), (-aa - bb, 3), (aa * bb, 1)),
        ),
        (10, 11, 12, 13, 14, 15),
    )
    sums = Steps(
        6,
        (
            ((1, 1), (1, 2)),  # 6
            ((1, 1), (-1, 2)),  # 7
            ((1, 3), (1, 4)),  # 8
            ((1, 3), (-1, 4)),  # 9
            ((1, 0), (1, 6), (1, 8)),
            ((a, 7), (b, 9)),
            ((aa, 6), (bb, 8)),
            ((1, 5), (aa * a, 7), (bb * b, 9)),
        ),
        (10, 11, 12, 13),
    )
    return Transform(4, data, sums, _filter((0.0, a, -a, b, -b)))


TRANSFORMS: tuple[Transform, ...] = (_four(0.5, 2.0), _two())
