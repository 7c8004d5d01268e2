"""Candidates taken one at a time, best first: a heap of positions, so that only those that are taken get ordered.

The best candidate has the highest key; of equal ones it is the one that stands first. Keys are not NaN.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ops import kernel_words as k
from baton._src.ops.index.heap import Element, Heap
from baton._src.ops.loop_nests import both, let, load, store
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt

COUNTERS = 2
"""Elements of the int64 buffer that a heap counts in."""
_ZERO, _ONE = k.index(0), k.index(1)
_SIZE, _NODE = _ZERO, _ONE


@dataclass(frozen=True, slots=True)
class BestInTurn:
    """The statements: `add` every candidate, `arrange` them once, then `take` while there `is_any`."""

    places: Buffer
    """int64, room for every candidate: the heap, whose root is the best."""
    counters: Buffer
    key: Callable[[k.Scalar], k.Scalar]
    """The key at a position."""

    def clear(self) -> Stmt:
        """No candidates."""
        return store(self.counters, [_SIZE], _ZERO)

    def add(self, position: k.Scalar) -> Stmt:
        """One more candidate, before `arrange`."""
        more = store(self.counters, [_SIZE], self._size + _ONE)
        return both(store(self.places, [self._size], position), more)

    def arrange(self) -> Stmt:
        """Make the positions a heap, from its last inner node up to the root."""
        return let("size", self._size, self._heap.arrange)

    def is_any(self) -> k.Scalar:
        """Whether candidates are left."""
        return self._size > _ZERO

    def take(self, use: Callable[[k.Scalar], Stmt]) -> Stmt:
        """`use` the position of the best candidate, which leaves."""

        def without(best: k.Scalar) -> Stmt:
            fewer = store(self.counters, [_SIZE], self._size - _ONE)
            last = store(self.places, [_ZERO], load(self.places, self._size))
            return both(fewer, last, self._sink(_ZERO), use(best))

        return let("best", load(self.places, _ZERO), without)

    @property
    def _size(self) -> k.Scalar:
        return load(self.counters, _SIZE)

    @property
    def _heap(self) -> Heap:
        return Heap(
            lambda node: (load(self.places, node),),
            lambda node, position: store(self.places, [node], *position),
            self._is_better,
            (self.counters, _NODE),
        )

    def _sink(self, start: k.Scalar) -> Stmt:
        """Let the position at a node sink to where it belongs."""
        return self._heap.sink(start, self._size)

    def _is_better(self, one: Element, other: Element) -> k.Scalar:
        mine, its = self.key(*one), self.key(*other)
        return tir.Or(mine > its, tir.And(tir.EQ(mine, its), one[0] < other[0]))
