"""How much two boxes overlap: intersection over union, for kernels and over NumPy; and boxes that stay.

A box is four numbers, two opposite corners in any order; boxes without area overlap nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.ops import kernel_words as k
from baton._src.ops.any_lane import LANES, any_lane
from baton._src.ops.loop_nests import both, lets, load, store, when
from baton._src.support.dataclass import dataclass
from baton._src.tir.stmt import Stmt, While

SIDES = ("top", "left", "bottom", "right", "area")
_ZERO, _ONE = k.index(0), k.index(1)
_STAYS, _LOOKED_AT = _ZERO, _ONE


def with_box(boxes: Any, b: Any, i: Any, start: int, body: Callable[..., Stmt]) -> Stmt:
    """`body(top, left, bottom, right, area)` of row `i` of image `b`; the row's first corner is at `start`."""
    ends = [[load(boxes, b, i, k.index(start + axis + 2 * end)) for end in (0, 1)] for axis in (0, 1)]
    lows, highs = [k.minimum(*e) for e in ends], [k.maximum(*e) for e in ends]

    def with_area(*corners: Any) -> Stmt:
        area = (corners[2] - corners[0]) * (corners[3] - corners[1])
        return lets([(SIDES[4], area)], lambda area: body(*corners, area))

    return lets(list(zip(SIDES, [*lows, *highs])), with_area)


def _share(one: Any, other: Any) -> Any:
    """The overlap of two boxes, each (top, left, bottom, right, area)."""
    zero = k.const(0, one[0].dtype)
    heights, widths = (k.minimum(one[n + 2], other[n + 2]) - k.maximum(one[n], other[n]) for n in (0, 1))
    common = k.maximum(heights, zero) * k.maximum(widths, zero)
    union = one[4] + other[4] - common
    return k.select(union > zero, common / union, zero)


@dataclass(frozen=True, slots=True)
class KeptBoxes:
    """The statements for boxes that stay, column by column, so that `LANES` of them are compared at once."""

    columns: Any
    """(sides and other columns, room for every box and `LANES` more); the sides have the dtype of the boxes."""
    numbers: Any
    """int64 (2,): how many stay, and how many of them were looked at, -1 once one is near."""

    @staticmethod
    def scratch(room: Any, dtype: object, columns: int = len(SIDES)) -> tuple[list[Any], list[Any]]:
        """Shapes and dtypes of the two buffers."""
        return [(k.index(columns), k.index(room) + k.index(LANES)), (k.index(2),)], [dtype, "int64"]

    @property
    def count(self) -> Any:
        """How many stay."""
        return load(self.numbers, _STAYS)

    def clear(self) -> Stmt:
        """None stays."""
        return store(self.numbers, [_STAYS], _ZERO)

    def keep(self, *columns: Any) -> Stmt:
        """One more box."""
        put = (store(self.columns, [k.index(n), self.count], value) for n, value in enumerate(columns))
        return both(*put, store(self.numbers, [_STAYS], self.count + _ONE))

    def unless_near(self, box: Any, is_near: Callable[..., Any], otherwise: Stmt) -> Stmt:
        """`otherwise`, unless a box that stays is near: `is_near(its overlap with box, its other columns...)`."""
        place = load(self.numbers, _LOOKED_AT)

        def look(at: Any) -> Stmt:
            def test(lane: Any) -> Any:
                columns = [load(self.columns, k.index(n), at + lane) for n in range(int(self.columns.shape[0]))]
                return k.all_of([at + lane < self.count, is_near(_share(columns, box), *columns[len(SIDES) :])])

            def go_on(found: Any) -> Stmt:
                return store(self.numbers, [_LOOKED_AT], k.select(found, k.index(-1), at + k.index(LANES)))

            return any_lane(test, go_on)

        some_left = k.tir.And(place >= _ZERO, place < self.count)
        last = k.index(self.columns.shape[1]) - k.index(LANES)
        inside = k.maximum(k.minimum(place, last), _ZERO)  # it is, but says so: nothing is checked, vectors are loaded
        walk = While(some_left, look(inside))
        return both(store(self.numbers, [_LOOKED_AT], _ZERO), walk, when(place >= _ZERO, otherwise))


def overlap_of_arrays(one: Any, other: Any) -> Any:
    """Of two arrays of four numbers."""
    corners = np.sort(np.stack([v.reshape(2, 2) for v in (one, other)]), axis=1)
    common = np.maximum(corners[:, 1].min(axis=0) - corners[:, 0].max(axis=0), 0).prod()
    union = np.prod(corners[:, 1] - corners[:, 0], axis=1).sum() - common
    return common / union if union > 0 else 0
