"""Places of a resized axis in closed form: only where every one of them agrees."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.ops.image.resampling import Steps, even_steps


@pytest.mark.parametrize(
    ("places", "before", "expected"),
    [
        ([0, 0, 1, 1, 2, 2], 3, Steps(0, 1, 2)),
        ([0, 0, 0, 0, 1, 1, 1, 1], 2, Steps(0, 1, 4)),
        ([1, 3, 5], 6, Steps(1, 2, 1)),
        ([0, 1, 2], 3, Steps(0, 1, 1)),
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
