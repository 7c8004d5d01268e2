"""How much two boxes overlap: intersection over union, for kernels and over NumPy.

A box is four numbers, two opposite corners in any order; boxes without area overlap nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.ops import kernel_words as k
from baton._src.ops.loop_nests import both, let, load, store, when
from baton._src.tir.stmt import Stmt, While

NUMBERS = 2
"""Elements of the int64 buffer of `unless_any`."""
STAYS, _LOOKED_AT = k.index(0), k.index(1)
"""Where it holds how many boxes stay, and how many of them were looked at."""


def overlap(boxes: Any, b: Any, i: Any, j: Any, start: int = 0) -> Any:
    """Of rows `i` and `j` of image `b` in a buffer of boxes whose first corner is at `start`."""
    zero, one = k.const(0, boxes.dtype), k.const(1, boxes.dtype)
    sides, areas = [], [one, one]
    for axis in (0, 1):
        ends = []
        for n, box in enumerate((i, j)):
            p, q = (load(boxes, b, box, k.index(start + axis + 2 * end)) for end in (0, 1))
            ends.append((k.minimum(p, q), k.maximum(p, q)))
            areas[n] = areas[n] * (ends[-1][1] - ends[-1][0])
        shared = k.minimum(ends[0][1], ends[1][1]) - k.maximum(ends[0][0], ends[1][0])
        sides.append(k.maximum(shared, zero))
    common = sides[0] * sides[1]
    union = areas[0] + areas[1] - common
    return k.select(union > zero, common / union, zero)


def unless_any(kept: Any, numbers: Any, is_near: Callable[[Any], Any], otherwise: Stmt) -> Stmt:
    """`otherwise`, unless one of the boxes `kept` holds (as many as `numbers` tells) is near; the first one ends it."""
    looked_at, stays, zero = load(numbers, _LOOKED_AT), load(numbers, STAYS), k.index(0)
    found = k.index(-1)

    def test(box: Any) -> Stmt:
        following = k.select(is_near(box), found, looked_at + k.index(1))
        return store(numbers, [_LOOKED_AT], following)

    more = k.tir.And(looked_at >= zero, looked_at < stays)
    return both(
        store(numbers, [_LOOKED_AT], zero),
        While(more, let("other", load(kept, looked_at), test)),
        when(looked_at >= zero, otherwise),
    )


def overlap_of_arrays(one: Any, other: Any) -> Any:
    """Of two arrays of four numbers."""
    corners = np.sort(np.stack([v.reshape(2, 2) for v in (one, other)]), axis=1)
    common = np.maximum(corners[:, 1].min(axis=0) - corners[:, 0].max(axis=0), 0).prod()
    union = np.prod(corners[:, 1] - corners[:, 0], axis=1).sum() - common
    return common / union if union > 0 else 0
