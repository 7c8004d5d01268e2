"""The first elements of a row in sorted order, without sorting the others: kept in order if they are few, or in a heap.

Most elements are turned down, several at once in one comparison. The order is that of `merge_sort`.
"""

from __future__ import annotations

from typing import Any

from baton._src.ops import kernel_words as k
from baton._src.ops.index.few_in_order import FEW, few_in_order
from baton._src.ops.index.heap import Heap
from baton._src.ops.index.ranked_row import Row, steps_of_row
from baton._src.ops.index.ranks import Ranked, stands_before
from baton._src.ops.index.sorted_items import Items
from baton._src.ops.loop_nests import both, let, local, when
from baton._src.ops.vector_loops import over_rows
from baton._src.te.computation import extern
from baton._src.tir import expr as tir
from baton._src.tir.stmt import Stmt


def best_first(x: k.Tensor, axis: int, count: Any, descending: bool) -> k.Tensor:
    """int64 positions of the first `count` elements along `axis` in sorted order; the axis has at least so many."""
    wanted, extent = k.index(count), k.index(x.shape[axis])
    shape = tuple(wanted if n == axis else d for n, d in enumerate(x.shape))
    rows = [d for n, d in enumerate(x.shape) if n != axis]

    def body(ins: Any, outs: Any) -> Stmt:
        def row(outer: tuple[Any, ...]) -> Stmt:
            elements = Row(ins[0], outs[0], outer, axis, Ranked(x.dtype, descending))

            if isinstance(wanted, tir.IntImm):
                found = (few_in_order if wanted.value <= FEW else _from_heap)(elements, wanted, extent)
            else:
                few, many = (way(elements, wanted, extent) for way in (few_in_order, _from_heap))
                found = when(wanted <= k.index(FEW), few, many)
            if isinstance(extent, tir.IntImm):
                return found
            enough = k.within(wanted, extent + k.index(1), "{0} elements are requested of rows that have less than {1}")
            return elements.checked(extent, let("enough", enough, lambda _: found))

        return over_rows(rows, steps_of_row(extent), row)

    found: k.Tensor = extern([shape], [x], body, "best_first", ["int64"])
    return found


def _from_heap(elements: Row, count: Any, size: Any) -> Stmt:
    """Write the positions of the best `count` of `size` elements: a heap, whose root is the last one, then sorted."""

    def with_items(items: Items) -> Stmt:
        def selected(cursor: Any) -> Stmt:
            heap = Heap(items.at, items.put, lambda one, other: stands_before(other, one), (cursor, k.index(0)))
            root = k.index(0)

            def challenge(place: Any) -> Stmt:
                return both(items.put(root, elements.item(place)), heap.sink(root, count))

            others = elements.those_before(lambda: elements.ranked.rank_of(items.at(root)), count, size, challenge)
            select = when(size > count, both(heap.arrange(count), others))
            return both(elements.fill(items, count), select, items.sort(count), elements.write(items, count))

        return local("cursor", (1,), "int64", selected)

    return Items.of(elements.ranked, count, with_items)
