"""A binary heap in a buffer, as statements of a kernel: the children of node n are nodes 2 n + 1 and 2 n + 2."""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ops import kernel_words as k
from baton._src.ops.loop_nests import both, let, lets, load, loop, store
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt, While

Element = tuple[k.Scalar, ...]
"""One value, or several that stay together."""


@dataclass(frozen=True, slots=True)
class Heap:
    """Elements (positions, say) of which each belongs at least as near to the root as its children."""

    at: Callable[[k.Scalar], Element]
    """The element at a node."""
    put: Callable[[k.Scalar, Element], Stmt]
    """Store an element at a node."""
    is_above: Callable[[Element, Element], k.Scalar]
    """Whether the first of two elements belongs nearer to the root."""
    cursor: tuple[Buffer, k.Scalar]
    """A buffer of int64, and the place in it where the node that sinks is kept."""

    def arrange(self, size: k.Scalar) -> Stmt:
        """Make any elements a heap, from its last inner node up to the root."""
        inner = size // k.index(2)
        return loop(inner, lambda n: self.sink(inner - k.index(1) - n, size), "h")

    def sink(self, start: k.Scalar, size: k.Scalar) -> Stmt:
        """Let the element at a node sink to where it belongs, among `size` nodes.

        Down to a leaf first, always where the upper child was, then up again: the way back is short, since elements
        that sink come from the leaves, and no step down is a branch that the processor has to guess.
        """
        parts = [("sunk", part) for part in self.at(start)]
        return lets(parts, lambda *sunk: both(self._down(start, size), self._up(start, sunk)))

    @property
    def _node(self) -> k.Scalar:
        return load(*self.cursor)

    def _go_to(self, node: k.Scalar) -> Stmt:
        buffer, slot = self.cursor
        return store(buffer, [slot], node)

    def _down(self, start: k.Scalar, size: k.Scalar) -> Stmt:
        """Move children up, from a node down to a leaf, where the cursor stays."""
        one = k.index(1)
        left = self._node * k.index(2) + one

        def step(left: k.Scalar) -> Stmt:
            # Without a right child, the left one is compared with itself: that costs no branch.
            right = k.minimum(left + one, size - one)
            child = k.select(self.is_above(self.at(right), self.at(left)), right, left)
            return let("child", child, lambda n: both(self.put(self._node, self.at(n)), self._go_to(n)))

        return both(self._go_to(start), While(tir.LT(left, size), let("left", left, step)))

    def _up(self, start: k.Scalar, element: Element) -> Stmt:
        """Move elements down, from the cursor on, that do not belong above `element`, and put it where they end."""
        parent = k.maximum(self._node - k.index(1), k.index(0)) // k.index(2)
        rises = tir.And(self._node > start, self.is_above(element, self.at(parent)))
        move = let("parent", parent, lambda n: both(self.put(self._node, self.at(n)), self._go_to(n)))
        return both(While(rises, move), self.put(self._node, element))
