"""Places of a resized axis in closed form: only where every one of them agrees."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.ops.image.resampling import LARGEST, Steps, even_steps, te_scalars
from baton._src.tir import expr as tir
from baton._src.tir.evaluation.expressions import evaluate


@pytest.mark.parametrize(
    ("places", "before", "expected"),
    [
        ([0, 0, 1, 1, 2, 2], 3, Steps(0, 1, 2)),
        ([0, 0, 0, 0, 1, 1, 1, 1], 2, Steps(0, 1, 4)),
        ([1, 3, 5], 6, Steps(1, 2, 1)),
        ([0, 1, 2], 3, Steps(0, 1, 1)),
        ([-1, 0, 0, 1, 1, 2], 3, Steps(-1, 1, 2, 1)),
        ([0, 0, 1, 1, 2], 3, None),
        ([0, 1, 1, 2, 2, 2], 3, None),
        ([0, 1, 3], 4, None),
        ([2, 1, 0], 3, None),
        ([0], 3, None),
        ([0, 0], 0, None),
    ],
)
def test_steps(places: list[int], before: int, expected: Steps | None) -> None:
    """Guards repetitions, strides, and everything that is neither."""
    assert even_steps(np.array(places), before) == expected


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("times", [1, 2, 3, 7, 17, 49, 1000])
def test_floats_are_the_same_places(times: int, dtype: str) -> None:
    """Guards quotients of floats, up to the largest: not one is rounded to the place beside."""
    steps, i = Steps(-1, 1, times, times // 2), tir.Var("i", "int64")
    borders = [n - steps.ahead + e for n in (times, 5 * times, LARGEST // times * times) for e in (-1, 0, 1)]
    for n in (n for n in borders if 0 <= n < LARGEST):
        assert evaluate(steps.low(te_scalars(dtype), i), {i: n}) == evaluate(steps.at(i), {i: n})
