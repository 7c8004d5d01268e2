"""Visitors: for passes that treat some classes of nodes specially, in any language.

The graph is first walked with an explicit stack that fills a memo, so the `visit_<Class>` methods may recurse freely
and never go more than one level deep.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from baton._src.ir.node import Node
from baton._src.ir.traverse import children, post_order


class Visitor:
    """Reads a graph: `visit(root)` calls `visit_<Class>` once per node, children first, and keeps what it returns.

    A method may ask for any node's result with `self.visit(child)`: it is in the memo already. Methods are looked up
    along the class's bases, so `visit_BinaryOp` serves `Add`; `visit_relax_Var` names a class by its language where
    several have one of that name. `below` says what is walked before a node (default: all children).
    """

    handlers: ClassVar[dict[type, str]] = {}

    def __init_subclass__(cls) -> None:
        cls.handlers = {}

    def __init__(self) -> None:
        self.memo: dict[Node, Any] = {}

    def below(self, node: Node) -> Iterable[Node]:
        """The nodes to visit before `node`."""
        return children(node)

    def visit(self, root: Node) -> Any:
        """The result for `root`."""
        memo = self.memo
        if root in memo:
            return memo[root]
        for item in post_order(root, below=self._unvisited):
            if item not in memo:
                memo[item] = self.dispatch(item)
        return memo[root]

    def _unvisited(self, node: Node) -> Iterable[Node]:
        return () if node in self.memo else self.below(node)

    def dispatch(self, node: Node) -> Any:
        """Call the method for the class of `node`."""
        cls = type(node)
        name = self.handlers.get(cls)
        if name is None:
            name = self.handlers[cls] = _handler(type(self), cls)
        return getattr(self, name)(node)

    def visit_default(self, node: Node) -> Any:
        """For classes without a method of their own."""
        return None


def _handler(visitor: type, cls: type) -> str:
    for base in cls.__mro__:
        language = base.__module__.removeprefix("baton._src.").split(".")[0]
        for name in (f"visit_{language}_{base.__name__}", f"visit_{base.__name__}"):
            if hasattr(visitor, name):
                return name
    return "visit_default"
