"""The first few elements of a row in sorted order, without sorting the others: a heap of the best ones so far.

The root of the heap is the worst of them. Most elements lose against it, several at once in one comparison. At the end
the heap is sorted by taking the root away again and again. The order is that of `merge_sort`: equal elements in the
order of their positions, NaN greater than any number.
"""

from __future__ import annotations

from typing import Any

from baton._src.ops import kernel_words as k
from baton._src.ops.any_lane import LANES, any_lane
from baton._src.ops.index.heap import Heap
from baton._src.ops.index.merge_sort import USUAL, comes_before
from baton._src.ops.loop_nests import both, let, load, local, loop, store, when
from baton._src.ops.vector_loops import over_rows
from baton._src.te.computation import extern
from baton._src.tir import expr as tir
from baton._src.tir.stmt import Stmt


def best_first(x: k.Tensor, axis: int, count: int, descending: bool) -> k.Tensor:
    """int64 positions of the first `count` elements along `axis` in sorted order; the axis has at least so many."""
    shape = tuple(k.index(count) if n == axis else d for n, d in enumerate(x.shape))
    rows = [d for n, d in enumerate(x.shape) if n != axis]

    def body(ins: Any, outs: Any) -> Stmt:
        (keys,), (places,) = ins, outs
        extent = k.index(x.shape[axis])

        def row(outer: tuple[Any, ...]) -> Stmt:
            def select(cursor: Any) -> Stmt:
                return _Selection(keys, places, cursor, outer, axis, count, descending).statements(extent)

            return local("cursor", [1], "int64", select)

        return over_rows(rows, extent.value if isinstance(extent, tir.IntImm) else USUAL, row)

    found: k.Tensor = extern([shape], [x], body, "best_first", ["int64"])
    return found


class _Selection:
    """The statements for one row: `places` holds the heap."""

    def __init__(
        self, keys: Any, places: Any, cursor: Any, outer: tuple[Any, ...], axis: int, count: int, descending: bool
    ) -> None:
        self.keys, self.places = keys, places
        self.outer, self.axis, self.count, self.descending = outer, axis, count, descending
        self.heap = Heap(self._at, self._put, self._is_worse, (cursor, k.index(0)))

    def statements(self, extent: Any) -> Stmt:
        count, zero, one = k.index(self.count), k.index(0), k.index(1)
        start = loop(count, lambda n: self._put(n, n), "s")
        inner = self.count // 2
        heaped = loop(inner, lambda n: self.heap.sink(k.index(inner - 1) - n, count), "h")

        def is_better(n: Any) -> Any:
            return comes_before(self._key(n + count), self._key(self._at(zero)), self.descending)

        def challenge(n: Any) -> Stmt:
            return when(is_better(n), both(self._put(zero, n + count), self.heap.sink(zero, count)))

        def challenge_block(block: Any) -> Stmt:
            first = block * k.index(LANES)
            each = loop(LANES, lambda n: challenge(first + n), "n")
            return any_lane(lambda lane: is_better(first + lane), lambda found: when(found, each))

        def take_away(n: Any) -> Stmt:
            last = count - one - n

            def exchanged(worst: Any) -> Stmt:
                return both(self._put(zero, self._at(last)), self._put(last, worst), self.heap.sink(zero, last))

            return let("worst", self._at(zero), exchanged)

        others = extent - count
        blocks = others // k.index(LANES) if self.axis == len(self.outer) else zero  # neighbours are loaded at once
        done = blocks * k.index(LANES)
        rest = loop(others - done, lambda n: challenge(done + n), "n")
        taken = loop(self.count - 1, take_away, "t")
        return both(start, heaped, loop(blocks, challenge_block, "b"), rest, taken)

    def _is_worse(self, one: Any, other: Any) -> Any:
        """Whether the first of two positions is ordered after the second."""
        after = comes_before(self._key(other), self._key(one), self.descending)
        before = comes_before(self._key(one), self._key(other), self.descending)
        return tir.Or(after, tir.And(tir.Not(before), tir.GT(one, other)))

    def _at(self, node: Any) -> Any:
        return load(self.places, *self._indices(node))

    def _put(self, node: Any, position: Any) -> Stmt:
        return store(self.places, self._indices(node), position)

    def _key(self, position: Any) -> Any:
        return k.wide(load(self.keys, *self._indices(position)))

    def _indices(self, place: Any) -> list[Any]:
        return [*self.outer[: self.axis], place, *self.outer[self.axis :]]
