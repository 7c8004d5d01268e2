"""The roots of one."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from baton._src.values.tensor import AnyArray


@lru_cache(maxsize=64)
def roots(length: int, sign: int) -> AnyArray:
    """All roots of 1, counted from 1 in the direction of `sign`.

    Quarters of a turn are exact, and zeros positive: where a spectrum of real numbers is real, its angle is 0 or pi.
    """
    turns = np.arange(length)
    angle = 2 * np.pi * turns / length
    cosine, sine = np.cos(angle), np.sin(angle)
    quarters = turns[4 * turns % length == 0]
    for part, values in ((cosine, (1, 0, -1, 0)), (sine, (0, 1, 0, -1))):
        part[quarters] = np.take(values, 4 * quarters // length)
    found = np.empty(length, np.complex128)
    found.real, found.imag = cosine, sign * sine + 0.0
    found.setflags(write=False)
    return found
