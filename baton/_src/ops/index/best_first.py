"""The first few elements of a row in sorted order, without sorting the others: a heap of the best ones so far.

The root of the heap is the worst of them. Most elements lose against it and cost one comparison. At the end the heap is
sorted by taking the root away again and again. The order is that of `merge_sort`: equal elements in the order of their
positions, NaN greater than any number.
"""

from __future__ import annotations

from typing import Any

from baton._src.ops import kernel_words as k
from baton._src.ops.index.merge_sort import comes_before
from baton._src.ops.loop_nests import both, let, load, loop, loops, store, when
from baton._src.te.computation import extern
from baton._src.tir import expr as tir
from baton._src.tir.stmt import Stmt


def best_first(x: k.Tensor, axis: int, count: int, descending: bool) -> k.Tensor:
    """int64 positions of the first `count` elements along `axis` in sorted order; the axis has at least so many."""
    shape = tuple(k.index(count) if n == axis else d for n, d in enumerate(x.shape))
    rows = [d for n, d in enumerate(x.shape) if n != axis]

    def body(ins: Any, outs: Any) -> Stmt:
        (keys,), (places, cursor) = ins, outs

        def row(*outer: Any) -> Stmt:
            return _Heap(keys, places, cursor, outer, axis, count, descending).selection(x.shape[axis])

        return loops(rows, row, "r")

    found: k.Tensor = extern([shape, (k.index(1),)], [x], body, "best_first", ["int64", "int64"])[0]
    return found


class _Heap:
    """The statements for one row: `places` holds the heap, `cursor` the node that sinks."""

    def __init__(
        self, keys: Any, places: Any, cursor: Any, outer: tuple[Any, ...], axis: int, count: int, descending: bool
    ) -> None:
        self.keys, self.places, self.cursor = keys, places, cursor
        self.outer, self.axis, self.count, self.descending = outer, axis, count, descending

    def selection(self, extent: Any) -> Stmt:
        count, zero, one = k.index(self.count), k.index(0), k.index(1)
        start = loop(count, lambda n: self._put(n, n), "s")
        heaped = loop(self.count // 2, lambda n: self._sink(k.index(self.count // 2 - 1) - n, count), "h")

        def challenge(n: Any) -> Stmt:
            place = n + count
            better = comes_before(self._key(place), self._key(self._at(zero)), self.descending)
            return when(better, both(self._put(zero, place), self._sink(zero, count)))

        def take_away(n: Any) -> Stmt:
            last = count - one - n
            return let(
                "worst",
                self._at(zero),
                lambda worst: both(self._put(zero, self._at(last)), self._put(last, worst), self._sink(zero, last)),
            )

        return both(start, heaped, loop(k.index(extent) - count, challenge, "n"), loop(self.count - 1, take_away, "t"))

    def _sink(self, start: Any, size: Any) -> Stmt:
        """Exchange a node with the worse one of its children until neither is worse than it, among `size` nodes."""
        zero, one = k.index(0), k.index(1)

        def level(_: Any) -> Stmt:
            return let("node", load(self.cursor, zero), below)

        def below(node: Any) -> Stmt:
            left, right = node * k.index(2) + one, node * k.index(2) + k.index(2)
            is_right = k.if_then_else(tir.LT(right, size), self._is_worse(right, left), tir.IntImm("bool", 0))
            return when(
                tir.LT(left, size), let("child", k.if_then_else(is_right, right, left), lambda c: exchange(node, c))
            )

        def exchange(node: Any, child: Any) -> Stmt:
            swapped = let(
                "upper", self._at(node), lambda upper: both(self._put(node, self._at(child)), self._put(child, upper))
            )
            return when(
                self._is_worse(child, node),
                both(swapped, store(self.cursor, [zero], child)),
                store(self.cursor, [zero], size),
            )

        return both(store(self.cursor, [zero], start), loop(self.count.bit_length(), level, "d"))

    def _is_worse(self, a: Any, b: Any) -> Any:
        """Whether node `a` is ordered after node `b`."""
        first, second = self._at(a), self._at(b)
        after = comes_before(self._key(second), self._key(first), self.descending)
        before = comes_before(self._key(first), self._key(second), self.descending)
        return tir.Or(after, tir.And(tir.Not(before), tir.GT(first, second)))

    def _at(self, node: Any) -> Any:
        return load(self.places, *self._indices(node))

    def _put(self, node: Any, place: Any) -> Stmt:
        return store(self.places, self._indices(node), place)

    def _key(self, place: Any) -> Any:
        return k.wide(load(self.keys, *self._indices(place)))

    def _indices(self, place: Any) -> list[Any]:
        return [*self.outer[: self.axis], place, *self.outer[self.axis :]]
