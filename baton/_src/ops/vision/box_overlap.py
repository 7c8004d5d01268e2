"""How much two boxes overlap: intersection over union, for kernels and over NumPy; and boxes that stay.

A box is four numbers, two opposite corners in any order; boxes without area overlap nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from baton._src.ir.tensor_info import Dim
from baton._src.ops import kernel_words as k
from baton._src.ops.any_lane import LANES, any_lane
from baton._src.ops.dims import known_dim
from baton._src.ops.loop_nests import both, lets, load, store, when
from baton._src.support.dataclass import dataclass
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt, While
from baton._src.values.tensor import AnyArray

SIDES = ("top", "left", "bottom", "right", "area")
_ZERO, _ONE = k.index(0), k.index(1)
_STAYS, _LOOKED_AT = _ZERO, _ONE


def with_box(boxes: Buffer, b: k.Scalar, i: k.Scalar, start: int, body: Callable[..., Stmt]) -> Stmt:
    """`body(top, left, bottom, right, area)` of row `i` of image `b`; the row's first corner is at `start`."""
    ends = [[load(boxes, b, i, k.index(start + axis + 2 * end)) for end in (0, 1)] for axis in (0, 1)]
    lows, highs = [k.minimum(*e) for e in ends], [k.maximum(*e) for e in ends]

    def with_area(*corners: k.Scalar) -> Stmt:
        area = (corners[2] - corners[0]) * (corners[3] - corners[1])
        return lets([(SIDES[4], area)], lambda area: body(*corners, area))

    return lets(list(zip(SIDES, [*lows, *highs])), with_area)


def _share(one: k.Indices, other: k.Indices) -> k.Scalar:
    """The overlap of two boxes, each (top, left, bottom, right, area)."""
    zero = k.const(0, one[0].dtype)
    heights, widths = (k.minimum(one[n + 2], other[n + 2]) - k.maximum(one[n], other[n]) for n in (0, 1))
    common = k.maximum(heights, zero) * k.maximum(widths, zero)
    union = one[4] + other[4] - common
    return k.select(union > zero, common / union, zero)


@dataclass(frozen=True, slots=True)
class KeptBoxes:
    """The statements for boxes that stay, column by column, so that `LANES` of them are compared at once."""

    columns: Buffer
    """(sides and other columns, room for every box and `LANES` more); the sides have the dtype of the boxes."""
    numbers: Buffer
    """int64 (2,): how many stay, and how many of them were looked at, -1 once one is near."""

    @staticmethod
    def scratch(room: Dim, dtype: object, columns: int = len(SIDES)) -> tuple[list[tuple[k.Scalar, ...]], list[object]]:
        """Shapes and dtypes of the two buffers."""
        return [(k.index(columns), k.index(room) + k.index(LANES)), (k.index(2),)], [dtype, "int64"]

    @property
    def count(self) -> k.Scalar:
        """How many stay."""
        return load(self.numbers, _STAYS)

    def clear(self) -> Stmt:
        """None stays."""
        return store(self.numbers, [_STAYS], _ZERO)

    def keep(self, *columns: k.Scalar) -> Stmt:
        """One more box."""
        put = (store(self.columns, [k.index(n), self.count], value) for n, value in enumerate(columns))
        return both(*put, store(self.numbers, [_STAYS], self.count + _ONE))

    def unless_near(self, box: k.Indices, is_near: Callable[..., k.Scalar], otherwise: Stmt) -> Stmt:
        """`otherwise`, unless a box that stays is near: `is_near(its overlap with box, its other columns...)`."""
        place = load(self.numbers, _LOOKED_AT)

        def look(at: k.Scalar) -> Stmt:
            def test(lane: k.Scalar) -> k.Scalar:
                columns = [load(self.columns, k.index(n), at + lane) for n in range(known_dim(self.columns.shape[0]))]
                return k.all_of([at + lane < self.count, is_near(_share(columns, box), *columns[len(SIDES) :])])

            def go_on(found: k.Scalar) -> Stmt:
                return store(self.numbers, [_LOOKED_AT], k.select(found, k.index(-1), at + k.index(LANES)))

            return any_lane(test, go_on)

        some_left = k.tir.And(place >= _ZERO, place < self.count)
        last = k.index(self.columns.shape[1]) - k.index(LANES)
        inside = k.maximum(k.minimum(place, last), _ZERO)  # it is, but says so: nothing is checked, vectors are loaded
        walk = While(some_left, look(inside))
        return both(store(self.numbers, [_LOOKED_AT], _ZERO), walk, when(place >= _ZERO, otherwise))


def overlap_of_arrays(one: AnyArray, other: AnyArray) -> float:
    """Of two arrays of four numbers."""
    corners = np.sort(np.stack([v.reshape(2, 2) for v in (one, other)]), axis=1)
    common = np.maximum(corners[:, 1].min(axis=0) - corners[:, 0].max(axis=0), 0).prod()
    union = np.prod(corners[:, 1] - corners[:, 0], axis=1).sum() - common
    found: float = common / union if union > 0 else 0.0
    return found
