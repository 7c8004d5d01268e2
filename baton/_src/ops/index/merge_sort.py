"""The order of elements along an axis, in TIR and over NumPy.

It is stable in both directions (equal elements keep their order). NaN counts as greater than any number.
"""

from __future__ import annotations

import numpy as np

from baton._src.ops import kernel_words as k
from baton._src.ops.index.ranked_row import Row, steps_of_row
from baton._src.ops.index.ranks import Ranked
from baton._src.ops.index.sorted_items import Items
from baton._src.ops.loop_nests import both
from baton._src.ops.precision import wide
from baton._src.ops.vector_loops import over_rows
from baton._src.te.computation import extern
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.tensor import AnyArray


def order(x: k.Tensor, axis: int, descending: bool) -> k.Tensor:
    """int64 positions along `axis`, in sorted order; the shape of `x`."""
    extent = k.index(x.shape[axis])
    rows = [d for a, d in enumerate(x.shape) if a != axis]

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        def row(outer: tuple[k.Scalar, ...]) -> Stmt:
            elements = Row(ins[0], outs[0], outer, axis, Ranked(x.dtype, descending))

            def ordered(items: Items) -> Stmt:
                return both(elements.fill(items, k.index(0), extent), items.sort(extent), elements.write(items, extent))

            return elements.checked(extent, Items.of(elements.ranked, extent, ordered))

        return over_rows(rows, steps_of_row(extent), row)

    return extern(tuple(x.shape), [x], body, "sort_order", "int64")


def reference_order(x: AnyArray, axis: int, descending: bool) -> AnyArray:
    """A stable argsort, NaN greatest: NumPy has it so of its own floats."""
    x = wide(x)
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    flipped = np.flip(x, axis)
    found = np.flip(np.argsort(flipped, axis=axis, kind="stable"), axis)
    last: int = x.shape[axis] - 1
    return np.asarray(last - found)
