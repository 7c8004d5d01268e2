"""A binary heap in a buffer, as statements of a kernel: the children of node n are nodes 2 n + 1 and 2 n + 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ops import kernel_words as k
from baton._src.ops.loop_nests import both, let, load, store, when
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir.stmt import Stmt, While


@dataclass(frozen=True, slots=True)
class Heap:
    """Elements (positions, say) of which each belongs at least as near to the root as its children."""

    at: Callable[[Any], Any]
    """The element at a node."""
    put: Callable[[Any, Any], Stmt]
    """Store an element at a node."""
    is_above: Callable[[Any, Any], Any]
    """Whether the first of two elements belongs nearer to the root."""
    cursor: tuple[Any, Any]
    """A buffer of int64, and the place in it where the node that sinks is kept."""

    def sink(self, start: Any, size: Any) -> Stmt:
        """Exchange the element at a node with that of a child, among `size` nodes, until none belongs above it."""
        buffer, slot = self.cursor
        node, one = load(buffer, slot), k.index(1)

        def exchange(child: Any, upper: Any, lower: Any) -> Stmt:
            down = both(self.put(node, lower), self.put(child, upper), store(buffer, [slot], child))
            return when(self.is_above(lower, upper), down, store(buffer, [slot], size))

        def compare(child: Any) -> Stmt:
            return let("u", self.at(node), lambda u: let("l", self.at(child), lambda below: exchange(child, u, below)))

        def child_above(left: Any) -> Stmt:
            # Without a right child, the left one is compared with itself: that costs no branch.
            right = k.minimum(left + one, size - one)
            return let("child", k.select(self.is_above(self.at(right), self.at(left)), right, left), compare)

        left = node * k.index(2) + one
        return both(store(buffer, [slot], start), While(tir.LT(left, size), let("left", left, child_above)))
