"""The first elements of a row in sorted order, without sorting the others: kept in order if they are few, or in a heap.

Most elements are turned down, several at once in one comparison. The order is that of `merge_sort`.
"""

from __future__ import annotations

from baton._src.ir.tensor_info import Dim
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
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt

PART = 4
"""Of a row of less than so many times the elements that are wanted, all are sorted."""


def best_first(x: k.Tensor, axis: int, count: Dim, descending: bool) -> k.Tensor:
    """int64 positions of the first `count` elements along `axis` in sorted order; the axis has at least so many."""
    wanted, extent = k.index(count), k.index(x.shape[axis])
    shape = tuple(wanted if n == axis else d for n, d in enumerate(x.shape))
    rows = [d for n, d in enumerate(x.shape) if n != axis]

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        def row(outer: tuple[k.Scalar, ...]) -> Stmt:
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

    return extern(shape, [x], body, "best_first", "int64")


def _from_heap(elements: Row, count: k.Scalar, size: k.Scalar) -> Stmt:
    """Write the positions of the best `count` of `size` elements: a heap, whose root is the last one, then sorted.

    Where they are a large part of the row, all of it is sorted.
    """

    def found(kept: k.Scalar) -> Stmt:
        def with_items(items: Items) -> Stmt:
            first = elements.fill(items, k.index(0), count)
            everything = elements.fill(items, count, size)
            chosen = when(kept < size, _into_heap(elements, items, count, size), everything)
            return both(first, chosen, items.sort(kept), elements.write(items, count))

        return Items.of(elements.ranked, kept, with_items)

    is_small_part = count * k.index(PART) < size
    if isinstance(is_small_part, tir.IntImm):
        return found(count if is_small_part.value else size)
    return let("kept", k.select(is_small_part, count, size), found)


def _into_heap(elements: Row, items: Items, count: k.Scalar, size: k.Scalar) -> Stmt:
    """The first `count` items become a heap, and the elements behind them come in if they are better."""
    root = k.index(0)

    def with_cursor(cursor: Buffer) -> Stmt:
        heap = Heap(items.at, items.put, lambda one, other: stands_before(other, one), (cursor, root))

        def challenge(place: k.Scalar) -> Stmt:
            return both(items.put(root, elements.item(place)), heap.sink(root, count))

        bound = elements.ranked.rank_of(items.at(root))
        return both(heap.arrange(count), elements.those_before(lambda: bound, count, size, challenge))

    return local("cursor", (1,), "int64", with_cursor)
