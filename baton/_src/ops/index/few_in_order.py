"""The first few elements of a row, in order all the time.

    best = [2, 5, 7, 9], 6 arrives:     max([ , 2, 5, 7], 6) = [6, 6, 6, 7]     min(best, that) = [2, 5, 6, 7]

An item that belongs among the best ones moves those behind it by one place: a maximum and a minimum of vectors. Most
elements are turned down, several at once in one comparison.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ops import kernel_words as k
from baton._src.ops.index.ranked_row import Row
from baton._src.ops.index.ranks import Item, has_lesser_rank, inserted, stands_before
from baton._src.ops.index.sorted_items import COLUMNS, broadcast, known_number, vector, with_item, with_locals
from baton._src.ops.loop_nests import both, load, loop, store
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt

FEW = 64
"""So many elements at most are kept in order."""
Comparison = Callable[[Item, Item], k.Scalar]
_BEFORE = tuple(range(COLUMNS - 1, 2 * COLUMNS - 1))
"""Lanes of two vectors: the last one of the first, and all but the last one of the second."""


def few_in_order(elements: Row, count: k.Scalar, size: k.Scalar) -> Stmt:
    """Write the positions of the best `count` of `size` elements, at most `FEW`."""
    known = known_number(count)
    vectors = FEW // COLUMNS if known is None else -(-known.value // COLUMNS)
    used = (count + k.index(COLUMNS - 1)) // k.index(COLUMNS) if known is None else k.index(vectors)

    def with_best(best: tuple[Buffer, ...]) -> Stmt:
        kept = _Few(elements, best, used)
        first = loop(count, lambda n: kept.insert(n, stands_before), "s")
        rest = elements.those_before(
            lambda: elements.ranked.rank_of(kept.at(count - k.index(1))), count, size, kept.insert_later
        )
        write = elements.each(count, lambda n: elements.write_one(n, kept.at(n)))
        return both(kept.clear(), first, rest, write)

    return with_locals("best", elements.ranked.parts, (vectors + 1) * COLUMNS, with_best)


@dataclass(frozen=True, slots=True)
class _Few:
    """Items in order, behind a vector of items that stand before all others."""

    elements: Row
    best: tuple[Buffer, ...]
    vectors: k.Scalar
    """Vectors of items that are used."""

    def at(self, number: k.Scalar) -> Item:
        """An item."""
        return tuple(load(b, k.index(COLUMNS) + number) for b in self.best)

    def clear(self) -> Stmt:
        """No item yet: others come before what stands there."""
        ranked = self.elements.ranked
        return both(self._set(k.index(0), ranked.before_all), self._each(lambda at: self._set(at, ranked.behind_all)))

    def insert(self, place: k.Scalar, is_before: Comparison) -> Stmt:
        """An element that belongs among them: the last one drops out."""

        def shifted(item: Item) -> Stmt:
            return self._each(lambda at: self._shift(item, at, is_before), backwards=True)

        return with_item(self.elements.item(place), shifted)

    def insert_later(self, place: k.Scalar) -> Stmt:
        """An element that is further on than those that are kept."""
        return self.insert(place, has_lesser_rank)

    def _shift(self, item: Item, at: k.Scalar, is_before: Comparison) -> Stmt:
        """A vector; those before it still are as they were."""
        here, ahead = (tuple(tir.BufferLoad(b, (vector(p),)) for b in self.best) for p in (at, at - k.index(COLUMNS)))
        before = tuple(tir.Shuffle(pair, _BEFORE) for pair in zip(ahead, here, strict=True))
        chosen = inserted(before, here, tuple(broadcast(part) for part in item), is_before)
        return with_item(chosen, lambda kept: both(*(store(b, [vector(at)], p) for b, p in zip(self.best, kept))))

    def _set(self, at: k.Scalar, item: Item) -> Stmt:
        return both(*(store(b, [vector(at)], broadcast(part)) for b, part in zip(self.best, item, strict=True)))

    def _each(self, body: Callable[[k.Scalar], Stmt], backwards: bool = False) -> Stmt:
        """`body` of where each vector begins: registers, where their number is known."""

        def at(number: k.Scalar) -> k.Scalar:
            return (self.vectors - number if backwards else number + k.index(1)) * k.index(COLUMNS)

        known = known_number(self.vectors)
        if known is None:
            return loop(self.vectors, lambda n: body(at(n)), "v")
        return both(*(body(at(k.index(n))) for n in range(known.value)))
